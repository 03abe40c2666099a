"""The thirteen style-transfer networks of the paper: one module for each, and the modules that they share."""

from recolorist_lab.baselines.registry import METHODS, build

__all__ = ["METHODS", "build"]
