"""Synthetic haematoxylin-and-eosin tiles: one tissue, many scanners.

`tissue` draws *where the dyes are*; a `Scanner` decides *how they look*. The two are separate, so the same tissue can be scanned
twice. What the other scanner would have shown is therefore known. Nothing here is a patient.

The drawing is a simple picture of a glandular mucosa at about half a micrometre a pixel. It has glands with a lumen and a ring of
columnar cells, collagen around them with spindle nuclei, lymphocytes and clefts. The optics are Beer-Lambert: optical densities
of the dyes add up, light is attenuated by ten to the minus density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.demo.fields import Array, smooth, stream
from recolorist.demo.tissue import KINDS, Kind, draw
from recolorist.errors import ImageError, OptionError

__all__ = ["KINDS", "SCANNERS", "Kind", "Scanner", "scan", "tile", "tissue"]

Bytes: TypeAlias = NDArray[np.uint8]
Triple: TypeAlias = tuple[float, float, float]

_LARGEST: Final = 8192  # pixels a side; larger slides are made of tiles


@dataclass(frozen=True)
class Scanner:
    """A laboratory and its scanner: all that differs between hospitals, and nothing that is biology."""

    name: str
    haematoxylin: Triple  # optical density of one unit of dye in R, G, B
    eosin: Triple
    strength: tuple[float, float]  # staining strength of haematoxylin and of eosin; 1 is usual
    white: Triple  # what empty glass looks like, 0..1
    gamma: float  # output = light ** (1 / gamma); above 1 is brighter
    blur: float  # standard deviation of the optics, pixels
    noise: float  # standard deviation of the sensor at full light, 0..1


SCANNERS: Final[dict[str, Scanner]] = {
    scanner.name: scanner
    for scanner in (
        # A balanced, well-kept slide.
        Scanner("north", (0.58, 0.72, 0.34), (0.13, 0.80, 0.38), (1.00, 1.00), (0.955, 0.950, 0.955), 1.00, 0.6, 0.012),
        # Eosin-heavy and bright: salmon pink.
        Scanner("harbour", (0.50, 0.72, 0.32), (0.08, 0.74, 0.48), (0.76, 1.18), (0.985, 0.965, 0.945), 1.15, 0.8, 0.010),
        # Haematoxylin-heavy, thick section, cool lamp: violet and dark.
        Scanner("valley", (0.66, 0.74, 0.26), (0.26, 0.80, 0.28), (1.15, 0.95), (0.905, 0.915, 0.960), 0.95, 0.5, 0.016),
        # Faded and yellowed, soft optics: little contrast.
        Scanner("mill", (0.50, 0.58, 0.40), (0.14, 0.60, 0.56), (0.62, 0.62), (0.930, 0.905, 0.840), 1.05, 1.1, 0.010),
    )
}


def tile(seed: int, scanner: str | Scanner = "north", size: int | tuple[int, int] = 256, kind: str | Kind = "normal") -> Bytes:
    """Draw one tile as 8-bit RGB; the same arguments give the same bytes.

    Args:
        seed: Seed of the tissue and of the sensor's noise, zero or more.
        scanner: A name of `SCANNERS`, or a `Scanner`.
        size: One side, or height and width, in pixels.
        kind: A name of `KINDS`, or a `Kind`.

    Returns:
        The tile, `(height, width, 3)`.

    Raises:
        OptionError: An argument is not accepted.

    Example:
        >>> north, mill = tile(7, "north", size=(64, 96)), tile(7, "mill", size=(64, 96))
        >>> north.shape, str(north.dtype), bool(north.mean() < mill.mean())
        ((64, 96, 3), 'uint8', True)
    """
    return scan(tissue(seed, size, kind), scanner, seed)


def tissue(seed: int, size: int | tuple[int, int] = 256, kind: str | Kind = "normal") -> Array:
    """Draw the amounts of haematoxylin and eosin.

    Args:
        seed: Seed of the tissue, zero or more.
        size: One side, or height and width, in pixels.
        kind: A name of `KINDS`, or a `Kind`.

    Returns:
        The amounts, `(height, width, 2)`.

    Raises:
        OptionError: An argument is not accepted.

    Example:
        >>> dyes = tissue(7, size=(64, 96))
        >>> dyes.shape, bool((dyes >= 0).all())
        ((64, 96, 2), True)
    """
    return draw(seed, _shape(size), _kind(kind))


def scan(dyes: Array, scanner: str | Scanner = "north", seed: int = 0) -> Bytes:
    """Make the picture that a scanner takes of a map of dyes.

    Args:
        dyes: Amounts of dye, as `tissue` returns them.
        scanner: A name of `SCANNERS`, or a `Scanner`.
        seed: Seed of the sensor's noise.

    Returns:
        The picture as 8-bit RGB.

    Raises:
        ImageError: The map has another shape.

    Example:
        >>> glass = scan(np.zeros((32, 48, 2)), "mill")
        >>> [round(float(level)) for level in glass.mean((0, 1))]
        [238, 232, 216]
    """
    device = _scanner(scanner)
    if dyes.ndim != 3 or dyes.shape[2] != 2:
        raise ImageError(f"dyes has shape {dyes.shape}; accepted is (height, width, 2), as tissue() returns it")
    density = dyes * np.array(device.strength) @ np.array([device.haematoxylin, device.eosin])
    light = np.array(device.white) * 10.0**-density
    light = np.stack([np.maximum(smooth(light[..., channel], device.blur), 0.0) for channel in range(3)], axis=-1)
    # Photons arrive at random: the noise grows with the square root of the light.
    grain = stream(seed, "sensor", device.name).standard_normal(light.shape) * device.noise * np.sqrt(light)
    seen = np.clip(light + grain, 0.0, 1.0) ** (1.0 / device.gamma)
    return np.asarray(np.rint(seen * 255.0), dtype=np.uint8)


def _shape(size: int | tuple[int, int]) -> tuple[int, int]:
    sides = size if isinstance(size, tuple) else (size, size)
    whole = all(isinstance(side, int | np.integer) and not isinstance(side, bool) for side in sides)
    if len(sides) != 2 or not whole or not all(1 <= side <= _LARGEST for side in sides):
        raise OptionError(f"size={size!r}; accepted are one side or (height, width), each from 1 to {_LARGEST} pixels")
    return int(sides[0]), int(sides[1])


def _scanner(scanner: str | Scanner) -> Scanner:
    if isinstance(scanner, Scanner):
        return scanner
    if scanner not in SCANNERS:
        raise OptionError(f"scanner={scanner!r} is unknown; choose from {', '.join(map(repr, SCANNERS))}, or pass a Scanner")
    return SCANNERS[scanner]


def _kind(kind: str | Kind) -> Kind:
    if isinstance(kind, Kind):
        return kind
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r} is unknown; choose from {', '.join(map(repr, KINDS))}, or pass a Kind")
    return KINDS[kind]
