"""The cases of the equivalence matrix: every option of a match, combined pair by pair or in full."""

from __future__ import annotations

import itertools
import os
import random
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.augment import streams
from recolorist.augment.samplers import Content, own_style
from recolorist.core.foreground import RULES
from recolorist.core.image import open_image
from recolorist.core.options import MATCHERS
from recolorist.core.style_change import StyleChange

__all__ = ["CASES", "INVALID", "SEED", "Case", "content_of", "reference", "style_bank", "style_image", "suffix_of"]

HEIGHT, WIDTH = 24, 38  #: not square, so that swapped axes cannot hide
SEED = 3  #: of the draws; own_style draws for (seed, epoch 0, name of the file)


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of options."""

    method: str = "mean_std"
    space: str = "rgb"
    strength: float = 1.0
    max_gain: float = 10.0
    apply_to: str = "all"
    mask: str | None = None
    alpha: bool = False
    dtype: str = "uint8"
    style: str = "image"

    def __str__(self) -> str:
        """Name the case in a test id."""
        return "-".join(str(getattr(self, field.name)) for field in fields(self))

    @property
    def options(self) -> dict[str, Any]:
        """The options as the public functions spell them."""
        return {name: getattr(self, name) for name in ("method", "space", "strength", "max_gain", "apply_to")}

    @property
    def sampler(self) -> str:
        """The sampler that gives the style of the case."""
        return "own_style" if self.style == "own" else "uniform"

    @property
    def needs_pixels(self) -> bool:
        """Whether the method needs the pixels of the style."""
        return MATCHERS[self.method].needs_pixels


AXES: Final[dict[str, tuple[Any, ...]]] = {
    "method": tuple(MATCHERS),
    "space": tuple(rc.SPACES),
    "strength": (1.0, 0.4, 0.0),
    "max_gain": (10.0, 1.5),
    "apply_to": ("all", "mask"),
    "mask": (None, "tissue", "fundus"),
    "alpha": (False, True),
    "dtype": ("uint8", "uint16", "float32"),
    "style": ("image", "bank", "own"),  # own: the sampler own_style, which changes the image's own style
}

#: One wrong value at a time; every route must refuse it.
INVALID: Final = (
    ("method", "mean_sdt"),
    ("space", "rbg"),
    ("strength", 7.0),
    ("strength", float("nan")),
    ("max_gain", -1.0),
    ("apply_to", "maks"),
)


def _pairwise(seed: int = 0) -> list[Case]:
    """Choose cases so that every pair of values of two options occurs in at least one of them."""
    rng = random.Random(seed)
    names = list(AXES)
    wanted = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x, y in itertools.product(AXES[a], AXES[b])}
    chosen = []
    while wanted:
        candidates: list[tuple[int, int, dict[str, Any], set[Any]]] = []
        first = rng.choice(sorted(wanted, key=repr))
        for _ in range(30):
            values = {name: rng.choice(AXES[name]) for name in names} | dict(first)
            pairs = set(itertools.combinations(values.items(), 2))
            candidates.append((len(pairs & wanted), len(candidates), values, pairs))
        _, _, values, pairs = max(candidates, key=lambda entry: entry[:2])
        wanted -= pairs
        chosen.append(Case(**values))
    return chosen


def _all() -> list[Case]:
    return [Case(*values) for values in itertools.product(*AXES.values())]


#: About fifty cases; with RECOLORIST_FULL_MATRIX=1 all of them, which takes hours.
CASES: Final = _all() if os.environ.get("RECOLORIST_FULL_MATRIX") == "1" else _pairwise()


def content_of(case: Case) -> NDArray[Any]:
    """Draw a picture: stained tissue between glass and black, some of it dark, so that matching clips at both ends."""
    rng = np.random.default_rng(7)
    pixels = rng.integers(30, 200, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    pixels[:, :12] = rng.integers(235, 256, (HEIGHT, 12, 3))
    pixels[4:8, 20:30] //= 4
    pixels[:, -6:] = rng.integers(0, 4, (HEIGHT, 6, 3))
    if case.alpha:
        pixels = np.concatenate([pixels, rng.integers(0, 256, (HEIGHT, WIDTH, 1), dtype=np.uint8)], axis=-1)
    if case.dtype == "uint16":
        return pixels.astype(np.uint16) * 256 + rng.integers(0, 256, pixels.shape).astype(np.uint16)
    return pixels if case.dtype == "uint8" else (pixels / 255).astype(np.float32)


def style_image() -> NDArray[np.uint8]:
    """Draw the style, of the content's size; it has 8 bits whatever the content has."""
    rng = np.random.default_rng(8)
    return rng.normal((200, 120, 170), (45, 60, 25), (HEIGHT, WIDTH, 3)).clip(0, 255).astype(np.uint8)


def style_bank(case: Case) -> rc.StyleBank:
    """Return a bank of the one style, as the case needs it."""
    known = rc.SPACES.get(case.space)
    return _bank_in("rgb" if known is None or known.is_linear else case.space)


@cache
def _bank_in(space: str) -> rc.StyleBank:
    return rc.StyleBank.build([style_image()], split="train", space=space, with_histograms=True)


def mask_of(case: Case, content: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Apply the named rule of the case."""
    if case.mask is None:
        return None
    opened = open_image(content)
    return RULES[case.mask](opened.colour, opened.data_range)


def suffix_of(case: Case) -> str:
    """Return the format in which the content is written."""
    return ".npy" if case.dtype == "float32" else ".tif"


def reference(case: Case, suffix: str | None = None) -> NDArray[Any]:
    """Match with the public function; every route is compared with this."""
    content = content_of(case)
    style: Any = style_image()
    if case.style == "own":
        style = _changed_style(case, content, f"content{suffix or suffix_of(case)}")
    elif case.style == "bank" and not case.needs_pixels:
        style = style_bank(case).moments(0)
    result: NDArray[Any] = rc.match(content, style, mask=mask_of(case, content), **case.options)
    return result


def _changed_style(case: Case, content: NDArray[Any], key: str) -> Any:
    """Return the moments of the content after the change that is drawn for a key."""
    rng = streams.stream(SEED, 0, streams.number_of(key))
    rng.random()  # decides whether the image is changed at all
    change = own_style(style_bank(case), rng, Content()).goal
    assert isinstance(change, StyleChange)
    own = rc.measure(content, mask_of(case, content))
    return change.change(own, own.data_range, case.method).style
