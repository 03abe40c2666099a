"""PNG, JPEG and TIFF through Pillow. One decoder is offered per file, the size is checked first, 16 bits stay 16 bits."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from recolorist.errors import ImageError
from recolorist.io.images import Picture, Reading, refuse_dtype, refuse_huge
from recolorist.io.jpeg import read_plain_jpeg

_PLAIN: Final = ("L", "RGB", "RGBA", "I;16", "I;16B", "F")
_CONVERTED: Final = {"1": "L", "LA": "L", "P": "RGB", "PA": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "LAB": "RGB"}
_END_OF_PNG: Final = b"IEND\xaeB`\x82"
_ORIENTATION: Final = 0x0112
_COMPRESSED: Final = {"PNG": PngImageFile, "JPEG": JpegImageFile}
_BITS, _OFFSETS, _COUNTS, _FORMAT = 258, (273, 324), (279, 325), 339  # TIFF tags


def read_compressed(data: bytes, form: str, reading: Reading) -> Picture:
    """PNG or JPEG from bytes. The class is called directly: `Image.open` would look for other formats and apply its own limit."""
    if form == "JPEG" and _ends_like_jpeg(data):
        plain = read_plain_jpeg(data, reading.max_pixels)
        if plain is not None:
            return Picture(plain)
    image: ImageFile.ImageFile = _COMPRESSED[form](io.BytesIO(data))
    refuse_huge(image.width * image.height, reading.max_pixels)
    _refuse_cut_off(data, form)
    if form == "PNG" and "16B" in str(image.tile[0][3]) and image.mode not in ("I;16", "I"):
        pixels = _sixteen_bits(image, data)
    else:
        pixels = pixels_of(image, reading)
    pixels = upright(pixels, orientation_of(image.info.get("exif", b"")))
    return Picture(pixels, reading.range_of(pixels.dtype), image.info.get("icc_profile"))


def read_tiff(path: Path, reading: Reading) -> Picture:
    """TIFF: what Pillow keeps exactly through Pillow, the rest (16-bit colour, floats in colour) through tifffile."""
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("error")  # Pillow only warns of directories that are cut off
        try:
            image = TiffImageFile(file)
        except SyntaxError as error:
            if "pixel mode" not in str(error):
                raise
            return _through_tifffile(path, reading)  # floats in colour, signed pixels: Pillow has no mode for them
        refuse_huge(image.width * image.height, reading.max_pixels)
        refuse_outside_file(*_places(image.tag_v2), path.stat().st_size)
        _refuse_stack(image)
        if reading.level or not _exact_in_pillow(image):
            return _through_tifffile(path, reading)
        pixels = pixels_of(image, reading)  # Pillow turns TIFFs upright while loading
        return Picture(pixels, reading.range_of(pixels.dtype), image.info.get("icc_profile"))


def _through_tifffile(path: Path, reading: Reading) -> Picture:
    from recolorist.io.strips_tiff import read_whole

    return read_whole(path, reading)


def pixels_of(image: Image.Image, reading: Reading) -> NDArray[Any]:
    """The pixels of an opened image in a mode that is accepted."""
    if image.mode == "I" and image.format == "PNG":  # 16-bit grey in older Pillows
        return np.asarray(image).astype(np.uint16)
    if image.mode not in _PLAIN:
        if not reading.convert or image.mode not in _CONVERTED:
            hint = "pass convert (--convert) to turn it into grey or RGB" if image.mode in _CONVERTED else "convert it first"
            raise ImageError(f"it has mode {image.mode!r}; accepted are grey, RGB and RGBA: {hint}")
        image = image.convert(_CONVERTED[image.mode])
    pixels = np.asarray(image)
    refuse_dtype(pixels.dtype)
    return pixels


def orientation_of(exif: bytes) -> int:
    r"""The orientation (1 to 8) in an EXIF block; 1 where it says nothing or nonsense.

    >>> orientation_of(b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0")
    6
    """
    block = exif.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}4xI", block)
        (count,) = struct.unpack_from(f"{order}H", block, start)
        for place in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", block, place)
            if tag == _ORIENTATION and kind == 3:
                return int(value) if 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1


def upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Undo the orientation of the camera.

    >>> upright(np.array([[1, 2]], np.uint8), 6).tolist()
    [[1], [2]]
    """
    if orientation == 1:
        return pixels
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def refuse_outside_file(starts: Any, lengths: Any, size: int) -> None:
    """Every strip or tile a TIFF declares must lie inside the file: a cut-off one is noticed before it is decoded."""
    ends = np.asarray(starts, np.float64).ravel() + np.asarray(lengths, np.float64).ravel()
    if not ends.size:
        raise ImageError("it declares no strips or tiles")
    if ends.max() > size:
        raise ImageError(f"it declares pixels up to byte {int(ends.max()):,} and has only {size:,}; it is cut off")


def _places(tags: Any) -> tuple[Any, Any]:
    """Where the strips or tiles begin, and how long they are."""
    pairs = ((tags.get(offsets), tags.get(counts)) for offsets, counts in zip(_OFFSETS, _COUNTS, strict=True))
    return next((pair for pair in pairs if None not in pair), ((), ()))


def _refuse_cut_off(data: bytes, form: str) -> None:
    """Pillow reads some files that lack their end; a file that is not whole is an error here."""
    whole = _END_OF_PNG in data[-64:] or _END_OF_PNG in data if form == "PNG" else _ends_like_jpeg(data)
    if not whole:
        raise ImageError("its end is missing; it was cut off, fetch it again")


def _ends_like_jpeg(data: bytes) -> bool:
    """The end marker after the last scan began; a thumbnail's own end marker comes before."""
    return data.endswith(b"\xff\xd9") or data.rfind(b"\xff\xd9") > data.rfind(b"\xff\xda")


def _sixteen_bits(image: ImageFile.ImageFile, data: bytes) -> NDArray[np.uint16]:
    """16-bit colour PNG, of which Pillow keeps the upper bytes: read once for those and once, as little-endian, for the lower."""
    if image.mode not in ("RGB", "RGBA") or image.tile[0][3] not in ("RGB;16B", "RGBA;16B"):
        raise ImageError("it is a 16-bit PNG of grey with alpha; accepted are grey, RGB and RGBA")
    upper = np.asarray(image)
    again = PngImageFile(io.BytesIO(data))
    codec, extents, offset, layout = again.tile[0]
    other: Any = (codec, extents, offset, str(layout).replace("16B", "16L"))
    again.tile = [other if type(again.tile[0]) is tuple else type(again.tile[0])(*other)]  # a plain tuple in older Pillows
    joined: NDArray[np.uint16] = (upper.astype(np.uint16) << 8) | np.asarray(again)
    return joined


def _exact_in_pillow(image: TiffImageFile) -> bool:
    bits = np.ravel(image.tag_v2.get(_BITS, (1,)))
    signed = 2 in np.ravel(image.tag_v2.get(_FORMAT, (1,)))
    return not signed and bool((bits <= 8).all() or image.mode in ("I;16", "I;16B", "F"))


def _refuse_stack(image: TiffImageFile) -> None:
    """Smaller pages are the levels of a pyramid or a label; a second page of the same size makes it a stack."""
    size = image.size
    try:
        image.seek(1)
    except EOFError:
        return
    second = image.size
    image.seek(0)
    if second == size:
        raise ImageError("it holds several pages of the same size; save them as one file each, or as a .npy stack")
