"""Photographs that come with scikit-image, for the demonstration and the Studio."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.errors import RecoloristError

__all__ = ["other_camera", "photo"]

Bytes: TypeAlias = NDArray[np.uint8]


def photo(name: str, side: int) -> Bytes:
    """Read a picture of the scikit-image package, reduced to a square.

    The file is found without importing scikit-image and without a network.

    Args:
        name: The file's name, such as ``"retina.jpg"``.
        side: Width and height of the result in pixels.

    Returns:
        The picture as 8-bit RGB.

    Raises:
        RecoloristError: The file is not there or cannot be read.

    Example:
        >>> photo("retina.jpg", 64).shape
        (64, 64, 3)
    """
    spec = importlib.util.find_spec("skimage")
    path = Path(spec.origin).parent / "data" / name if spec and spec.origin else Path(name)
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB").resize((side, side), Image.Resampling.LANCZOS))
    except OSError as error:
        raise RecoloristError(
            f"{name}, which comes with scikit-image, could not be read ({error}); reinstall scikit-image"
        ) from error


def other_camera(image: Bytes) -> Bytes:
    """Simulate another camera by a gamma and a white balance per channel.

    Example:
        >>> other_camera(np.full((1, 1, 3), 128, np.uint8)).tolist()
        [[[110, 126, 108]]]
    """
    seen = (image / 255.0) ** np.array([0.90, 0.80, 1.10]) * np.array([0.80, 0.86, 0.90])
    return np.asarray(np.rint(seen * 255.0), dtype=np.uint8)
