"""How strong each corruption of MedMNIST-C is at severities one to five, for each kind of image.

The first and the last value bound what is drawn in training; the values between are kept for reference and for comparison with
the package. Some lists have a sixth value, which is then the bound. Where a corruption has several parameters each is a tuple;
the two numbers of ``zoom_blur`` are the last zoom factor and the step towards it. The numbers are those of MedMNIST-C (Di Salvo,
Doerrich and Ledig, arXiv 2406.17536).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["SETS", "SET_OF", "Levels", "Strength"]

Strength = tuple[float, ...]
Levels = tuple[Strength, ...]


def _single(*values: float) -> Levels:
    """Levels of a corruption with one parameter."""
    return tuple((value,) for value in values)


_PATHMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.8, 0.6, 0.4, 0.3, 0.25),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "defocus_blur": ((3, 0.1), (4, 0.1), (5, 0.2), (6, 0.2), (7, 0.3)),
    "motion_blur": ((5, 5), (10, 5), (15, 5), (15, 8), (15, 12)),
    "brightness_up": _single(1.1, 1.15, 1.2, 1.22, 1.25),
    "brightness_down": _single(0.85, 0.8, 0.75, 0.72, 0.7),
    "contrast_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "contrast_down": _single(0.8, 0.7, 0.6, 0.55, 0.5),
    "saturate": _single(0.05, 0.1, 0.15, 0.2, 0.25),
    "stain_deposit": _single(1, 2, 3, 4, 5),
    "bubble": ((7, 15), (10, 15), (12, 15), (15, 20), (17, 25)),
}

_BLOODMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.6, 0.5, 0.4, 0.3, 0.25),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "defocus_blur": ((2, 0.01), (3, 0.1), (4, 0.1), (5, 0.1), (6, 0.1)),
    "motion_blur": ((3, 3), (5, 5), (10, 5), (10, 7), (10, 9)),
    "brightness_up": _single(1.1, 1.2, 1.3, 1.35, 1.4),
    "brightness_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "contrast_up": _single(1.1, 1.15, 1.2, 1.25, 1.3),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "saturate": _single(0.05, 0.1, 0.15, 0.17, 0.2),
    "stain_deposit": _single(1, 2, 3, 3, 3),
    "bubble": ((5, 10), (7, 10), (10, 10), (12, 12), (15, 12)),
}

_DERMAMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.7, 0.5, 0.4, 0.3, 0.25),
    "jpeg_compression": _single(30, 20, 15, 10, 7),
    "gaussian_noise": _single(0.04, 0.08, 0.12, 0.18, 0.26),
    "speckle_noise": _single(0.05, 0.15, 0.2, 0.35, 0.45),
    "impulse_noise": _single(0.01, 0.03, 0.06, 0.09, 0.17),
    "shot_noise": _single(60, 25, 18, 10, 5),
    "defocus_blur": ((4, 0.1), (5, 0.2), (6, 0.3), (7, 0.4), (8, 0.5)),
    "motion_blur": ((10, 5), (15, 5), (15, 8), (15, 12), (20, 15)),
    "zoom_blur": ((1.11, 0.01), (1.15, 0.01), (1.2, 0.02), (1.24, 0.02), (1.3, 0.03)),
    "brightness_up": _single(1.1, 1.2, 1.3, 1.4, 1.5),
    "brightness_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "contrast_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "contrast_down": _single(0.8, 0.7, 0.6, 0.5, 0.4),
    "black_corner": _single(1.1, 1.05, 1, 0.9, 0.95),
    "characters": ((1, 6, 0.14), (2, 7, 0.15), (3, 8, 0.16), (4, 9, 0.17), (6, 10, 0.18)),
}

_RETINAMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.8, 0.6, 0.5, 0.4, 0.35),
    "jpeg_compression": _single(30, 25, 20, 10, 5),
    "gaussian_noise": _single(0.04, 0.08, 0.12, 0.16, 0.2),
    "speckle_noise": _single(0.1, 0.15, 0.2, 0.25, 0.3),
    "defocus_blur": ((4, 0.1), (5, 0.2), (6, 0.3), (7, 0.4), (8, 0.5), (9, 0.6)),
    "motion_blur": ((8, 5), (15, 5), (15, 8), (15, 12), (20, 15)),
    "brightness_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

_TISSUEMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.4, 0.3, 0.2, 0.15, 0.1),
    "jpeg_compression": _single(25, 20, 15, 10, 7),
    "impulse_noise": _single(0.01, 0.015, 0.02, 0.025, 0.03),
    "gaussian_blur": _single(13, 15, 17, 21, 25),
    "brightness_up": _single(1.3, 1.4, 1.5, 1.6, 1.7),
    "brightness_down": _single(0.8, 0.7, 0.6, 0.5, 0.4),
    "contrast_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

_OCTMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.3, 0.25, 0.2, 0.15, 0.1),
    "jpeg_compression": _single(30, 15, 10, 7, 5),
    "speckle_noise": _single(0.15, 0.3, 0.4, 0.5, 0.6),
    "defocus_blur": ((0.5, 0.6), (1, 0.5), (1.5, 0.1), (2, 0.5), (2.5, 0.1)),
    "motion_blur": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
    "contrast_down": _single(0.6, 0.4, 0.3, 0.2, 0.15),
}

_BREASTMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.3, 0.25, 0.2, 0.15, 0.1),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "speckle_noise": _single(0.1, 0.15, 0.2, 0.25, 0.3),
    "motion_blur": ((5, 5), (9, 7), (9, 10), (13, 10), (17, 12)),
    "brightness_up": _single(1.4, 1.5, 1.6, 1.8, 2),
    "brightness_down": _single(0.55, 0.5, 0.45, 0.4, 0.3),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

_CHESTMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.3, 0.25, 0.2, 0.15, 0.1),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "gaussian_noise": _single(0.04, 0.08, 0.12, 0.18, 0.26),
    "speckle_noise": _single(0.05, 0.15, 0.2, 0.35, 0.45),
    "impulse_noise": _single(0.01, 0.03, 0.06, 0.09, 0.17),
    "shot_noise": _single(60, 25, 18, 10, 5),
    "gaussian_blur": _single(3, 5, 7, 9, 11, 13),
    "brightness_up": _single(1.1, 1.2, 1.3, 1.4, 1.5),
    "brightness_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "contrast_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
    "gamma_corr_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "gamma_corr_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

_PNEUMONIAMNIST: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.8, 0.7, 0.6, 0.5, 0.4),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "gaussian_noise": _single(0.04, 0.05, 0.06, 0.07, 0.08),
    "speckle_noise": _single(0.05, 0.07, 0.1, 0.15, 0.2),
    "impulse_noise": _single(0.005, 0.01, 0.013, 0.017, 0.02),
    "shot_noise": _single(300, 200, 150, 100, 80),
    "gaussian_blur": _single(3, 5, 7, 9, 11, 13),
    "brightness_up": _single(1.1, 1.2, 1.3, 1.4, 1.5),
    "brightness_down": _single(0.9, 0.8, 0.7, 0.6, 0.5),
    "contrast_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "contrast_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
    "gamma_corr_up": _single(1.1, 1.2, 1.3, 1.4, 1.6),
    "gamma_corr_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

_ORGAN: Final[Mapping[str, Levels]] = {
    "pixelate": _single(0.7, 0.6, 0.5, 0.4, 0.35),
    "jpeg_compression": _single(50, 30, 15, 10, 7),
    "gaussian_noise": _single(0.04, 0.08, 0.12, 0.16, 0.2),
    "speckle_noise": _single(0.05, 0.1, 0.2, 0.3, 0.4),
    "impulse_noise": _single(0.01, 0.02, 0.03, 0.05, 0.08),
    "shot_noise": _single(200, 100, 50, 25, 15),
    "gaussian_blur": _single(11, 13, 15, 17, 21),
    "brightness_up": _single(1.2, 1.3, 1.4, 1.5, 1.6),
    "brightness_down": _single(0.8, 0.75, 0.7, 0.65, 0.6),
    "contrast_up": _single(1.3, 1.4, 1.6, 1.7, 1.8),
    "contrast_down": _single(0.8, 0.7, 0.6, 0.55, 0.5),
    "gamma_corr_up": _single(1.3, 1.4, 1.6, 1.8, 2),
    "gamma_corr_down": _single(0.9, 0.8, 0.7, 0.6, 0.4),
}

#: The corruptions of each set.
SETS: Final[Mapping[str, Mapping[str, Levels]]] = MappingProxyType(
    {
        "pathmnist": MappingProxyType(_PATHMNIST),
        "bloodmnist": MappingProxyType(_BLOODMNIST),
        "dermamnist": MappingProxyType(_DERMAMNIST),
        "retinamnist": MappingProxyType(_RETINAMNIST),
        "tissuemnist": MappingProxyType(_TISSUEMNIST),
        "octmnist": MappingProxyType(_OCTMNIST),
        "breastmnist": MappingProxyType(_BREASTMNIST),
        "chestmnist": MappingProxyType(_CHESTMNIST),
        "pneumoniamnist": MappingProxyType(_PNEUMONIAMNIST),
        "organamnist": MappingProxyType(_ORGAN),
        "organcmnist": MappingProxyType(_ORGAN),
        "organsmnist": MappingProxyType(_ORGAN),
    }
)

#: The set that belongs to each dataset. Those of blood, bone marrow and retina are our choice: no source says which were used.
SET_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name: name for name in SETS},
        "camelyon17": "pathmnist",
        "epistr": "pathmnist",
        "fitzpatrick17k": "dermamnist",
        "ddi": "dermamnist",
        "peripheral_blood": "bloodmnist",
        "bone_marrow": "bloodmnist",
        "retina": "retinamnist",
        "synthetic": "pathmnist",  # ours: what it imitates is stained tissue
    }
)
