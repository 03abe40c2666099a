"""Augmentations by name: the paper's ten heuristics, Colorist, and a few beyond, all with randomness keyed by the sample."""

from recolorist_lab.augmentations.base import Augmentation
from recolorist_lab.augmentations.images import TrainingImages
from recolorist_lab.augmentations.registry import build
from recolorist_lab.augmentations.table import NAMES, parse

__all__ = ["NAMES", "Augmentation", "TrainingImages", "build", "parse"]
