"""TIFF by rows: tiled, in strips, pyramidal, 8 or 16 bits, through tifffile; and the writer of tiled TIFF."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.images import Picture, Reading, refuse_dtype, refuse_huge, said
from recolorist.io.pillow import refuse_outside_file, upright
from recolorist.io.strips import TILE, Strips
from recolorist.io.write import tiff_facts

_CLASSIC: Final = 2**32 - 2**26  # larger files need BigTIFF's offsets
_AXES: Final = ("YX", "YXS", "SYX")
_GREY, _RGB, _YCBCR = 1, 2, 6  # photometric interpretations
_JPEG: Final = 7


class TiffStrips(Strips):
    """One level of a TIFF."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Read the directory only."""
        tifffile = optional.load("tifffile", "read huge, tiled or 16-bit colour TIFF files")
        try:
            self._file = tifffile.TiffFile(path)
        except Exception as error:  # tifffile raises nearly anything on a damaged file
            raise ImageError(f"it cannot be read as TIFF: {said(error)}") from error
        try:
            self._describe(path.stat().st_size, reading)
        except Exception as error:
            self._file.close()
            raise error if isinstance(error, ImageError) else ImageError(f"it cannot be read as TIFF: {said(error)}") from error

    def _describe(self, size: int, reading: Reading) -> None:
        self._page, self._axes = _level(self._file, reading.level)
        self._check(size)
        page = self._page
        depth = int(page.samplesperpixel)
        self.shape, self.dtype = (int(page.imagelength), int(page.imagewidth), depth), np.dtype(page.dtype)
        refuse_dtype(self.dtype)
        self.data_range = reading.range_of(self.dtype)
        self.step = int(page.tilelength if page.is_tiled else page.rowsperstrip)
        self.packed = int(page.compression) != 1
        self.orientation = int(page.tags[274].value) if 274 in page.tags else 1
        self._plain = not self.packed and not page.is_tiled and self._axes != "SYX" and bool(page.is_contiguous)
        if self._plain:
            self.step = 1  # any rows can be read without decoding others

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Decode what is stored of these rows."""
        try:
            return self._read_plain(start, stop) if self._plain else self._decode(start, stop)
        except ImageError:
            raise
        except Exception as error:  # as above
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {said(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self, size: int) -> None:
        page = self._page
        refuse_outside_file(page.dataoffsets, page.databytecounts, size)
        known = int(page.photometric) in (_GREY, _RGB) or (int(page.photometric), int(page.compression)) == (_YCBCR, _JPEG)
        if not known or page.dtype is None:
            raise ImageError(f"its colours are stored as {page.photometric!s}; accepted are grey and RGB. Convert it first.")

    def _read_plain(self, start: int, stop: int) -> NDArray[Any]:
        _, width, depth = self.shape
        row = width * depth * self.dtype.itemsize
        self._file.filehandle.seek(self._page.dataoffsets[0] + start * row)
        data = self._file.filehandle.read((stop - start) * row)
        stored = self.dtype.newbyteorder(self._file.byteorder)
        return np.frombuffer(data, stored).reshape(stop - start, width, depth).astype(self.dtype, copy=False)

    def _decode(self, start: int, stop: int) -> NDArray[Any]:
        _, width, depth = self.shape
        page = self._page
        out = np.zeros((stop - start, width, depth), self.dtype)
        wide = int(page.tilewidth) if page.is_tiled else width
        high = int(page.tilelength if page.is_tiled else page.rowsperstrip)
        across, down = -(-width // wide), -(-self.shape[0] // high)
        planes = range(depth) if self._axes == "SYX" else range(1)
        for plane, i, j in product(planes, range(start // high, -(-stop // high)), range(across)):
            segment = self._segment((plane * down + i) * across + j)
            if segment is None:
                continue  # a sparse tile: blank
            top, left = i * high, j * wide
            first, last = max(start, top), min(stop, top + segment.shape[0])
            piece = segment[first - top : last - top, : width - left]
            place = out[first - start : last - start, left : left + piece.shape[1]]
            if len(planes) > 1:
                place[..., plane] = piece[..., 0]
            else:
                place[...] = piece
        return out

    def _segment(self, index: int) -> NDArray[Any] | None:
        page = self._page
        count = page.databytecounts[index]
        if not count:
            return None
        self._file.filehandle.seek(page.dataoffsets[index])
        decoded = page.decode(self._file.filehandle.read(count), index, jpegtables=page.jpegtables)[0]
        return None if decoded is None else np.asarray(decoded[0])


def read_whole(path: Path, reading: Reading) -> Picture:
    """A TIFF that Pillow would not keep exactly, turned upright."""
    with TiffStrips(path, reading) as source:
        refuse_huge(source.shape[0] * source.shape[1], reading.max_pixels)
        pixels = upright(source.rows(0, source.shape[0]), source.orientation)
        return Picture(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, source.data_range)


def write_tiff(path: Path, bands: Iterator[NDArray[Any]], like: Strips, *, pyramid: bool = False) -> None:
    """Write bands of rows as a tiled TIFF, compressed if the source was; ``pyramid`` adds levels of half the size each."""
    from recolorist.io.pyramid import Spool

    tifffile = optional.load("tifffile", "write tiled TIFF files")
    size = like.shape[0] * like.shape[1] * like.shape[2] * like.dtype.itemsize
    facts = tiff_facts(like.shape) | {"tile": (TILE, TILE), "compression": "zlib" if like.packed else None, "maxworkers": 1}
    big = size * 4 // 3 > _CLASSIC
    with (
        Spool(path.parent, like.shape, like.dtype, enabled=pyramid) as spool,
        tifffile.TiffWriter(path, bigtiff=big) as writer,
    ):
        writer.write(tiles(spool.through(bands)), shape=like.shape, dtype=like.dtype, subifds=spool.count, **facts)
        for shape, rows in spool.levels():
            writer.write(tiles(rows), shape=shape, dtype=like.dtype, subfiletype=1, **facts)


def tiles(bands: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Square tiles, left to right and top to bottom, from bands of any height; edges are filled with zeros."""
    held: list[NDArray[Any]] = []
    waiting = 0
    for band in bands:
        held.append(band)
        waiting += len(band)
        if waiting >= TILE:
            block = np.concatenate(held) if len(held) > 1 else held[0]
            whole = waiting // TILE * TILE
            for start in range(0, whole, TILE):
                yield from _row_of_tiles(block[start : start + TILE])
            held, waiting = [block[whole:]], waiting - whole
    if waiting:
        yield from _row_of_tiles(np.concatenate(held))


def _row_of_tiles(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for left in range(0, rows.shape[1], TILE):
        piece = rows[:, left : left + TILE]
        if piece.shape[:2] == (TILE, TILE):
            yield np.ascontiguousarray(piece)
            continue
        full = np.zeros((TILE, TILE, rows.shape[2]), rows.dtype)
        full[: piece.shape[0], : piece.shape[1]] = piece
        yield full


def _level(file: Any, level: int) -> tuple[Any, str]:
    """The page of one level of the first image, and the order of its axes."""
    series = file.series[0]
    levels = series.levels
    if not 0 <= level < len(levels):
        raise ImageError(f"it has {len(levels)} level(s), and level {level} was asked for")
    chosen = levels[level]
    axes = str(chosen.axes)
    if axes not in _AXES or len(chosen.pages) != 1:
        raise ImageError(f"its axes are {axes} on {len(chosen.pages)} page(s); one image of grey or colour is expected")
    return chosen.keyframe, axes
