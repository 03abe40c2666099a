"""Reading image files: few formats, a limit of our own before decoding, orientation applied, metadata left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError

MAX_PIXELS: Final = 89_478_485  # a quarter of a gibibyte of RGB; larger files are meant to go through in strips
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
_FORMATS: Final = ("PNG", "JPEG", "TIFF")


def read_image(path: str | Path, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """Decode one file to an array; whatever goes wrong is an :class:`ImageError` that names the file.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (5, 4), "red").save(f"{folder}/a.png")
    ...     read_image(f"{folder}/a.png").shape
    (4, 5, 3)
    """
    from PIL import Image, ImageOps  # loaded on first use: `import recolorist` needs NumPy only

    try:
        with Image.open(path, formats=_FORMATS) as image:
            _refuse_huge(image.width * image.height, path, max_pixels)
            upright = ImageOps.exif_transpose(image)
            _refuse_mode(upright.mode, path)
            return np.asarray(upright)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"{path} cannot be read as PNG, JPEG or TIFF: {error}") from error


def list_images(folder: str | Path) -> list[Path]:
    """Image files below a folder, sorted by path; links out of it are not followed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_images(folder)
    []
    """
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"{folder} is not a folder; give one with PNG, JPEG or TIFF files in it")
    inside = root.resolve()
    found = (path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(path for path in found if path.resolve().is_relative_to(inside))


def _refuse_mode(mode: str, path: str | Path) -> None:
    if mode not in ("L", "RGB", "RGBA", "I;16", "I;16B", "F"):
        raise ImageError(f"{path} has mode {mode!r}; accepted are grey, RGB and RGBA. Convert it knowingly first.")


def _refuse_huge(pixels: int, path: str | Path, limit: int) -> None:
    if pixels > limit:
        raise ImageError(f"{path} declares {pixels:,} pixels, over the limit of {limit:,}; raise max_pixels if you trust it")
