"""What the headers of compressed images declare, read before they are decoded; also of frames inside other files."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from recolorist.errors import ImageError

__all__ = [
    "Codestream",
    "codestream_of",
    "frame_size",
    "refuse_larger",
    "refuse_long_runs",
    "refuse_missing_tiles",
    "refuse_other_bits",
    "webp_header",
]

_CODESTREAM: Final = b"\xff\x4f\xff\x51"  # the first two markers of a JPEG 2000 image: SOC and SIZ
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC})  # every way to code one, JPEG-LS included
_TILE_PART, _END, _SHORTEST_PART = 0xFF90, 0xFFD9, 14
_MCU: Final = 16  # JPEG is coded in squares of up to this side, to which some writers round up
_ANIMATED: Final = 0x02
_RLE_HEADER: Final = struct.Struct("<16I")  # how many segments there are, and where each begins
_MOST_RUN: Final = 64  # bytes that a byte of run lengths unpacks to
_SPARE: Final = 64 << 20  # bytes that a segment may unpack to in excess without being counted first


class Codestream(NamedTuple):
    """What the header of a JPEG 2000 image says.

    Attributes:
        size: Width and height.
        bits: Bits of each component.
        is_signed: Whether any component is signed.
        is_subsampled: Whether any component is smaller than the image.
        tiles: How many tiles cover the image.
        start: Where the headers that follow begin.
    """

    size: tuple[int, int]
    bits: tuple[int, ...]
    is_signed: bool
    is_subsampled: bool
    tiles: int
    start: int


def frame_size(data: bytes) -> tuple[int, int] | None:
    r"""Return the width and height that a JPEG, JPEG-LS, JPEG 2000, PNG or WebP declares.

    Args:
        data: The frame.

    Returns:
        Width and height; None if it is of another kind, or its header is cut off.

    Example:
        >>> frame_size(b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x04\x00\x05\x03" + bytes(9)), frame_size(b"something else")
        ((5, 4), None)
    """
    try:
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        if data.startswith(_PNG):
            width, height = struct.unpack_from(">II", data, 16)
            return width, height
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return webp_header(data)[:2]
        return codestream_of(data).size if _CODESTREAM in data[:4096] else None
    except (struct.error, ImageError):
        return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    position = 2
    while True:
        start, marker, length = struct.unpack_from(">BBH", data, position)
        if start != 0xFF:
            return None
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        position += 1 if marker == 0xFF else 2 + length  # bytes of 0xFF may fill the place before a marker


def webp_header(data: bytes) -> tuple[int, int, bool]:
    """Return width, height and whether a WebP file is animated, as its first chunk says.

    Args:
        data: The file.

    Returns:
        Width, height, and whether it is animated.

    Raises:
        ImageError: The header is cut off.
    """
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise ImageError("its header is cut off; fetch it again")
    if kind == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1, bool(body[0] & _ANIMATED)
    if kind == b"VP8L":
        packed = int.from_bytes(body[1:5], "little")
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1, False
    width, height = struct.unpack_from("<HH", body, 6)
    return width & 0x3FFF, height & 0x3FFF, False


def codestream_of(data: bytes) -> Codestream:
    """Read the header of a JPEG 2000 image.

    Args:
        data: The file or frame.

    Returns:
        What the header says.

    Raises:
        ImageError: The header is cut off or makes no sense.
    """
    start = data.find(_CODESTREAM) + len(_CODESTREAM)
    try:
        length, _, right, bottom, left, top, wide, high, across, down, count = struct.unpack_from(">HH8IH", data, start)
        parts = [struct.unpack_from(">BBB", data, start + 38 + 3 * number) for number in range(count)]
    except struct.error:
        raise ImageError("its header is cut off; fetch it again") from None
    if not (wide and high and parts and left < right and top < bottom and across <= left and down <= top):
        raise ImageError("its header declares no tiles that cover it; it is damaged")
    return Codestream(
        (right - left, bottom - top),
        tuple((depth & 0x7F) + 1 for depth, _, _ in parts),
        any(depth & 0x80 for depth, _, _ in parts),
        any((across_step, down_step) != (1, 1) for _, across_step, down_step in parts),
        -(-(right - across) // wide) * -(-(bottom - down) // high),
        start + length,
    )


def refuse_larger(data: bytes, most: tuple[int, int]) -> None:
    """Refuse a frame inside another file whose own header declares more pixels than its place has, before it is decoded.

    Args:
        data: The frame.
        most: Width and height of its place.

    Raises:
        ImageError: It is larger, or does not say its size.
    """
    size = frame_size(data)
    if size is None:
        raise ImageError("its strips or tiles are compressed in a way whose size cannot be checked; save it with deflate")
    if size[0] > most[0] + _MCU or size[1] > most[1] + _MCU:
        raise ImageError(f"a tile of {most[0]} x {most[1]} pixels holds an image of {size[0]} x {size[1]}; it is damaged")


def refuse_long_runs(data: bytes, pixels: int) -> None:
    """Refuse a DICOM frame of run lengths that would unpack to far more bytes than it has pixels, before it is decoded.

    Args:
        data: The frame.
        pixels: Pixels of the frame; each segment holds one byte of each.

    Raises:
        ImageError: A segment holds more, or the header is cut off.
    """
    try:
        count, *starts = _RLE_HEADER.unpack_from(data)
    except struct.error:
        raise ImageError("the header of its run lengths is cut off; fetch it again") from None
    starts = starts[:count]
    for start, stop in zip(starts, [*starts[1:], len(data)], strict=True):
        if _MOST_RUN * (stop - start) > pixels + _SPARE and _exceeds(data, start, stop, pixels + _SPARE):
            raise ImageError(f"its run lengths unpack to over {pixels + _SPARE:,} bytes for {pixels:,} pixels; it is damaged")


def _exceeds(data: bytes, start: int, stop: int, most: int) -> bool:
    """Return whether PackBits unpacks to more bytes than allowed; nothing is unpacked."""
    total = 0
    while start < stop and total <= most:
        head = data[start]
        total += head + 1 if head < 128 else 257 - head
        start += head + 2 if head < 128 else 2
    return total > most


def refuse_missing_tiles(data: bytes, header: Codestream) -> None:
    """Refuse a JPEG 2000 image without some of its tiles, which decoders fill with black.

    Args:
        data: The file or frame.
        header: What `codestream_of` returned for it.

    Raises:
        ImageError: Tiles are missing.
    """
    found: set[int] = set()
    position = header.start
    try:
        while True:
            marker, length = struct.unpack_from(">HH", data, position)
            if marker == _END:
                break
            if marker != _TILE_PART:
                position += 2 + length
                continue
            tile, size = struct.unpack_from(">HI", data, position + 4)
            found.add(tile)
            if size < _SHORTEST_PART:  # 0: it goes on to the end
                break
            position += size
    except struct.error:  # the end marker has no length after it
        pass
    if len(found) < header.tiles:
        raise ImageError(f"it holds {len(found):,} tiles, and {header.tiles:,} would cover it; it is damaged, fetch it again")


def refuse_other_bits(data: bytes, bits: int) -> None:
    """Refuse a JPEG 2000 frame inside another file if it lacks tiles, or has other bits than the file declares.

    Args:
        data: The frame.
        bits: What the file around it declares.

    Raises:
        ImageError: Tiles are missing, or the scale of the values is not the declared one.
    """
    header = codestream_of(data)
    refuse_missing_tiles(data, header)
    if set(header.bits) != {bits} or header.is_signed:
        kind = "signed components" if header.is_signed else "components"
        raise ImageError(f"it declares {bits} bits, and the JPEG 2000 frame in it has {kind} of {header.bits[0]} bits")
