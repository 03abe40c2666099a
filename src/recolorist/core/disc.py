"""The disc of a fundus photograph: a circle, or an ellipse where the image was squashed, fitted to its outline.

The outline is the first and the last pixel of each row that is brighter than each of three levels. At the sharp edge of the disc
the three agree; in dark parts of the retina and in the noise of the surround they do not. So the disc is the curve that most of
these points lie on. Points on the frame of the image are left out, and rows that the camera cut off stay outside. Only the first
and last pixels are needed, so that an image can be read piece by piece.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Disc", "Outline", "find_disc", "find_outline"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_LEVELS: Final = (0.06, 0.12, 0.24)  # unit range; the first is that of the rule
_FEWEST: Final = 48  # rows and points that an outline needs; a pixel is too coarse to tell a smaller disc from a square
_MOST: Final = 256  # points that are used, spread over all
_TRIALS: Final = 128  # curves through few points, of which the best is taken
_CIRCLE: Final = 0.4  # share of the points that must lie on a circle …
_ELLIPSE: Final = 0.7  # … and on an ellipse, which fits more easily: only where fewer lie on a circle,
_BETTER: Final = 0.15  # and by this share of them
_STEPS: Final = 64  # per pixel: numbers of a disc are rounded to these


class Outline(NamedTuple):
    """The first and last pixel of each row above each level; -1 in rows without any. Both have the shape (levels, rows)."""

    first: Places
    last: Places
    width: int

    def join(self, below: Outline) -> Outline:
        """Add the rows of the piece below."""
        first, last = (np.concatenate(pair, axis=1) for pair in ((self.first, below.first), (self.last, below.last)))
        return Outline(first, last, self.width)


class Disc(NamedTuple):
    """The pixels (x, y) with (x - cx)² + a (y - cy)² ≤ r², in rows from ``top`` to before ``bottom``."""

    cx: float
    cy: float
    a: float
    r2: float
    top: int
    bottom: int

    def rows(self, start: int, stop: int, width: int) -> NDArray[np.bool_]:
        """Return the mask of some rows of the image.

        Example:
            >>> Disc(2.0, 2.0, 1.0, 4.0, 0, 3).rows(0, 4, 5).astype(int).tolist()
            [[0, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
        """
        lines = np.arange(start, stop)
        left, right = self.chords(lines)
        places = np.arange(width) + 0.5
        mask = (places >= left[:, None]) & (places <= right[:, None])
        mask[(lines < self.top) | (lines >= self.bottom)] = False
        return mask

    def chords(self, lines: Places) -> tuple[Array, Array]:
        """Return where rows enter and leave the disc; rows that miss it enter after they leave."""
        square = self.r2 - self.a * (lines + 0.5 - self.cy) ** 2
        half = np.where(square >= 0, np.sqrt(np.maximum(square, 0)), -1.0)
        return self.cx - half, self.cx + half


def find_outline(pixels: NDArray[Any], data_range: float) -> Outline:
    """Find the outline of some rows of an image (H, W, C)."""
    brightest = pixels.max(axis=-1)
    above = np.stack([brightest > level * data_range for level in _LEVELS])
    is_there = above.any(axis=2)
    first, last = above.argmax(axis=2), above.shape[2] - 1 - above[:, :, ::-1].argmax(axis=2)
    return Outline(np.where(is_there, first, -1), np.where(is_there, last, -1), above.shape[2])


def find_disc(outline: Outline) -> Disc | None:
    """Fit a disc to an outline.

    Args:
        outline: Of the whole image.

    Returns:
        The disc, or None if too few points lie on one circle or ellipse: the image shows no disc, or no edge of it.

    Example:
        >>> y, x = np.mgrid[:60, :80] + 0.5
        >>> eye = np.where((x - 40) ** 2 + (y - 30) ** 2 <= 28**2, 90, 2).astype(np.uint8)[..., None]
        >>> disc = find_disc(find_outline(eye, 255.0))
        >>> round(disc.cx), round(disc.cy), round(disc.r2**0.5), disc.top, disc.bottom
        (40, 30, 28, 2, 58)
    """
    x, y = _points(outline)
    if min(len(x), int((outline.first[0] >= 0).sum())) < _FEWEST:
        return None
    size = max(outline.width, outline.first.shape[1])
    curve = _fit(x / size, y / size, 1 / size, is_squashed=False)
    if curve.share < _ELLIPSE:
        ellipse = _fit(x / size, y / size, 1 / size, is_squashed=True)
        curve = ellipse if ellipse.share >= max(_ELLIPSE, curve.share + _BETTER) else curve
    if curve.share < _CIRCLE:
        return None
    cx, cy, a, r2 = curve.numbers
    return _cut(Disc(_rounded(cx * size), _rounded(cy * size), _rounded(a), _rounded(r2 * size**2), 0, 0), outline)


def _points(outline: Outline) -> tuple[Array, Array]:
    """Return the points of the outline that do not lie on the frame of the image, at most as many as are used."""
    level, left = np.nonzero(outline.first > 0)
    other, right = np.nonzero((outline.last >= 0) & (outline.last < outline.width - 1))
    x = np.concatenate([outline.first[level, left], outline.last[other, right] + 1.0])
    y = np.concatenate([left, right]) + 0.5
    used = np.linspace(0, len(x) - 1, min(len(x), _MOST)).astype(np.intp)
    return x[used], y[used]


class _Curve(NamedTuple):
    """A curve, as cx, cy, a and r², and the share of the points that lie on it."""

    numbers: Array
    share: float


_NONE: Final = _Curve(np.zeros(4), 0.0)


def _fit(x: Array, y: Array, pixel: float, *, is_squashed: bool) -> _Curve:
    """Return the curve that most points lie on; curves through few points are tried, and the best is refined."""
    known = x * x if is_squashed else x * x + y * y
    columns = np.stack([x, y, np.ones_like(x), *([-y * y] if is_squashed else [])], axis=-1)
    tried = np.random.default_rng(0).integers(len(x), size=(_TRIALS, columns.shape[1]))
    matrices = columns[tried]
    is_solvable = np.abs(np.linalg.det(matrices)) > 1e-9
    if not is_solvable.any():
        return _NONE
    curves = _curves(np.linalg.solve(matrices[is_solvable], known[tried][is_solvable][..., None])[..., 0])
    a, r2 = curves[:, 2], curves[:, 3]
    curves = curves[(r2 > 0.04) & (r2 < 1) & (a > 0.4) & (a < 2.5)]
    if not len(curves):
        return _NONE
    near = _near(curves, x, y, pixel)
    inside = near[near.sum(axis=1).argmax()]
    for _ in range(3):
        refined = _curves(np.linalg.lstsq(columns[inside], known[inside], rcond=None)[0][None])
        inside = _near(refined, x, y, pixel)[0]
        if np.count_nonzero(inside) < _FEWEST / 4:
            return _NONE
    return _Curve(refined[0], float(inside.mean()))


def _curves(solutions: Array) -> Array:
    """Return cx, cy, a and r² from the solutions of the linear equations."""
    a = solutions[:, 3] if solutions.shape[1] == 4 else np.ones(len(solutions))
    a = np.where(np.abs(a) > 1e-6, a, 1e-6)
    cx, cy = solutions[:, 0] / 2, solutions[:, 1] / (2 * a)
    return np.stack([cx, cy, a, solutions[:, 2] + cx**2 + a * cy**2], axis=1)


def _near(curves: Array, x: Array, y: Array, pixel: float) -> NDArray[np.bool_]:
    """Say which points lie on which curve, within a pixel or half a per cent of the radius."""
    cx, cy, a, r2 = (column[:, None] for column in curves.T)
    radius = np.sqrt(np.maximum(r2, 0))
    distance = np.sqrt(np.maximum((x - cx) ** 2 + a * (y - cy) ** 2, 0)) - radius
    return np.asarray(np.abs(distance) < np.maximum(pixel, 0.005 * radius))


def _cut(disc: Disc, outline: Outline) -> Disc | None:
    """Leave out the rows above and below in which less than a third of the disc's chord is spanned: the camera cut them off."""
    left, right = disc.chords(np.arange(outline.first.shape[1]))
    chord = np.minimum(right, outline.width) - np.maximum(left, 0)
    spanned = outline.last[0] - outline.first[0] + 1
    used = np.flatnonzero((chord > 0) & (outline.first[0] >= 0) & (spanned >= chord / 3))
    return disc._replace(top=int(used[0]), bottom=int(used[-1]) + 1) if len(used) else None


def _rounded(value: float) -> float:
    """Round to a step, so that the last digits of a solver do not decide on a pixel."""
    return math.floor(value * _STEPS + 0.5) / _STEPS
