"""DICOM files through pydicom."""

from __future__ import annotations

import io
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.frames import frame_size, refuse_long_runs, refuse_other_bits
from recolorist.io.reading import Picture, Reading, refuse_dtype, refuse_huge, refuse_large_file

__all__ = ["read_dicom"]

_ACCEPTED: Final = {"MONOCHROME1": 1, "MONOCHROME2": 1, "RGB": 3, "YBR_FULL": 3, "YBR_FULL_422": 3}  # and their samples
_DEFLATED: Final = "1.2.840.10008.1.2.1.99"
_MOST_RATIO: Final = 200  # of unpacked to packed bytes of a deflated file, as for .npz
_PIECE: Final = 1 << 20
_META_START: Final = 144  # preamble, "DICM" and the element with the length of the group that follows
_PIXELS: Final = 0x7FE00010
_MOST_ELEMENTS: Final = 100_000
_GROUPS: Final = ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence")


def read_dicom(path: Path, reading: Reading) -> Picture:
    """Decode one frame, grey or RGB and unsigned. The range is that of the bits stored.

    Args:
        path: The file.
        reading: The options of reading.

    Returns:
        The pixels and their range.

    Raises:
        ImageError: If the file holds several frames, signed or rescaled pixels, colours of another kind, or values above the
            bits stored; or if it would unpack to far more than its size.
        MissingExtraError: If pydicom is not installed.
    """
    pydicom = optional.load("pydicom", "read DICOM files")
    refuse_large_file(path.stat().st_size, reading.max_pixels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unusual tags, which are not kept
        data = _read_elements(path, pydicom)
        frames = int(data.get("NumberOfFrames", 1) or 1)
        refuse_huge(int(_require(data, "Rows")) * int(_require(data, "Columns")) * frames, reading.max_pixels)
        form = str(_require(data, "PhotometricInterpretation"))
        _refuse_unsupported(data, form, frames)
        _refuse_rescaled(data)
        high = 2 ** _bits_stored(data, form) - 1
        _refuse_other_inside(data, pydicom)
        # not raw: YBR_FULL is turned into RGB; unused bits are not cleared, so that a wrong header is noticed below
        pixels = np.asarray(pydicom.pixels.pixel_array(data, raw=False, correct_unused_bits=False))
    refuse_dtype(pixels.dtype)
    if pixels.size and int(pixels.max()) > high:
        raise ImageError(f"it holds values up to {pixels.max()}, above the {data.BitsStored} bits stored; mend its header first")
    if form == "MONOCHROME1":  # white is stored as zero
        pixels = (high - pixels).astype(pixels.dtype)
    return Picture(pixels, None if high == np.iinfo(pixels.dtype).max else float(high))


def _refuse_unsupported(data: Any, form: str, frames: int) -> None:
    if frames > 1:
        raise ImageError(f"it holds {frames} frames; save them as files of one frame")
    if int(data.get("PixelRepresentation", 0)):
        raise ImageError("its pixels are signed; shift them to start at 0 first, saying what zero means")
    if form not in _ACCEPTED:
        raise ImageError(f"its photometric interpretation is {form}; accepted are grey, RGB and YBR_FULL")
    samples = int(data.get("SamplesPerPixel", 1))
    if samples != _ACCEPTED[form]:
        raise ImageError(f"it declares {samples} samples a pixel, and {form} has {_ACCEPTED[form]}; mend its header first")


def _bits_stored(data: Any, form: str) -> int:
    """Return the bits of a pixel that hold its value.

    Raises:
        ImageError: If they are not the lowest bits of a pixel of 8 or 16 bits; or if colours of YBR have other than 8 bits, of
            which pydicom takes 128 for no colour in any case.
    """
    allocated, stored = int(_require(data, "BitsAllocated")), int(_require(data, "BitsStored"))
    if allocated not in (8, 16) or not 1 <= stored <= allocated:
        raise ImageError(f"it declares {stored} bits stored of {allocated} allocated; accepted are pixels of 8 or 16 bits")
    highest = int(data.get("HighBit", stored - 1))
    if highest != stored - 1:
        raise ImageError(f"it declares the highest bit {highest} for {stored} bits stored; accepted is {stored - 1}")
    if form.startswith("YBR") and (allocated, stored) != (8, 8):
        raise ImageError(f"its colours are {form} with {stored} bits stored of {allocated}; accepted are 8 of 8, save it as RGB")
    return stored


def _refuse_rescaled(data: Any) -> None:
    """Refuse pixels that mean something else than their number on the scale of the bits stored."""
    remedy = "apply it and save the values as floats (.tif or .npy) with a declared range"
    for element in (data, *_transformations(data)):
        slope, intercept = _number(element, "RescaleSlope", 1.0), _number(element, "RescaleIntercept", 0.0)
        if (slope, intercept) != (1, 0):
            raise ImageError(f"its values are rescaled (slope {slope:g}, intercept {intercept:g}); {remedy}")
    if "ModalityLUTSequence" in data:
        raise ImageError(f"its values are mapped by a lookup table (Modality LUT); {remedy}")


def _number(element: Any, name: str, default: float) -> float:
    """Return the value of an element; the default if it is missing or empty, which a slope of 0 is not."""
    value = element.get(name)
    return default if value is None or value == "" else float(value)


def _transformations(data: Any) -> Iterator[Any]:
    """Yield the rescaling of the frames of an enhanced object, which is not at its top level."""
    for name in _GROUPS:
        for group in data.get(name) or ():
            yield from group.get("PixelValueTransformationSequence") or ()


def _read_elements(path: Path, pydicom: Any) -> Any:
    """Read everything up to the pixels, with limits that pydicom does not set: a deflated file is unpacked piece by piece."""
    meta = pydicom.filereader.read_file_meta_info(path)
    syntax = meta.TransferSyntaxUID
    start = _META_START + int(_require(meta, "FileMetaInformationGroupLength"))
    count = 0

    def stop(tag: Any, *_: Any) -> bool:
        nonlocal count
        count += 1
        if count > _MOST_ELEMENTS:
            raise ImageError(f"it holds more than {_MOST_ELEMENTS:,} elements before its pixels; it is damaged")
        return bool(tag > _PIXELS)

    with path.open("rb") as file:
        file.seek(start)
        plain = io.BytesIO(_inflate(file, path.stat().st_size)) if syntax == _DEFLATED else file
        data = pydicom.filereader.read_dataset(plain, syntax.is_implicit_VR, syntax.is_little_endian, stop_when=stop)
    data.file_meta = pydicom.dataset.FileMetaDataset()
    data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian if syntax == _DEFLATED else syntax
    return data


def _require(data: Any, name: str) -> Any:
    value = data.get(name)
    if value is None or value == "":
        raise ImageError(f"it lacks {name}, which every DICOM image must have; save it again with a DICOM tool")
    return value


def _inflate(file: IO[bytes], size: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    pieces, total = [], 0
    packed = file.read(_PIECE)
    while packed and not unpacker.eof:
        pieces.append(unpacker.decompress(packed, _PIECE))
        total += len(pieces[-1])
        if total > _MOST_RATIO * size:
            raise ImageError(f"it would unpack to more than {_MOST_RATIO} times its size of {size:,} bytes; refused")
        packed = unpacker.unconsumed_tail or file.read(_PIECE)
    if not unpacker.eof:
        raise ImageError("its deflated data has no end; it was cut off, fetch it again")
    return b"".join(pieces)


def _refuse_other_inside(data: Any, pydicom: Any) -> None:
    """Refuse a compressed frame of another size or other bits than declared, before it is decoded."""
    syntax = data.file_meta.TransferSyntaxUID
    if not syntax.is_encapsulated:
        return
    frame = pydicom.encaps.get_frame(_require(data, "PixelData"), 0, number_of_frames=1)
    if syntax == pydicom.uid.RLELossless:
        refuse_long_runs(frame, int(data.Rows) * int(data.Columns))
        return
    size = frame_size(frame)
    if size is None:
        raise ImageError(f"the size of its frame, compressed as {syntax.name}, cannot be read; save it without compression")
    if size != (int(data.Columns), int(data.Rows)):
        raise ImageError(f"it declares {data.Columns} x {data.Rows} pixels, and the frame in it has {size[0]} x {size[1]}")
    if not frame.startswith(b"\xff\xd8"):  # JPEG itself is decoded only from 8 bits to 8 bits
        refuse_other_bits(frame, int(data.BitsStored))
