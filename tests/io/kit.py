"""Images and files that the tests of io share."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.commands import picture

Pixels = NDArray[Any]
SECRETS = (b"Jane Q. Patient", b"GPSMARK", b"SECRETCOMMENT")


def sixteen(seed: int = 0, depth: int = 3) -> NDArray[np.uint16]:
    """Noise over all 16 bits, not square."""
    return np.random.default_rng(seed).integers(0, 65536, (31, 23, depth)).astype(np.uint16)


def save(path: Path, pixels: Pixels, **options: Any) -> Path:
    """Save pixels through Pillow."""
    Image.fromarray(pixels).save(path, **options)
    return path


def save_bytes(form: str, pixels: Pixels | None = None, **options: Any) -> bytes:
    """Encode pixels through Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(picture() if pixels is None else pixels).save(buffer, form, **options)
    return buffer.getvalue()


def save_tiff(path: Path, pixels: Pixels, **options: Any) -> Path:
    """Save pixels through tifffile."""
    import tifffile

    if options.get("compression") not in (None, "zlib"):
        pytest.importorskip("imagecodecs")
    tifffile.imwrite(path, pixels, **options)
    return path


def exif(orientation: int) -> Image.Exif:
    """An EXIF block with an orientation."""
    block = Image.Exif()
    block[0x0112] = orientation
    return block


def profile() -> bytes:
    """A real colour profile."""
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
