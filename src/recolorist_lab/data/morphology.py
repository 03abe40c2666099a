"""Synthetic cells whose class is the shape of their nuclei only, quick enough to draw thousands.

Each tile is a patch of ground (fibres and grain, cut from a sheet that is drawn once) with nuclei of one morphology. Coverage,
darkness, and finally mean and spread of either dye are drawn alike for every class, so colour says nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from recolorist.demo.fields import Array, along, cloud, smooth, step

__all__ = ["MORPHOLOGIES", "Morphology", "dyes"]

_SHEET: Final = 384  # pixels a side of the ground that tiles are cut from
_SOFT: Final = 0.8  # pixels of blur through which spreads are made equal: what scanners leave of small nuclei
_TRIES: Final = 400


@dataclass(frozen=True, slots=True)
class Morphology:
    """The nuclei of a class. Lengths are pixels; ``order`` is how much they lie in one direction, from 0 to 1."""

    name: str
    long: float
    short: float
    variety: float  # spread of the size
    bumps: float  # irregularity of the outline
    order: float


MORPHOLOGIES: Final[dict[str, Morphology]] = {
    kind.name: kind
    for kind in (
        Morphology("round", 4.3, 4.1, 0.08, 0.03, 0.0),  # as lymphocytes
        Morphology("spindle", 9.6, 2.7, 0.12, 0.04, 0.9),  # as fibroblasts
        Morphology("oval", 6.6, 4.0, 0.10, 0.04, 0.7),  # as a palisade of glandular cells
        Morphology("atypical", 8.4, 6.6, 0.30, 0.17, 0.0),  # large, uneven, of all sizes
    )
}


def dyes(rng: np.random.Generator, kind: Morphology, size: int) -> Array:
    """Draw the amounts of haematoxylin and eosin of one tile.

    Args:
        rng: Where randomness comes from.
        kind: The kind of tissue.
        size: Side in pixels.

    Returns:
        Amounts of shape `(size, size, 2)`; `recolorist.demo.synthetic.scan` makes an image of them.

    Example:
        >>> dyes(np.random.default_rng(1), MORPHOLOGIES["round"], 32).shape
        (32, 32, 2)
    """
    blue, pink, chromatin = _ground(rng, size)
    level = _Levels.draw(rng)
    _populate(rng, blue, pink, chromatin, kind, level)
    return np.stack([_set(blue, level.blue), _set(pink, level.pink)], axis=-1)


@dataclass(frozen=True, slots=True)
class _Levels:
    """Values that are drawn for a tile independently of its class."""

    cover: float  # share of the tile under nuclei
    pale: float  # share of the eosin that nuclei displace
    blue: tuple[float, float]  # mean and spread of haematoxylin
    pink: tuple[float, float]

    @classmethod
    def draw(cls, rng: np.random.Generator) -> _Levels:
        cover, stain, eosin = rng.uniform(0.20, 0.30), rng.uniform(0.85, 1.15), rng.uniform(0.85, 1.15)
        blue = (stain * rng.uniform(0.17, 0.24), stain * rng.uniform(0.17, 0.23))
        pink = (eosin * rng.uniform(0.20, 0.27), eosin * rng.uniform(0.05, 0.08))
        return cls(cover, rng.uniform(0.25, 0.60), blue, pink)


def _set(field: Array, target: tuple[float, float]) -> Array:
    """Give a map of dye this mean and deviation, after blurring."""
    soft = smooth(field, _SOFT)
    gain = target[1] / max(float(soft.std()), 1e-6)
    return np.asarray(np.maximum((field - field.mean()) * gain + target[0], 0.0))


@lru_cache(maxsize=1)
def _sheet() -> tuple[Array, Array, Array]:
    """Draw the background of all tiles: haematoxylin, eosin and chromatin clumps. It carries no label, so all share it."""
    rng = np.random.Generator(np.random.Philox(20_231))
    shape = (_SHEET, _SHEET)
    height = 30.0 * cloud(rng, shape, 30.0) + 1.6 * cloud(rng, shape, 9.0)
    dy, dx = np.gradient(height)
    norm = np.maximum(np.hypot(dy, dx), 1e-9)
    flow = (dx / norm, -dy / norm)
    fibres = 0.45 * along(cloud(rng, shape, 0.8), flow, 12) + 0.40 * along(cloud(rng, shape, 2.2), flow, 14)
    pink = 0.29 + 0.045 * cloud(rng, shape, 18.0) + 0.085 * fibres
    chromatin = 0.7 * cloud(rng, shape, 0.9) + 0.7 * cloud(rng, shape, 2.0)
    return 0.05 + 0.012 * fibres, pink, chromatin


def _ground(rng: np.random.Generator, size: int) -> tuple[Array, Array, Array]:
    """Cut a patch of the sheet, rotated and mirrored; tiles larger than the sheet repeat it mirrored."""
    top, left = rng.integers(0, max(1, _SHEET - size + 1), 2)
    turns, mirror = int(rng.integers(4)), bool(rng.integers(2))
    parts = []
    for field in _sheet():
        wide = field if size <= _SHEET else np.pad(field, (0, size - _SHEET), mode="symmetric")
        patch = np.rot90(wide[top : top + size, left : left + size], turns)
        parts.append(np.array(patch[:, ::-1] if mirror else patch))
    return parts[0], parts[1], parts[2]


def _populate(rng: np.random.Generator, blue: Array, pink: Array, chromatin: Array, kind: Morphology, level: _Levels) -> None:
    """Draw nuclei until the share of the tile is covered; they touch little."""
    size = len(blue)
    lie = rng.uniform(0.0, np.pi)
    occupied = np.zeros(blue.shape, bool)
    area, covered = level.cover * size * size, 0.0
    for _ in range(_TRIES):
        if covered >= area:
            return
        y, x = rng.uniform(-2.0, size + 2.0, 2)
        grow = float(np.exp(rng.normal(0.0, kind.variety)))
        angle = lie + (1.0 - kind.order) * rng.uniform(-0.5 * np.pi, 0.5 * np.pi)
        window, r = _outline(
            size, (y, x), (kind.long * grow, kind.short * grow), angle, kind.bumps, rng.uniform(0.0, 2 * np.pi, 2)
        )
        inside = r < 1.0
        if not r.size or (occupied[window] & inside).sum() > 0.12 * inside.sum():
            continue
        occupied[window] |= inside
        covered += float(inside.sum())
        cover, dye = _nucleus(r, chromatin[window], 0.66 + rng.normal(0.0, 0.06), kind.short * grow)
        blue[window] += cover * (np.maximum(dye, blue[window]) - blue[window])
        pink[window] *= 1.0 - level.pale * cover


def _outline(
    size: int, at: tuple[float, float], axes: tuple[float, float], angle: float, bumps: float, phases: Array
) -> tuple[tuple[slice, slice], Array]:
    """Return a window around a nucleus and, in it, the distance from its centre in units of its outline."""
    reach = 1.35 * max(axes) + 2.0
    rows, columns = (slice(max(0, int(p - reach)), max(0, min(size, int(p + reach) + 1))) for p in at)
    y, x = np.ogrid[rows, columns]
    dy, dx = y - at[0], x - at[1]
    u = (dx * np.cos(angle) + dy * np.sin(angle)) / axes[0]
    v = (dy * np.cos(angle) - dx * np.sin(angle)) / axes[1]
    phi = np.arctan2(v, u)
    wall = 1.0 + bumps * (np.cos(2 * phi + phases[0]) + 0.8 * np.cos(3 * phi + phases[1]))
    return (rows, columns), np.hypot(u, v) / wall


def _nucleus(r: Array, chromatin: Array, dark: float, short: float) -> tuple[Array, Array]:
    """Compute how much of each pixel a nucleus covers, and its dye: a soft patch, a dark rim, clumps of chromatin."""
    cover = step(-r, -1.0, 0.75 / short)
    rim = np.exp(-(((r - 0.86) / 0.16) ** 2))
    return cover, dark * (0.86 + 0.17 * chromatin + 0.20 * rim)
