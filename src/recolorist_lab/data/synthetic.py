"""Synthetic hospitals: labelled tissue-like tiles of any number of hospitals, without a download.

What a tile shows (the class) is the shape of its nuclei; how it looks (stain vectors, white point, gamma, optics, noise) is its
hospital. The same recipe gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from recolorist.augment.streams import number_of, stream
from recolorist.demo.synthetic import SCANNERS, Scanner, scan
from recolorist.errors import OptionError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.morphology import MORPHOLOGIES, dyes
from recolorist_lab.data.pixels import Bytes, digest_of, shape_of

__all__ = ["NAME", "Recipe", "Tiles", "hospital", "make", "tile", "write"]

NAME: Final = "synthetic"
_ARRAY: Final = "tiles.npy"
_HOSPITAL, _TILE = 201, 202  # purposes of the random streams


@dataclass(frozen=True, slots=True)
class Recipe:
    """All values that decide the tiles.

    Of the hospitals, the last is for testing, the one before for validation, the others for training; with two, none validates.
    """

    hospitals: int = 5
    tiles: int = 160
    size: int = 64
    classes: tuple[str, ...] = tuple(MORPHOLOGIES)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hospitals < 1 or self.tiles < len(self.classes) or not 8 <= self.size <= 1024:
            raise OptionError(
                f"{self} is not accepted; give at least one hospital, one tile for each class, and 8 to 1024 pixels a side"
            )
        if len(set(self.classes)) != len(self.classes) or not self.classes or not set(self.classes) <= set(MORPHOLOGIES):
            raise OptionError(f"classes={self.classes}; choose different ones from {', '.join(MORPHOLOGIES)}")

    def split_of(self, hospital: int) -> str:
        """Return the split of a hospital's tiles.

        Args:
            hospital: Its number.

        Returns:
            The split.

        Example:
            >>> [Recipe(hospitals=4).split_of(number) for number in range(4)]
            ['train', 'train', 'val', 'test']
        """
        if hospital == self.hospitals - 1 and self.hospitals > 1:
            return "test"
        return "val" if hospital == self.hospitals - 2 and self.hospitals > 2 else "train"

    def label_of(self, tile: int) -> int:
        """Return the class of a tile; classes take turns.

        Args:
            tile: Number of the tile.

        Returns:
            The class index.
        """
        return tile % len(self.classes)


def hospital(number: int, seed: int = 0) -> Scanner:
    """Return the laboratory and scanner of a hospital.

    The first four are those of the demo; further ones are drawn around them.

    Args:
        number: Counted from 0.
        seed: Of the random stream.

    Returns:
        The scanner.

    Raises:
        OptionError: The number is negative.

    Example:
        >>> hospital(0).name, hospital(7).name, hospital(7) == hospital(7), hospital(7) == hospital(8)
        ('north', 'hospital_7', True, False)
    """
    if number < 0:
        raise OptionError(f"hospital {number} was requested; hospitals are numbered from 0")
    scanners = list(SCANNERS.values())
    if number < len(scanners):
        return scanners[number]
    rng = stream(seed, index=number, purpose=_HOSPITAL)
    blue, pink = (
        _varied(rng, np.mean([getattr(scanner, dye) for scanner in scanners], axis=0), 0.16) for dye in ("haematoxylin", "eosin")
    )
    white = np.clip(rng.uniform(0.89, 0.98) + rng.normal(0.0, 0.025, 3), 0.80, 0.99)
    strength = np.exp(rng.normal(0.0, 0.22, 2))
    gamma, blur, noise = rng.uniform(0.85, 1.25), rng.uniform(0.4, 1.1), rng.uniform(0.008, 0.02)
    return Scanner(
        f"hospital_{number}",
        _triple(blue),
        _triple(pink),
        (float(strength[0]), float(strength[1])),
        _triple(white),
        gamma,
        blur,
        noise,
    )


def tile(recipe: Recipe, number: int, index: int) -> Bytes:
    """Make one tile of a hospital on its own, with the same pixels as in the whole set.

    Args:
        recipe: Of the set.
        number: Of the hospital, counted from 0.
        index: Of the tile, counted from 0.

    Returns:
        The tile.

    Example:
        >>> tile(Recipe(size=32), 4, 0).shape
        (32, 32, 3)
    """
    kind = MORPHOLOGIES[recipe.classes[recipe.label_of(index)]]
    key = f"{number}/{index}"
    where = dyes(stream(recipe.seed, index=key, purpose=_TILE), kind, recipe.size)
    return scan(where, hospital(number, recipe.seed), number_of(f"{recipe.seed}/{key}"))


@dataclass(frozen=True, slots=True)
class Tiles:
    """A set of tiles in memory: images in the order of the manifest's rows."""

    images: Bytes
    manifest: Manifest

    def samples(self, split: str | None = None, **options: Any) -> Samples:
        """Open the tiles with the common loader.

        Args:
            split: The split; None for all.
            options: Those of :class:`recolorist_lab.data.loader.Samples`.

        Returns:
            The images.
        """
        return Samples(self.manifest, split, **{"size": None, **options}, arrays={_ARRAY: self.images})


@lru_cache(maxsize=2)
def make(recipe: Recipe | None = None) -> Tiles:
    """Draw all tiles of a recipe in memory. The same recipe gives the same object, which cannot be written to.

    Args:
        recipe: What to draw; the default recipe where it is None.

    Returns:
        The tiles and their manifest.
    """
    chosen = recipe or Recipe()
    places = list(_places(chosen))
    images = np.empty((len(places), chosen.size, chosen.size, 3), np.uint8)
    for row, (number, index) in enumerate(places):
        images[row] = tile(chosen, number, index)
    images.flags.writeable = False
    entries = (
        replace(
            Entry(
                NAME, chosen.split_of(number), hospital(number, chosen.seed).name, _ARRAY, (label,), row, chosen.classes[label]
            ),
            shape=shape_of(images[row]),
            digest=digest_of(images[row]),
        )
        for row, (number, index) in enumerate(places)
        for label in [chosen.label_of(index)]
    )
    return Tiles(images, Manifest.of(entries, _facts(chosen)))


def write(recipe: Recipe, folder: str | Path, *, png: bool = False) -> Path:
    """Write the tiles of a recipe and their manifest into a folder.

    Args:
        recipe: What to draw.
        folder: The folder; it is made.
        png: Write PNG files instead of one array.

    Returns:
        The path of the manifest.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    tiles = make(recipe)
    if not png:
        np.save(target / _ARRAY, tiles.images, allow_pickle=False)
        return tiles.manifest.write(target / f"{NAME}.parquet")
    entries = []
    for entry in tiles.manifest:
        path = f"{entry.domain}/{entry.source_label}/{entry.row:06d}.png"
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(tiles.images[entry.row or 0]).save(target / path)
        size, digest = (target / path).stat().st_size, digest_of(target / path)
        entries.append(replace(entry, path=path, row=None, bytes=size, digest=digest))
    return Manifest.of(entries, _facts(recipe)).write(target / f"{NAME}.parquet")


def _facts(recipe: Recipe) -> Facts:
    options = tuple((name, str(getattr(recipe, name))) for name in ("hospitals", "tiles", "size", "seed"))
    return Facts(
        NAME, "Synthetic hospitals", "binary" if len(recipe.classes) == 2 else "multiclass", recipe.classes, options=options
    )


def _places(recipe: Recipe) -> Iterator[tuple[int, int]]:
    return ((number, index) for number in range(recipe.hospitals) for index in range(recipe.tiles))


def _varied(rng: np.random.Generator, middle: Any, spread: float) -> Any:
    """Vary optical densities around a mean: each dye absorbs a little differently in every laboratory."""
    return np.clip(middle * np.exp(rng.normal(0.0, spread, 3)), 0.05, 1.0)


def _triple(values: Any) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
