"""Augmentations by name: the paper's ten heuristics, Colorist, and a few beyond, all with randomness keyed by the sample."""

from recolorist_lab.augmentations.base import Augmentation, Chance
from recolorist_lab.augmentations.images import TrainingImages
from recolorist_lab.augmentations.registry import build
from recolorist_lab.augmentations.table import AUGMENTATIONS, NAMES, Part, parse

__all__ = ["AUGMENTATIONS", "NAMES", "Augmentation", "Chance", "Part", "TrainingImages", "build", "parse"]
