"""TIFF through tifffile: whole or by rows, striped, tiled or pyramidal, 8 or 16 bits or floats."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist import optional
from recolorist.errors import ImageError, RecoloristError
from recolorist.io.frames import refuse_larger, refuse_other_bits
from recolorist.io.jpeg import has_end
from recolorist.io.pillow import refuse_mode, turn_upright
from recolorist.io.pyramid import Spool
from recolorist.io.reading import Picture, Reading, describe_error, refuse_dtype, refuse_huge_shape, refuse_huge_tiles
from recolorist.io.strips import TILE, Strips

__all__ = ["TiffStrips", "encode_tiff", "read_tiff", "split_tiles", "write_tiff"]

_CLASSIC: Final = 2**32 - 2**26  # larger files need BigTIFF's offsets
_AXES: Final = ("YX", "YXS", "SYX")
_WHITE_IS_ZERO, _GREY, _RGB, _PALETTE, _CMYK, _YCBCR = 0, 1, 2, 3, 5, 6  # photometric interpretations
_UNCOMPRESSED, _JPEG = 1, 7
_IMAGES: Final = frozenset(  # compressions whose strips and tiles are images with headers of their own
    (6, 7, 22610, 33003, 33004, 33005, 33007, 34712, 34887, 34892, 34933, 34934, 48124, 50001, 50002, 52546, 65000, 65001, 65002)
)
_JPEG_2000: Final = (33003, 33004, 33005, 34712)
_BUILT_IN: Final = (1, 8, 32773, 32946)  # none, deflate, PackBits, deflate: tifffile needs no imagecodecs for these
_UNSPECIFIED, _ASSOCIATED_ALPHA = 0, 1  # kinds of a fourth channel
_MOST_DIRECTORIES: Final = 1_000  # a pyramid has tens
_ORIENTATION, _COLOUR_MAP, _PROFILE = 274, 320, 34675  # tags


class TiffStrips(Strips):
    """One level of a TIFF file."""

    def __init__(self, path: Path, reading: Reading) -> None:
        """Read the directory only.

        Raises:
            ImageError: If the file is damaged, cut off, a stack, or stores its colours in a way that is not accepted.
            MissingExtraError: If its compression needs imagecodecs, which is not installed.
        """
        import tifffile

        try:
            self._file = tifffile.TiffFile(path)
        except Exception as error:  # tifffile raises nearly anything on a damaged file
            raise ImageError(f"it cannot be read as TIFF: {describe_error(error)}") from error
        try:
            self._describe(path.stat().st_size, reading)
        except Exception as error:
            self._file.close()
            if isinstance(error, RecoloristError):
                raise
            raise ImageError(f"it cannot be read as TIFF: {describe_error(error)}") from error

    def _describe(self, size: int, reading: Reading) -> None:
        _refuse_endless(self._file)
        self._page, self._axes = _level_of(self._file, reading.level)
        page = self._page
        self._mode = _mode_of(page)
        if self._mode in ("1", "P", "CMYK", "LA"):
            refuse_mode(self._mode, reading)
        _refuse_outside_file(page.dataoffsets, page.databytecounts, size)
        compression = int(page.compression)
        if compression not in _BUILT_IN:
            optional.load("imagecodecs", f"read TIFF files compressed with {page.compression.name}")
        self._stored, self._depth = np.dtype(page.dtype), int(page.samplesperpixel)
        depth = {"1": 1, "P": 3, "CMYK": 3, "LA": 1, "RGBX": 3}.get(self._mode, self._depth)
        self.shape = (int(page.imagelength), int(page.imagewidth), depth)
        self.dtype = np.dtype(np.uint8) if self._mode == "1" else self._stored
        refuse_dtype(self.dtype)
        self._high = 2 ** min(int(page.bitspersample), 16) - 1  # of integers
        self.data_range = reading.range_of(self.dtype)
        is_level = self.dtype.kind == "u" and self._mode not in ("1", "P")
        if is_level and reading.bits is None and self._high != np.iinfo(self.dtype).max:
            self.data_range = float(self._high)
        if page.is_tiled:
            refuse_huge_tiles(int(page.tilelength) * int(page.tilewidth), reading.max_pixels)
        self.step = min(int(page.tilelength if page.is_tiled else page.rowsperstrip), self.shape[0])
        self.packed = compression != _UNCOMPRESSED
        self.orientation = int(page.tags[_ORIENTATION].value) if _ORIENTATION in page.tags else 1
        self._is_plain = not self.packed and not page.is_tiled and self._axes != "SYX" and bool(page.is_contiguous)
        self._is_plain &= int(page.bitspersample) == 8 * self._stored.itemsize and int(page.fillorder) == 1
        self._refuse_uncovered()
        if self._is_plain:
            self.step = 1  # any rows can be read without decoding others

    def _refuse_uncovered(self) -> None:
        """Raise ImageError unless the strips or tiles that hold pixels cover the whole image."""
        page, (across, down, planes) = self._page, self._grid()
        needed, lengths = across * down * planes, np.asarray(page.databytecounts).ravel()
        if len(lengths) != needed:
            raise ImageError(f"it has {len(lengths):,} strips or tiles, and {needed:,} would cover it; it is damaged")
        empty = int(((lengths == 0) | (np.asarray(page.dataoffsets).ravel() == 0)).sum())
        if empty:
            raise ImageError(
                f"{empty:,} of its {needed:,} strips or tiles hold no pixels and are not read as black; save it without gaps"
            )
        total, size = int(lengths.sum()), self.shape[0] * self.shape[1] * self._depth * self._stored.itemsize
        if self._is_plain and total < size:
            raise ImageError(f"its strips hold {total:,} bytes, and {size:,} would cover it; it is damaged")

    def _grid(self) -> tuple[int, int, int]:
        """Return how many strips or tiles lie across and down, and in how many planes."""
        page, (height, width, _) = self._page, self.shape
        wide = int(page.tilewidth) if page.is_tiled else width
        high = int(page.tilelength if page.is_tiled else page.rowsperstrip)
        return -(-width // wide), -(-height // high), self._depth if self._axes == "SYX" else 1

    @property
    def icc(self) -> bytes | None:
        """The colour profile."""
        tag = self._page.tags.get(_PROFILE)
        return None if tag is None else bytes(tag.value)

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Decode the strips or tiles that hold these rows.

        Args:
            start: The first row.
            stop: The row after the last one.

        Returns:
            The pixels, (stop - start, W, C).

        Raises:
            ImageError: They cannot be decoded.
        """
        try:
            pixels = self._read_plain(start, stop) if self._is_plain else self._decode(start, stop)
            return self._convert(pixels)
        except ImageError:
            raise
        except Exception as error:  # as above
            raise ImageError(f"rows {start} to {stop} cannot be decoded: {describe_error(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _convert(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Turn pixels as they are stored into grey, RGB or RGBA."""
        mode, page = self._mode, self._page
        if mode == "1":
            pixels = pixels.astype(np.uint8) * np.uint8(255)
        elif mode == "P":
            palette = (np.asarray(page.tags[_COLOUR_MAP].value).reshape(3, -1) >> 8).astype(np.uint8)
            pixels = palette.T[pixels[..., 0]]
        elif mode in ("CMYK", "RGBa"):
            raw = {"CMYK": ("CMYK", "RGB"), "RGBa": ("RGBA", "RGBA")}[mode]
            image = Image.frombytes(raw[0], pixels.shape[1::-1], pixels.tobytes(), "raw", mode)
            pixels = np.asarray(image.convert(raw[1]))
        pixels = pixels[..., : self.shape[2]]
        if int(page.photometric) == _WHITE_IS_ZERO:
            pixels = (255 if mode == "1" else self._high) - pixels
        return np.ascontiguousarray(pixels)

    def _read_plain(self, start: int, stop: int) -> NDArray[Any]:
        width, depth = self.shape[1], self._depth
        row = width * depth * self._stored.itemsize
        self._file.filehandle.seek(self._page.dataoffsets[0] + start * row)
        data = self._file.filehandle.read((stop - start) * row)
        stored = self._stored.newbyteorder(self._file.byteorder)
        return np.frombuffer(data, stored).reshape(stop - start, width, depth).astype(self._stored, copy=False)

    def _decode(self, start: int, stop: int) -> NDArray[Any]:
        width, depth, page = self.shape[1], self._depth, self._page
        out = np.zeros((stop - start, width, depth), self._stored)
        wide = int(page.tilewidth) if page.is_tiled else width
        high = int(page.tilelength if page.is_tiled else page.rowsperstrip)
        across, down, planes = self._grid()
        for plane, i, j in product(range(planes), range(start // high, -(-stop // high)), range(across)):
            segment = self._segment((plane * down + i) * across + j)
            top, left = i * high, j * wide
            if segment.shape[0] < min(high, self.shape[0] - top) or segment.shape[1] < min(wide, width - left):
                raise ImageError(f"the strip or tile at row {top}, column {left} is smaller than declared; it is damaged")
            first, last = max(start, top), min(stop, top + segment.shape[0])
            piece = segment[first - top : last - top, : width - left]
            target = out[first - start : last - start, left : left + piece.shape[1]]
            if planes > 1:
                target[..., plane] = piece[..., 0]
            else:
                target[...] = piece
        return out

    def _segment(self, index: int) -> NDArray[Any]:
        page = self._page
        self._file.filehandle.seek(page.dataoffsets[index])
        data = self._file.filehandle.read(page.databytecounts[index])  # before `decode` is looked up: it may move the place
        if int(page.compression) == _JPEG and page.jpegheader is None and not has_end(data):  # the decoder would fill in grey
            raise ImageError(f"strip or tile {index} has no end; it was cut off")
        if int(page.compression) in _IMAGES:
            wide = int(page.tilewidth) if page.is_tiled else self.shape[1]
            refuse_larger(page.jpegheader or data, (wide, int(page.tilelength if page.is_tiled else self.shape[0])))
        if int(page.compression) in _JPEG_2000:
            refuse_other_bits(data, int(page.bitspersample))
        decoded = page.decode(data, index, jpegtables=page.jpegtables, jpegheader=page.jpegheader)[0]
        if decoded is None:
            raise ImageError(f"strip or tile {index} holds no pixels")
        return np.asarray(decoded[0])


def read_tiff(path: Path, reading: Reading) -> Picture:
    """Read one level of a TIFF file as a whole; 16-bit and float pixels stay what they are.

    Args:
        path: The file.
        reading: The options of reading.

    Returns:
        The pixels, their range and the colour profile.

    Raises:
        HugeError: If it has more than ``reading.max_pixels`` pixels.
        ImageError: If it is damaged or not accepted; see :class:`TiffStrips`.
    """
    with TiffStrips(path, reading) as source:
        refuse_huge_shape(source.shape, reading.max_pixels)
        pixels = turn_upright(source.rows(0, source.shape[0]), source.orientation)
        return Picture(pixels[..., 0] if pixels.shape[-1] == 1 else pixels, source.data_range, source.icc)


def encode_tiff(pixels: NDArray[Any], icc: bytes | None = None) -> bytes:
    """Encode pixels (H, W) or (H, W, C) losslessly, with nothing else in the file but a profile if one is given.

    Args:
        pixels: The pixels, (H, W) or (H, W, C).
        icc: The colour profile to store; None: none.

    Returns:
        The bytes of the file.

    Raises:
        ImageError: If the pixels are neither unsigned integers of 8 or 16 bits nor floats, or have other than 1, 3 or 4 channels.

    Example:
        >>> encode_tiff(np.zeros((2, 3, 3), np.uint16))[:2]
        b'II'
    """
    import tifffile

    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    if depth not in (1, 3, 4) or pixels.dtype.kind not in "uf" or pixels.dtype.itemsize > 8:
        raise ImageError(f"TIFF cannot hold {depth} channel(s) of {pixels.dtype} here; write a .npy instead")
    buffer = io.BytesIO()
    with tifffile.TiffWriter(buffer, byteorder="<") as writer:
        writer.write(pixels, iccprofile=icc, compression="zlib", maxworkers=1, **_facts(pixels.shape))
    return buffer.getvalue()


def write_tiff(path: Path, bands: Iterator[NDArray[Any]], like: Strips, *, pyramid: bool = False) -> None:
    """Write bands of rows as a tiled TIFF, compressed if ``like`` was; ``pyramid`` adds levels of half the size each.

    Args:
        path: The file.
        bands: The rows of the image, from top to bottom.
        like: An image of the same shape and dtype.
        pyramid: Whether smaller levels are added.
    """
    import tifffile

    size = like.shape[0] * like.shape[1] * like.shape[2] * like.dtype.itemsize
    facts = _facts(like.shape) | {"tile": (TILE, TILE), "compression": "zlib" if like.packed else None, "maxworkers": 1}
    big = size * 4 // 3 > _CLASSIC
    with (
        Spool(path.parent, like.shape, like.dtype, enabled=pyramid) as spool,
        tifffile.TiffWriter(path, bigtiff=big) as writer,
    ):
        tiles, shape = split_tiles(spool.through(bands)), _file_shape(like.shape)
        writer.write(tiles, shape=shape, dtype=like.dtype, subifds=spool.count, **facts)
        for level, rows in spool.levels():
            writer.write(split_tiles(rows), shape=_file_shape(level), dtype=like.dtype, subfiletype=1, **facts)


def split_tiles(bands: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield square tiles, left to right and top to bottom, from bands of any height; edges are filled with zeros.

    Args:
        bands: Rows of the image, from top to bottom.

    Yields:
        Tiles.
    """
    pending: list[NDArray[Any]] = []
    waiting = 0
    for band in bands:
        pending.append(band)
        waiting += len(band)
        if waiting >= TILE:
            block = np.concatenate(pending) if len(pending) > 1 else pending[0]
            complete = waiting // TILE * TILE
            for start in range(0, complete, TILE):
                yield from _row_of_tiles(block[start : start + TILE])
            pending, waiting = [block[complete:]], waiting - complete
    if waiting:
        yield from _row_of_tiles(np.concatenate(pending))


def _row_of_tiles(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for left in range(0, rows.shape[1], TILE):
        piece = rows[:, left : left + TILE]
        if piece.shape[:2] == (TILE, TILE):
            yield np.ascontiguousarray(piece)
            continue
        full = np.zeros((TILE, TILE, rows.shape[2]), rows.dtype)
        full[: piece.shape[0], : piece.shape[1]] = piece
        yield full


def _file_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as tifffile takes it: (H, W, 1) would be H images of one column."""
    return shape[:2] if shape[2] == 1 else shape


def _facts(shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the tags of a file: how to show its pixels, and nothing else."""
    depth = shape[2] if len(shape) == 3 else 1
    alpha = {"extrasamples": ["unassalpha"]} if depth == 4 else {}
    colour = "rgb" if depth in (3, 4) else "minisblack"
    planar = {"planarconfig": "contig"} if depth > 1 else {}
    return {"photometric": colour, "metadata": None, "software": False, "datetime": None, **alpha, **planar}


def _refuse_endless(file: Any) -> None:
    """Raise ImageError if the chain of directories returns to one of its own, or there are more than any image has."""
    first = file.pages.first
    form, handle, offset = file.tiff, file.filehandle, int(first.offset)
    seen: set[int] = set()
    while offset:
        if offset in seen or len(seen) + len(first.subifds or ()) > _MOST_DIRECTORIES:
            raise ImageError(
                f"its directories form a circle, or are more than {_MOST_DIRECTORIES:,}; expected is one image, or its levels"
            )
        seen.add(offset)
        try:
            handle.seek(offset)
            (tags,) = struct.unpack(form.tagnoformat, handle.read(form.tagnosize))
            handle.seek(offset + form.tagnosize + tags * form.tagsize)
            (offset,) = struct.unpack(form.offsetformat, handle.read(form.offsetsize))
        except (struct.error, OSError, OverflowError) as error:  # tifffile would take the last bytes of the file for an address
            raise ImageError("one of its directories leaves the file; it is cut off or damaged") from error


def _level_of(file: Any, level: int) -> tuple[Any, str]:
    """Return the page of one level of the first image, and the order of its axes."""
    series = file.series[0]
    levels = series.levels
    if not 0 <= level < len(levels):
        raise ImageError(f"it has {len(levels)} level(s), and level {level} was asked for")
    series = levels[level]
    if len(series.pages) != 1:
        raise ImageError("it holds several pages of the same size; save them as one file each, or as a .npy stack")
    axes = str(series.axes)
    if axes not in _AXES:
        raise ImageError(f"its axes are {axes}; one image of grey or colour is expected")
    return series.keyframe, axes


def _mode_of(page: Any) -> str:
    """Return how colours are stored, by Pillow's names; "" for grey, RGB and RGBA as they are read."""
    photometric, depth, bits = int(page.photometric), int(page.samplesperpixel), int(page.bitspersample)
    kind = "" if page.dtype is None else np.dtype(page.dtype).kind
    extra = [int(sample) for sample in page.extrasamples]
    modes = {
        "1": photometric in (_GREY, _WHITE_IS_ZERO) and (depth, bits) == (1, 1),
        "P": photometric == _PALETTE and depth == 1 and bits <= 8,
        "CMYK": (photometric, depth, bits) == (_CMYK, 4, 8),
        "LA": (photometric, depth) == (_GREY, 2),
        "RGBa": (photometric, depth, bits, extra) == (_RGB, 4, 8, [_ASSOCIATED_ALPHA]),
        "RGBX": (photometric, depth, extra) == (_RGB, 4, [_UNSPECIFIED]),
    }
    mode = next((name for name, is_so in modes.items() if is_so), "")
    if mode:
        return mode
    is_accepted = photometric in (_GREY, _RGB) or (photometric, int(page.compression)) == (_YCBCR, _JPEG)
    is_accepted |= photometric == _WHITE_IS_ZERO and depth == 1 and kind == "u"
    if not is_accepted or not kind or bits < 8 or extra == [_ASSOCIATED_ALPHA]:
        raise ImageError(
            f"its colours are stored as {page.photometric!s}, {depth} channel(s) of {bits} bits; accepted are grey and RGB of 8 "
            "bits or more, without colours multiplied by alpha. Convert it first."
        )
    return ""


def _refuse_outside_file(starts: Any, lengths: Any, size: int) -> None:
    """Raise ImageError if a declared strip or tile lies outside the file: a file that is cut off is noticed before decoding."""
    ends = np.asarray(starts, np.float64).ravel() + np.asarray(lengths, np.float64).ravel()
    if not ends.size:
        raise ImageError("it declares no strips or tiles")
    if ends.max() > size:
        raise ImageError(f"it declares pixels up to byte {int(ends.max()):,} and has only {size:,}; it is cut off")
