"""The thirteen style-transfer networks the paper compares with: one file each, what they share once."""

from recolorist_lab.baselines.registry import METHODS, build

__all__ = ["METHODS", "build"]
