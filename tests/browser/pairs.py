"""Images and settings for comparing the page with the library, and the library's answers."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.demo.synthetic import tile
from tests.full import full

Bytes: TypeAlias = NDArray[np.uint8]
LINEAR: Final = ("rgb", "ycbcr", "ypbpr", "yuv", "yiq", "ydbdr")
CONVERTED: Final = ("lab", "luv", "lch", "hsv", "hsi", "hed", "lalphabeta")
METHODS: Final = ("mean_std", "covariance", "histogram", "exact_histogram")
#: What the page offers.
OFFERED: Final = tuple(itertools.product(METHODS, LINEAR + CONVERTED))


@dataclass(frozen=True)
class Settings:
    """The controls of the page."""

    method: str = "mean_std"
    space: str = "rgb"
    strength: float = 1.0
    max_gain: float = 10.0
    mask: str = "off"
    content_threshold: int = 130
    style_threshold: int = 110
    only_inside: bool = False
    keep_blank: bool = False

    def controls(self) -> dict[str, Any]:
        """By the ids of the page."""
        return {
            "method": self.method,
            "space": self.space,
            "strength": self.strength,
            "gain": self.max_gain,
            "mask": self.mask,
            "content-threshold": self.content_threshold,
            "style-threshold": self.style_threshold,
            "only-inside": self.only_inside,
            "keep-blank": self.keep_blank,
        }

    def options(self) -> dict[str, Any]:
        """As the engine takes them."""
        return {
            "method": self.method,
            "space": self.space,
            "strength": self.strength,
            "maxGain": self.max_gain,
            "mask": self.mask,
            "contentThreshold": self.content_threshold,
            "styleThreshold": self.style_threshold,
            "onlyInside": self.only_inside,
            "keepBlank": self.keep_blank,
        }

    def masks(self, content: Bytes, style: Bytes) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
        if self.mask == "off":
            return None, None
        return self._mask(content, self.content_threshold), self._mask(style, self.style_threshold)

    def _mask(self, image: Bytes, threshold: int) -> NDArray[np.bool_]:
        luminance = image[..., :3].astype(np.int64) @ np.array([299, 587, 114])
        return np.asarray(luminance < 1000 * threshold if self.mask == "darker" else luminance > 1000 * threshold)

    def match(self, content: Bytes, style: Bytes) -> Bytes:
        """The library's answer."""
        inside, style_inside = self.masks(content, style)
        return np.asarray(
            rc.match(
                content,
                style,
                self.method,
                self.space,
                inside,
                style_inside,
                self.strength,
                max_gain=self.max_gain,
                apply_to="mask" if self.only_inside else "all",
            )
        )

    @property
    def is_affine(self) -> bool:
        return self.method in ("mean_std", "covariance")

    def plan(self, content: Bytes, style: Bytes) -> rc.Plan:
        inside, style_inside = self.masks(content, style)
        space = "rgb" if self.space in LINEAR else self.space
        measured = rc.measure(content, inside, space=space), rc.measure(style, style_inside, space=space)
        method: Any = self.method
        return rc.plan(*measured, self.space, self.strength, self.max_gain, method=method)


#: Every method and space, with strengths, caps and masks taking turns so that each meets each method. The quick suite takes every
#: fifth, in which all of these combinations and all methods and spaces still occur.
_EVERY: Final = [
    Settings(method, space, strength, cap, mask, only_inside=inside)
    for (method, space), strength, cap, (mask, inside) in itertools.product(
        OFFERED, (1.0, 0.63, 0.0), (10.0, 1.4), (("off", False), ("darker", True), ("brighter", False))
    )
]
THOROUGH: Final = _EVERY[:: full(5, 1)]
FEW: Final = [
    Settings(method, space, *more)
    for (method, space), more in itertools.product(OFFERED, [(1.0, 10.0, "off"), (0.4, 1.2, "darker")])
]


@cache
def slides() -> tuple[Bytes, Bytes]:
    """Two synthetic slides, not square, of different size."""
    return tile(8, "mill", (80, 112)), tile(9, "valley", (96, 72))


def noise(seed: int = 0, shape: tuple[int, int] = (61, 83)) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def narrow_noise(seed: int = 1, shape: tuple[int, int] = (40, 31)) -> Bytes:
    """Less contrast, so that caps and clipping take turns."""
    return np.random.default_rng(seed).integers(90, 140, (*shape, 3), dtype=np.uint8)


def with_alpha(image: Bytes) -> Bytes:
    alpha = np.random.default_rng(2).integers(0, 256, image.shape[:2], dtype=np.uint8)
    return np.dstack([image, alpha])


def fingerprint(image: Bytes) -> str:
    return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()
