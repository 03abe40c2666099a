"""Draw where the dyes are in a synthetic glandular mucosa: glands, collagen, nuclei."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from recolorist.demo.fields import Array, along, cloud, smooth, step, stream

__all__ = ["KINDS", "Kind", "draw"]

_FAR: Final = 70.0  # pixels; beyond this distance a gland no longer bends the collagen


@dataclass(frozen=True)
class Kind:
    """A kind of tissue: all that is biology, and nothing that differs between hospitals. Lengths are in pixels."""

    name: str
    radius: tuple[float, float]  # of a gland, smallest and largest
    lumen: tuple[float, float]  # radius of the lumen as a share of the gland's
    layers: int  # rows of nuclei in the epithelium
    nucleus: tuple[float, float]  # half axes of an epithelial nucleus
    variety: float  # spread of nuclear size, place and darkness
    goblets: float  # share of epithelial cells filled with mucin
    cells: float  # stromal nuclei per 1000 square pixels


KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("normal", (44.0, 62.0), (0.24, 0.36), 1, (7.0, 3.9), 0.10, 0.50, 4.0),
        Kind("tumour", (48.0, 84.0), (0.16, 0.40), 3, (8.4, 5.0), 0.24, 0.02, 4.6),
    )
}


@dataclass(frozen=True)
class _Gland:
    y: float
    x: float
    radius: float
    squash: float
    angle: float
    lumen: float
    waves: tuple[tuple[int, float, float], ...]  # order, height and phase of the bumps of its wall

    def wall(self, phi: Array) -> Array:
        """Radius of the wall in the direction phi of the gland's own frame."""
        bumps = [height * np.cos(order * phi + phase) for order, height, phase in self.waves]
        return np.asarray(self.radius * (1.0 + np.sum(bumps, axis=0)))

    def share(self, y: Array, x: Array) -> Array:
        """0 at the centre, 1 at the wall."""
        dy, dx = y - self.y, x - self.x
        u = dx * np.cos(self.angle) + dy * np.sin(self.angle)
        v = (dy * np.cos(self.angle) - dx * np.sin(self.angle)) / self.squash
        return np.asarray(np.hypot(u, v) / self.wall(np.arctan2(v, u)))

    def point(self, phi: float, share: float) -> tuple[float, float]:
        """The place `(y, x)` at a direction and a share of the way to the wall."""
        reach = share * float(self.wall(np.array(phi)))
        u, v = reach * np.cos(phi), reach * np.sin(phi) * self.squash
        return self.y + u * np.sin(self.angle) + v * np.cos(self.angle), self.x + u * np.cos(self.angle) - v * np.sin(self.angle)


@dataclass(frozen=True)
class _Nucleus:
    y: float
    x: float
    long: float
    short: float
    angle: float
    dark: float
    bump: float  # phase of the irregularity of its outline


def draw(seed: int, shape: tuple[int, int], kind: Kind) -> Array:
    """Draw the amounts of haematoxylin and eosin, `(height, width, 2)`.

    Example:
        >>> draw(7, (40, 64), KINDS["normal"]).shape
        (40, 64, 2)
    """
    glands = list(_glands(stream(seed, "glands"), shape, kind))
    outside, lumen = _distances(glands, shape)
    fields = stream(seed, "fields")
    flow, fibres = _collagen(fields, outside)
    blue, pink, open_space = _ground(fields, outside, lumen, fibres)
    chromatin = 0.7 * cloud(fields, shape, 0.9) + 0.7 * cloud(fields, shape, 2.0)
    cells, mucin = stream(seed, "epithelium"), stream(seed, "mucin")
    for gland in glands:
        for goblet in _goblets(mucin, gland, kind):
            _empty(blue, pink, goblet)
        for nucleus in _epithelium(cells, gland, kind):
            _paint(blue, pink, chromatin, nucleus)
    for nucleus in _stroma(stream(seed, "stroma"), outside, open_space, flow, kind):
        _paint(blue, pink, chromatin, nucleus)
    return np.stack([np.maximum(blue, 0.0), np.maximum(pink, 0.0)], axis=-1)


# ------------------------------------------------------------------------------------------------------------------- glands


def _glands(rng: np.random.Generator, shape: tuple[int, int], kind: Kind) -> Iterator[_Gland]:
    """Glands at random places, also partly outside the tile, that do not touch."""
    edge = 0.6 * kind.radius[1]
    area = (shape[0] + 2 * edge) * (shape[1] + 2 * edge)
    kept: list[_Gland] = []
    for _ in range(int(30 * area / kind.radius[1] ** 2)):
        gland = _Gland(
            y=rng.uniform(-edge, shape[0] + edge),
            x=rng.uniform(-edge, shape[1] + edge),
            radius=rng.uniform(*kind.radius),
            squash=rng.uniform(0.70, 1.0),
            angle=rng.uniform(0.0, np.pi),
            lumen=rng.uniform(*kind.lumen),
            waves=tuple((k, rng.normal(0.0, 0.10 / k), rng.uniform(0.0, 2 * np.pi)) for k in (2, 3, 4, 5)),
        )
        if all(np.hypot(gland.y - g.y, gland.x - g.x) > 1.02 * (gland.radius + g.radius) + 6.0 for g in kept):
            kept.append(gland)
            yield gland


def _distances(glands: list[_Gland], shape: tuple[int, int]) -> tuple[Array, Array]:
    """Pixels to the nearest gland's wall and to its lumen; negative inside."""
    outside, lumen = np.full(shape, _FAR), np.full(shape, _FAR)
    for gland in glands:
        rows, columns = _window(shape, gland.y, gland.x, 1.6 * gland.radius + _FAR)
        y, x = np.mgrid[rows, columns].astype(np.float64)
        share = gland.share(y, x)
        nearer = (share - 1.0) * gland.radius < outside[rows, columns]
        np.copyto(outside[rows, columns], (share - 1.0) * gland.radius, where=nearer)
        np.copyto(lumen[rows, columns], (share - gland.lumen) * gland.radius, where=nearer)
    return outside, lumen


def _window(shape: tuple[int, int], y: float, x: float, reach: float) -> tuple[slice, slice]:
    """The part of the tile within reach of a place; empty if there is none."""
    top, left = (max(0, int(np.floor(place - reach))) for place in (y, x))
    bottom, right = (max(0, min(n, int(np.ceil(place + reach)) + 1)) for place, n in ((y, shape[0]), (x, shape[1])))
    return slice(min(top, bottom), bottom), slice(min(left, right), right)


# ------------------------------------------------------------------------------------------------------------------- ground


def _collagen(rng: np.random.Generator, outside: Array) -> tuple[tuple[Array, Array], Array]:
    """The direction of the fibres, which run around glands, and the fibres themselves."""
    height = smooth(outside, 6.0) + 30.0 * cloud(rng, outside.shape, 44.0) + 1.6 * cloud(rng, outside.shape, 9.0)
    dy, dx = np.gradient(height) if min(outside.shape) > 1 else (np.ones(outside.shape), np.zeros(outside.shape))
    norm = np.maximum(np.hypot(dy, dx), 1e-9)
    flow = (dx / norm, -dy / norm)
    fine, coarse = cloud(rng, outside.shape, 0.8), cloud(rng, outside.shape, 2.2)
    return flow, 0.45 * along(fine, flow, 12) + 0.40 * along(coarse, flow, 14)


def _ground(rng: np.random.Generator, outside: Array, lumen: Array, fibres: Array) -> tuple[Array, Array, Array]:
    """Dyes everywhere but in nuclei, and the share of each pixel that is empty space."""
    shape = outside.shape
    patch, grain, ragged = cloud(rng, shape, 18.0), cloud(rng, shape, 1.3), cloud(rng, shape, 4.0)
    gland = step(-outside, 0.0, 0.9)
    hollow = step(-(lumen + 1.6 * ragged), 0.0, 1.0) * gland
    # Clefts open between fibres, and as a thin halo where the stroma has shrunk away from a gland.
    cleft = 0.92 * step(-(fibres + 0.55 * patch), 1.32, 0.20) * (1.0 - gland)
    halo = 0.75 * np.exp(-(((outside - 2.2) / 1.3) ** 2)) * step(patch, 0.3, 0.3)
    open_space = np.maximum(np.maximum(hollow, cleft), halo)
    apical = np.exp(-(((lumen - 2.0) / 2.0) ** 2)) * gland
    pink_gland = 0.27 + 0.03 * patch + 0.035 * grain + 0.12 * apical
    pink_stroma = 0.29 + 0.045 * patch + 0.085 * fibres + 0.02 * grain
    pink = (gland * pink_gland + (1.0 - gland) * pink_stroma) * (1.0 - 0.94 * open_space)
    blue = (gland * (0.13 + 0.02 * grain) + (1.0 - gland) * (0.045 + 0.012 * fibres)) * (1.0 - 0.97 * open_space)
    return blue, pink, open_space


# -------------------------------------------------------------------------------------------------------------------- cells


def _epithelium(rng: np.random.Generator, gland: _Gland, kind: Kind) -> Iterator[_Nucleus]:
    """Rows of nuclei that stand on the wall of a gland and point at its lumen."""
    long, short = kind.nucleus
    for layer in range(kind.layers):
        share = 1.0 - (1.2 * long + 2.0 + 1.8 * layer * long) / gland.radius
        count = int(2 * np.pi * share * gland.radius * (1 + gland.squash) / 2 / (2.35 * short))
        for cell in range(count):
            phi = 2 * np.pi * (cell + rng.normal(0.0, 0.14)) / count
            depth = share + rng.normal(0.0, (0.10 + kind.variety) * long / gland.radius)
            y, x = gland.point(phi, depth)
            grow = float(np.exp(rng.normal(0.0, kind.variety)))
            angle = np.arctan2(y - gland.y, x - gland.x) + rng.normal(0.0, 0.10 + kind.variety)
            dark = 0.62 + rng.normal(0.0, 0.05 + 0.3 * kind.variety)
            if depth > gland.lumen + long / gland.radius:
                yield _Nucleus(y, x, long * grow, short * grow, angle, dark, rng.uniform(0.0, 2 * np.pi))


def _goblets(rng: np.random.Generator, gland: _Gland, kind: Kind) -> Iterator[_Nucleus]:
    """Droplets of mucin between the nuclei and the lumen; shaped as nuclei are, but pale."""
    share = 0.5 * (gland.lumen + 1.0 - 2.6 * kind.nucleus[0] / gland.radius) + 0.02
    long = 0.5 * (1.0 - 2.6 * kind.nucleus[0] / gland.radius - gland.lumen) * gland.radius
    count = int(2 * np.pi * share * gland.radius * (1 + gland.squash) / 2 / 10.0)
    for cell in range(count if long > 3.0 else 0):
        y, x = gland.point(2 * np.pi * (cell + rng.normal(0.0, 0.1)) / count, share)
        angle = np.arctan2(y - gland.y, x - gland.x)
        if rng.random() < kind.goblets:
            yield _Nucleus(y, x, min(long, 9.0), 4.4, angle, 0.0, rng.uniform(0.0, 2 * np.pi))


def _stroma(
    rng: np.random.Generator, outside: Array, open_space: Array, flow: tuple[Array, Array], kind: Kind
) -> Iterator[_Nucleus]:
    """Spindle nuclei that lie along the collagen, and lymphocytes in crowds."""
    height, width = outside.shape
    crowd = cloud(rng, outside.shape, 24.0)
    taken = np.zeros(outside.shape, dtype=bool)  # the neighbourhood of the nuclei so far
    for _ in range(int(kind.cells * height * width / 1000)):
        y, x, bump = rng.uniform(0.0, height), rng.uniform(0.0, width), rng.uniform(0.0, 2 * np.pi)
        pick, size, dark = rng.random(), float(np.exp(rng.normal(0.0, 0.14))), rng.normal(0.0, 0.06)
        at = int(y), int(x)
        if outside[at] < 5.5 or open_space[at] > 0.4 or taken[at]:
            continue
        taken[_window(outside.shape, y, x, 7.0)] = True
        angle = float(np.arctan2(flow[0][at], flow[1][at]))
        if pick < 0.30 + 0.22 * crowd[at]:
            yield _Nucleus(y, x, 4.5 * size, 4.2 * size, angle, 0.86 + dark, bump)
        else:
            yield _Nucleus(y, x, 8.6 * size, 2.7 * size, angle, 0.66 + dark, bump)


def _inside(shape: tuple[int, int], cell: _Nucleus) -> tuple[tuple[slice, slice], Array]:
    """A window around a cell and, in it, the distance from the centre in units of the outline."""
    window = _window(shape, cell.y, cell.x, 1.3 * cell.long + 3.0)
    y, x = np.mgrid[window].astype(np.float64)
    dy, dx = y - cell.y, x - cell.x
    u = (dx * np.cos(cell.angle) + dy * np.sin(cell.angle)) / cell.long
    v = (dy * np.cos(cell.angle) - dx * np.sin(cell.angle)) / cell.short
    phi = np.arctan2(v, u)
    return window, np.hypot(u, v) / (1.0 + 0.06 * np.cos(2 * phi + cell.bump) + 0.05 * np.cos(3 * phi - 2 * cell.bump))


def _paint(blue: Array, pink: Array, chromatin: Array, cell: _Nucleus) -> None:
    """A soft ellipse with a dark rim and clumps of chromatin, laid over what is there."""
    window, r = _inside(blue.shape, cell)
    cover = step(-r, -1.0, 0.75 / cell.short)
    rim = np.exp(-(((r - 0.86) / 0.16) ** 2))
    dye = cell.dark * (0.86 + 0.17 * chromatin[window] + 0.20 * rim)
    blue[window] = np.maximum(blue[window] * (1.0 - cover), 0.0) + cover * np.maximum(dye, blue[window])
    pink[window] *= 1.0 - 0.45 * cover


def _empty(blue: Array, pink: Array, cell: _Nucleus) -> None:
    """A droplet of mucin: nearly no eosin, a trace of haematoxylin."""
    window, r = _inside(blue.shape, cell)
    cover = step(-r, -1.0, 0.8 / cell.short)
    blue[window] += cover * (0.055 - blue[window])
    pink[window] *= 1.0 - 0.80 * cover
