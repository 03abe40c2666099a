"""DICOM files through pydicom."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.reading import Picture, Reading, refuse_dtype, refuse_huge

__all__ = ["read_dicom"]

_ACCEPTED: Final = ("MONOCHROME1", "MONOCHROME2", "RGB", "YBR_FULL", "YBR_FULL_422")


def read_dicom(path: Path, reading: Reading) -> Picture:
    """Decode one frame, grey or RGB and unsigned. The range is that of the bits stored.

    Raises:
        ImageError: If the file holds several frames, signed pixels or colours of another kind.
        MissingExtraError: If pydicom is not installed.
    """
    pydicom = optional.load("pydicom", "read DICOM files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unusual tags, which are not kept
        data = pydicom.dcmread(path)
        frames = int(data.get("NumberOfFrames", 1) or 1)
        refuse_huge(int(data.Rows) * int(data.Columns) * frames, reading.max_pixels)
        form, stored = str(data.PhotometricInterpretation), int(data.BitsStored)
        _refuse_unsupported(data, form, frames)
        pixels = np.asarray(pydicom.pixels.pixel_array(data, raw=False))  # not raw: YBR_FULL is turned into RGB
    refuse_dtype(pixels.dtype)
    high = 2**stored - 1
    if form == "MONOCHROME1":  # white is stored as zero
        pixels = (high - pixels).astype(pixels.dtype)
    return Picture(pixels, float(high) if high not in (255, 65535) else None)


def _refuse_unsupported(data: Any, form: str, frames: int) -> None:
    if frames > 1:
        raise ImageError(f"it holds {frames} frames; save them as files of one frame")
    if int(data.get("PixelRepresentation", 0)):
        raise ImageError("its pixels are signed; shift them to start at 0 first, saying what zero means")
    if form not in _ACCEPTED:
        raise ImageError(f"its photometric interpretation is {form}; accepted are grey, RGB and YBR_FULL")
