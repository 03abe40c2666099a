"""Zarr arrays and OME-Zarr images."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.reading import Reading, describe_error, refuse_dtype, refuse_huge_tiles
from recolorist.io.strips import Strips
from recolorist.io.zarr_codecs import limit_codecs, limit_store

__all__ = ["ZarrStrips", "write_zarr"]

_MOST_CHANNELS: Final = 4
_MISSING_CHUNKS: Final = 10_000  # this many may be missing from any array
_MOST_MISSING: Final = 20  # and this many per file that is there, be it a chunk or a shard of chunks
_CHUNK: Final = 512  # side of the chunks that are written


class ZarrStrips(Strips):
    """A Zarr array (H, W) or (H, W, C), or a level of an OME-Zarr image."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Read the metadata only; raise ImageError if it holds no single image."""
        zarr = optional.load("zarr", "read Zarr arrays")
        try:
            node = zarr.open(store=limit_store(path, reading.max_pixels), mode="r")
            self._array, axes = _level_of(node, reading.level) if hasattr(node, "group_keys") else (node, None)
            self._axes = axes or _axes_of(self._array.shape)
        except ImageError:
            raise
        except Exception as error:  # zarr raises nearly anything on damaged metadata
            raise ImageError(f"it cannot be read as Zarr: {describe_error(error)}") from error
        sizes = dict(zip(self._axes, self._array.shape, strict=False))
        are_named = len(sizes) == len(self._axes) == self._array.ndim and {"y", "x"} <= sizes.keys()
        if not are_named or any(sizes[axis] != 1 for axis in self._axes if axis not in "yxc"):
            raise ImageError(f"its axes {''.join(self._axes)} have sizes {self._array.shape}; one image is expected")
        self.shape, self.dtype = (sizes["y"], sizes["x"], sizes.get("c", 1)), np.dtype(self._array.dtype)
        refuse_dtype(self.dtype)
        self.data_range = reading.range_of(self.dtype)
        stored = self._array.shards or self._array.chunks  # what is decoded at a time
        refuse_huge_tiles(math.prod(stored), reading.max_pixels)
        self._array = limit_codecs(self._array)
        _refuse_missing(path / self._array.path, math.prod(map(_divide, self._array.shape, self._array.chunks)))
        self.step = min(int(dict(zip(self._axes, stored, strict=True))["y"]), self.shape[0])
        self.packed = True

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Decode the chunks of these rows.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels, (stop - start, W, C).

        Raises:
            ImageError: They cannot be decoded.
        """
        selection = tuple(slice(start, stop) if axis == "y" else slice(None) if axis in "xc" else 0 for axis in self._axes)
        try:
            block = np.asarray(self._array[selection])
        except Exception as error:  # as above: a damaged chunk
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {describe_error(error)}") from error
        axes = [axis for axis in self._axes if axis in "yxc"]
        block = block.transpose([axes.index(axis) for axis in "yxc" if axis in axes])
        return np.ascontiguousarray(block if block.ndim == 3 else block[..., None], dtype=self.dtype.newbyteorder("="))

    def close(self) -> None:
        """Do nothing; no file stays open."""


def write_zarr(path: Path, bands: Iterator[NDArray[Any]], like: Strips) -> None:
    """Write bands of rows as a Zarr array (H, W, C).

    Args:
        path: The folder.
        bands: The rows of the image, from top to bottom.
        like: An image of the same shape and dtype.
    """
    zarr = optional.load("zarr", "write Zarr arrays")
    chunks = (*(min(side, _CHUNK) for side in like.shape[:2]), like.shape[2])
    array = zarr.create_array(str(path), shape=like.shape, dtype=like.dtype, chunks=chunks)
    start = 0
    for band in bands:
        array[start : start + len(band)] = band
        start += len(band)


def _level_of(group: Any, level: int) -> tuple[Any, list[str]]:
    """Return the array of one level of an OME-Zarr group, and the names of its axes."""
    attributes = dict(group.attrs)
    scales = attributes.get("ome", attributes).get("multiscales")
    if not scales:
        raise ImageError("it is a Zarr group without an image in it; name the array inside")
    sets = scales[0]["datasets"]
    if not 0 <= level < len(sets):
        raise ImageError(f"it has {len(sets)} level(s), and level {level} was asked for")
    array = group[sets[level]["path"]]
    axes = [axis if isinstance(axis, str) else str(axis["name"]) for axis in scales[0].get("axes", "tczyx"[-array.ndim :])]
    return array, axes


def _refuse_missing(folder: Path, chunks: int) -> None:
    """Raise ImageError if nearly all chunks are missing; blank chunks may be, but each takes time to look for."""
    if chunks <= _MISSING_CHUNKS:
        return
    stored = 0
    for _, _, names in os.walk(folder):
        stored += len(names)
        if chunks <= _MISSING_CHUNKS + _MOST_MISSING * stored:
            return
    raise ImageError(f"it declares {chunks:,} chunks and holds only {stored:,} files; save it again with larger chunks")


def _divide(side: int, chunk: int) -> int:
    """Return how many chunks cover a side."""
    return -(-side // chunk)


def _axes_of(shape: tuple[int, ...]) -> list[str]:
    """Return the axes of an array that does not name them."""
    if len(shape) == 2:
        return ["y", "x"]
    if len(shape) == 3 and shape[2] <= _MOST_CHANNELS:
        return ["y", "x", "c"]
    raise ImageError(f"its shape is {shape}; expected is (H, W), (H, W, C) with at most {_MOST_CHANNELS} channels, or OME-Zarr")
