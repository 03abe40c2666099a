"""PNG through Pillow; 16-bit colour, which Pillow cannot hold, through imagecodecs."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL.PngImagePlugin import PngImageFile

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.pillow import encode_image, pixels_of, read_orientation, turn_upright
from recolorist.io.reading import Picture, Reading, refuse_huge

__all__ = ["encode_png", "read_png"]

_END: Final = b"IEND\xaeB`\x82"
_AFTER_HEADER: Final = 33  # signature and IHDR
_LEVEL: Final = 6  # of compression
_SAMPLES: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type
_ADAM7: Final = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))  # its passes
_PIECE: Final = 1 << 20


def read_png(data: bytes, reading: Reading) -> Picture:
    """Decode a PNG file; 16-bit files stay 16-bit.

    The class is called directly: `Image.open` would look for other formats and apply its own limit.

    Args:
        data: The bytes of the file.
        reading: The options of reading.

    Returns:
        The pixels and the colour profile.

    Raises:
        ImageError: If the file is damaged, cut off or has a mode that is not accepted.
        MissingExtraError: If it has 16-bit colour and imagecodecs is not installed.
    """
    image = PngImageFile(io.BytesIO(data))
    refuse_huge(image.width * image.height, reading.max_pixels)
    if _END not in data[-64:] and _END not in data:  # Pillow reads some files that lack their end
        raise ImageError("its end is missing; it was cut off, fetch it again")
    if "16B" in str(image.tile[0][3]) and image.mode not in ("I;16", "I"):
        pixels = _read_sixteen_bits(image, data)
    else:
        image.load()
        is_interlaced, corner = data[28], image.getpixel((image.width - 1, image.height - 1))
        if is_interlaced or not np.any(corner):  # else the last row was decoded, and so were all before it
            _refuse_missing_rows(data)
        pixels = pixels_of(image, reading)
    pixels = turn_upright(pixels, read_orientation(image.info.get("exif", b"")))
    return Picture(pixels, reading.range_of(pixels.dtype), image.info.get("icc_profile"))


def encode_png(pixels: NDArray[Any], icc: bytes | None = None) -> bytes:
    r"""Encode pixels (H, W) or (H, W, C) of 8 or 16 bits, with nothing else in the file but a profile if one is given.

    Args:
        pixels: The pixels, (H, W) or (H, W, C).
        icc: The colour profile to store; None: none.

    Returns:
        The bytes of the file.

    Example:
        >>> encode_png(np.zeros((2, 3, 3), np.uint8))[:8]
        b'\x89PNG\r\n\x1a\n'
    """
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if pixels.dtype == np.uint16 and pixels.ndim == 3:
        return _encode_sixteen_bits(pixels, icc)
    profile = {} if icc is None else {"icc_profile": icc}
    return encode_image(pixels, "PNG", (1, 3, 4), ("uint8", "uint16"), **profile)


def _refuse_missing_rows(data: bytes) -> None:
    """Refuse a file with fewer rows than it declares, which Pillow would leave black."""
    width, height, bits, colour, _, _, is_interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    depth = bits * _SAMPLES[colour]
    passes = _ADAM7 if is_interlaced else ((0, 0, 1, 1),)
    sizes = [(-(-(width - left) // across), -(-(height - top) // down)) for left, top, across, down in passes]
    needed = sum(rows * (1 + -(-columns * depth // 8)) for columns, rows in sizes if columns > 0 and rows > 0)
    unpacker, position, found = zlib.decompressobj(), 8, 0
    while position < len(data) and found < needed and not unpacker.eof:
        length, kind = struct.unpack_from(">I4s", data, position)
        packed = data[position + 8 : position + 8 + length] if kind == b"IDAT" else b""
        while packed and found < needed and not unpacker.eof:
            found += len(unpacker.decompress(packed, _PIECE))
            packed = unpacker.unconsumed_tail
        position += 12 + length
    if found < needed:
        raise ImageError(f"it holds {found:,} bytes of rows, and {needed:,} would cover it; it is damaged")


def _read_sixteen_bits(image: PngImageFile, data: bytes) -> NDArray[np.uint16]:
    if image.mode not in ("RGB", "RGBA") or image.tile[0][3] not in ("RGB;16B", "RGBA;16B"):
        raise ImageError("it is a 16-bit PNG of grey with alpha; accepted are grey, RGB and RGBA")
    imagecodecs = optional.load("imagecodecs", "read PNG files with 16-bit colour")
    return np.asarray(imagecodecs.png_decode(data), np.uint16)


def _encode_sixteen_bits(pixels: NDArray[Any], icc: bytes | None) -> bytes:
    if pixels.shape[2] not in (3, 4):
        raise ImageError(f"PNG cannot hold {pixels.shape[2]} channels; write a .tif or .npy instead")
    imagecodecs = optional.load("imagecodecs", "write PNG files with 16-bit colour")
    data = bytes(imagecodecs.png_encode(np.ascontiguousarray(pixels, np.uint16), level=_LEVEL))
    return data if icc is None else data[:_AFTER_HEADER] + _profile_chunk(icc) + data[_AFTER_HEADER:]


def _profile_chunk(icc: bytes) -> bytes:
    """Build the chunk that holds a profile, for which imagecodecs has no option."""
    body = b"iCCPicc\0\0" + zlib.compress(icc)
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
