"""NPY, Zarr and whole slides by rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.images import Reading, refuse_dtype, said
from recolorist.io.other import npy_header
from recolorist.io.strips import Strips

_COLUMNS: Final = 2048  # of a slide read at a time
_ROWS: Final = 256
_MOST_CHANNELS: Final = 4


class NpyStrips(Strips):
    """A .npy file, (H, W) or (H, W, C), read with plain reads: mapped pages would count as memory in use."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Read the header only."""
        self._file = path.open("rb")
        try:
            shape, fortran, self.dtype = npy_header(self._file)
            self._start = self._file.tell()
            needed = self._start + math.prod(shape) * self.dtype.itemsize
            if len(shape) not in (2, 3) or fortran or path.stat().st_size < needed:
                raise ImageError(f"its shape is {shape}; expected is a whole image (H, W) or (H, W, C), rows first")
            refuse_dtype(self.dtype)
        except (ValueError, OSError) as error:
            self._file.close()
            raise error if isinstance(error, ImageError) else ImageError(f"it cannot be read as NPY: {error}") from error
        self.shape = (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)
        self.data_range = reading.range_of(self.dtype)
        self.step = 1

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows."""
        _, width, depth = self.shape
        self._file.seek(self._start + start * width * depth * self.dtype.itemsize)
        count = (stop - start) * width * depth
        data = np.frombuffer(self._file.read(count * self.dtype.itemsize), self.dtype)
        return data.reshape(stop - start, width, depth).astype(self.dtype.newbyteorder("="), copy=False)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ZarrStrips(Strips):
    """A Zarr array (H, W) or (H, W, C), or a level of an OME-Zarr image."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Open the metadata only."""
        zarr = optional.load("zarr", "read Zarr arrays")
        try:
            node = zarr.open(str(path), mode="r")
            self._array, axes = _zarr_level(node, reading.level) if hasattr(node, "group_keys") else (node, None)
            self._axes = axes or _plain_axes(self._array.shape)
        except ImageError:
            raise
        except Exception as error:  # zarr raises nearly anything on damaged metadata
            raise ImageError(f"it cannot be read as Zarr: {said(error)}") from error
        sizes = dict(zip(self._axes, self._array.shape, strict=True))
        if any(sizes[axis] != 1 for axis in self._axes if axis not in "yxc"):
            raise ImageError(f"its axes {''.join(self._axes)} have sizes {self._array.shape}; one image is expected")
        self.shape, self.dtype = (sizes["y"], sizes["x"], sizes.get("c", 1)), np.dtype(self._array.dtype)
        refuse_dtype(self.dtype)
        self.data_range = reading.range_of(self.dtype)
        self.step = int(dict(zip(self._axes, self._array.chunks, strict=True))["y"])
        self.packed = True

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Decode the chunks of these rows."""
        chosen = tuple(slice(start, stop) if axis == "y" else slice(None) if axis in "xc" else 0 for axis in self._axes)
        try:
            block = np.asarray(self._array[chosen])
        except Exception as error:  # as above: a damaged chunk
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {said(error)}") from error
        kept = [axis for axis in self._axes if axis in "yxc"]
        block = block.transpose([kept.index(axis) for axis in "yxc" if axis in kept])
        return np.ascontiguousarray(block if block.ndim == 3 else block[..., None], dtype=self.dtype.newbyteorder("="))

    def close(self) -> None:
        """Nothing stays open."""


class SlideStrips(Strips):
    """One level of a whole slide, through OpenSlide; where nothing was scanned it has the slide's background colour."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Open the slide."""
        openslide = optional.load("openslide", "read whole slides")
        try:
            self._slide = openslide.OpenSlide(str(path))
            width, height = self._slide.level_dimensions[reading.level]
        except IndexError as error:
            raise ImageError(f"it has {self._slide.level_count} level(s), and level {reading.level} was asked for") from error
        except Exception as error:  # OpenSlide's own errors, which share no base with ours
            raise ImageError(f"OpenSlide cannot read it: {said(error)}") from error
        self._level, self._scale = reading.level, float(self._slide.level_downsamples[reading.level])
        colour = self._slide.properties.get("openslide.background-color", "ffffff")
        self._background = tuple(int(colour[at : at + 2], 16) for at in (0, 2, 4))
        self.shape, self.dtype, self.step, self.packed = (height, width, 3), np.dtype(np.uint8), _ROWS, True

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read the region in pieces."""
        out = np.empty((stop - start, self.shape[1], 3), np.uint8)
        try:
            for left in range(0, self.shape[1], _COLUMNS):
                out[:, left : left + _COLUMNS] = self._region(left, start, min(_COLUMNS, self.shape[1] - left), stop - start)
        except Exception as error:  # as above
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {said(error)}") from error
        return out

    def close(self) -> None:
        """Close the slide."""
        self._slide.close()

    def _region(self, left: int, top: int, width: int, height: int) -> NDArray[Any]:
        from PIL import Image

        corner = (round(left * self._scale), round(top * self._scale))  # OpenSlide counts in pixels of the finest level
        region = self._slide.read_region(corner, self._level, (width, height))
        plain = Image.new("RGB", region.size, self._background)
        plain.paste(region, mask=region.getchannel("A"))
        return np.asarray(plain)


def write_npy(path: Path, bands: Iterator[NDArray[Any]], like: Strips) -> None:
    """Write bands of rows as one array."""
    shape = like.shape if like.shape[2] > 1 else like.shape[:2]
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(like.dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        for band in bands:
            file.write(np.ascontiguousarray(band, dtype=like.dtype).tobytes())


def write_zarr(path: Path, bands: Iterator[NDArray[Any]], like: Strips) -> None:
    """Write bands of rows as a Zarr array (H, W, C)."""
    zarr = optional.load("zarr", "write Zarr arrays")
    chunks = (*(min(side, 512) for side in like.shape[:2]), like.shape[2])
    array = zarr.create_array(str(path), shape=like.shape, dtype=like.dtype, chunks=chunks)
    start = 0
    for band in bands:
        array[start : start + len(band)] = band
        start += len(band)


def _zarr_level(group: Any, level: int) -> tuple[Any, list[str]]:
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


def _plain_axes(shape: tuple[int, ...]) -> list[str]:
    if len(shape) == 2:
        return ["y", "x"]
    if len(shape) == 3 and shape[2] <= _MOST_CHANNELS:
        return ["y", "x", "c"]
    raise ImageError(f"its shape is {shape}; expected is (H, W), (H, W, C) with at most {_MOST_CHANNELS} channels, or OME-Zarr")
