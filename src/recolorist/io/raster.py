"""BMP, GIF, WebP and JPEG 2000 through Pillow; JPEG 2000 of more than 8 bits, which Pillow would scale, through imagecodecs."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.Jpeg2KImagePlugin import Jpeg2KImageFile
from PIL.WebPImagePlugin import WebPImageFile

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.frames import Codestream, codestream_of, refuse_missing_tiles, webp_header
from recolorist.io.pillow import pixels_of, read_orientation, turn_upright
from recolorist.io.reading import Picture, Reading, refuse_huge

__all__ = ["RASTER_FORMATS", "read_raster"]

_COLOUR_BOX: Final = b"colr\x01"  # a JP2 box that names the colour space by number
_YCC: Final = 18


def read_raster(data: bytes, form: str, reading: Reading) -> Picture:
    """Decode a file of one of the formats, upright. The limit of pixels is applied to the header.

    Args:
        data: The bytes of the file.
        form: A key of `RASTER_FORMATS`.
        reading: The options.

    Returns:
        The pixels, their range and the colour profile.

    Raises:
        ImageError: If the file is damaged, cut off, animated (WebP) or has a mode that is not accepted.
        MissingExtraError: If JPEG 2000 has more than 8 bits and imagecodecs is not installed.

    Example:
        >>> buffer = io.BytesIO()
        >>> Image.new("RGB", (5, 4), "red").save(buffer, "BMP")
        >>> read_raster(buffer.getvalue(), "BMP", Reading()).pixels.shape
        (4, 5, 3)
    """
    return RASTER_FORMATS[form](data, reading)


def _read_bmp(data: bytes, reading: Reading) -> Picture:
    image = BmpImageFile(io.BytesIO(data))
    refuse_huge(image.width * image.height, reading.max_pixels)
    if image.tile[0][0] == "bmp_rle":  # runs may leave pixels out, which Pillow fills with the first colour
        raise ImageError("it is a BMP compressed by run lengths, which may leave pixels out; save it without compression")
    return Picture(pixels_of(image, reading), None, image.info.get("icc_profile"))


def _read_gif(data: bytes, reading: Reading) -> Picture:
    """Decode the first frame. Every GIF has a palette, so that it needs no leave to become grey, RGB or RGBA."""
    file = GifImageFile(io.BytesIO(data))
    image: Image.Image = file
    refuse_huge(image.width * image.height, reading.max_pixels)
    if file.tile and file.tile[0][1] != (0, 0, *image.size):
        raise ImageError(f"its first frame does not cover its {image.width} x {image.height} pixels; save the frame by itself")
    if image.mode == "P":
        palette = np.array(image.getpalette("RGB")).reshape(-1, 3)
        is_grey = bool((palette == palette[:, :1]).all()) and "transparency" not in image.info
        image = image.convert("L" if is_grey else "RGBA" if "transparency" in image.info else "RGB")
    return Picture(pixels_of(image, reading), None, image.info.get("icc_profile"))


def _read_webp(data: bytes, reading: Reading) -> Picture:
    width, height, is_animated = webp_header(data)
    refuse_huge(width * height, reading.max_pixels)  # Pillow reserves memory for the canvas when it opens the file
    if is_animated:
        raise ImageError("it is an animated WebP; save the one frame you mean as a file of its own")
    image = WebPImageFile(io.BytesIO(data))
    refuse_huge(image.width * image.height, reading.max_pixels)
    pixels = turn_upright(pixels_of(image, reading), read_orientation(image.info.get("exif", b"")))
    return Picture(pixels, None, image.info.get("icc_profile"))


def _read_jpeg_2000(data: bytes, reading: Reading) -> Picture:
    image = Jpeg2KImageFile(io.BytesIO(data))
    refuse_huge(image.width * image.height, reading.max_pixels)
    components = codestream_of(data)
    if components.is_signed:
        raise ImageError("its pixels are signed; shift them to start at 0 first, saying what zero means")
    refuse_missing_tiles(data, components)
    icc = image.info.get("icc_profile")
    if max(components.bits) <= 8:
        return Picture(pixels_of(image, reading), None, icc)
    pixels = _deep_pixels(data, components)
    natural = None if components.bits[0] == 16 else float(2 ** components.bits[0] - 1)
    return Picture(pixels, natural if reading.bits is None else reading.range_of(pixels.dtype), icc)


def _deep_pixels(data: bytes, components: Codestream) -> NDArray[np.uint16]:
    """Decode 9 to 16 bits as they are stored."""
    box = data.find(_COLOUR_BOX)
    space = int.from_bytes(data[box + 7 : box + 11], "big") if box >= 0 else None
    bits = components.bits
    if len(set(bits)) > 1 or len(bits) not in (1, 3, 4) or components.is_subsampled or space == _YCC or bits[0] > 16:
        raise ImageError(
            f"its components have {', '.join(map(str, bits))} bits; of more than 8 bits, only grey, RGB and RGBA with equal "
            "components are read. Save it as TIFF or 16-bit PNG"
        )
    imagecodecs = optional.load("imagecodecs", "read JPEG 2000 files of more than 8 bits")
    return np.asarray(imagecodecs.jpeg2k_decode(data), np.uint16)


#: The formats of this module, and how each is read.
RASTER_FORMATS: Final[dict[str, Callable[[bytes, Reading], Picture]]] = {
    "BMP": _read_bmp,
    "GIF": _read_gif,
    "WEBP": _read_webp,
    "JPEG2000": _read_jpeg_2000,
}
