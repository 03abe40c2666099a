"""The formats that are read, and how a file's format is found from its name and its first bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from recolorist.errors import ImageError
from recolorist.io.reading import describe_unopened, display_path

__all__ = ["FORMATS", "HUGE_FORMATS", "WHOLE_FORMATS", "format_from_start", "sniff"]

#: Format by suffix; where a file's first bytes say something else, they decide.
FORMATS: Final = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".gif": "GIF",
    ".webp": "WEBP",
    ".jp2": "JPEG2000",
    ".j2k": "JPEG2000",
    ".j2c": "JPEG2000",
    ".jpf": "JPEG2000",
    ".jpx": "JPEG2000",
    ".npy": "NPY",
    ".npz": "NPZ",
    ".dcm": "DICOM",
    ".zarr": "ZARR",
    ".svs": "SLIDE",
    ".ndpi": "SLIDE",
    ".mrxs": "SLIDE",
    ".scn": "SLIDE",
    ".bif": "SLIDE",
    ".vms": "SLIDE",
    ".vmu": "SLIDE",
    ".svslide": "SLIDE",
}
HUGE_FORMATS: Final = ("TIFF", "NPY", "ZARR", "SLIDE")  # those that can be read in strips
WHOLE_FORMATS: Final = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "JPEG2000")  # those that are decoded from all bytes of the file
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),  # BigTIFF
    (b"MM\0+", "TIFF"),
    (b"\x93NUMPY", "NPY"),
    (b"PK\x03\x04", "NPZ"),
    (b"BM", "BMP"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
)
#: What files that are not read begin with, from the first byte on: a kind of file, and what to do with it.
_OTHERS: Final = (
    (b"%PDF", "a PDF; export its images as PNG"),
    (b"%!PS", "PostScript; export it as PNG"),
    (b"<svg", "SVG, a drawing without pixels; export it as PNG"),
    (b"<?xml", "XML, a text; give the image it belongs to"),
    (b"<!DOCTYPE", "a web page; the download has failed, fetch the file again"),
    (b"<html", "a web page; the download has failed, fetch the file again"),
    (b"version https://git-lfs", "a placeholder of Git LFS; fetch the file with: git lfs pull"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"\x89HDF", "HDF5; save its images as NPY or TIFF"),
    (b"8BPS", "a Photoshop file; export it as TIFF"),
)
_FTYP: Final = {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF", b"avif": "AVIF"}
_START: Final = 132  # bytes, as many as it takes to recognise DICOM
_PICTURES: Final = (*WHOLE_FORMATS, "TIFF")  # often misnamed for one another, which does no harm


def sniff(path: str | Path) -> str:
    """Find the format of a file from its first bytes.

    Args:
        path: A file, or a Zarr folder.

    Returns:
        One of the values of `FORMATS`.

    Raises:
        ImageError: If it is not of an accepted format, or of another one than its name says.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0")
        ...     sniff(Path(folder, "a.png"))
        Traceback (most recent call last):
        recolorist.errors.ImageError: .../a.png is not what its name says: it begins like PostScript; export it as PNG
    """
    declared = FORMATS.get(Path(path).suffix.lower())
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a Path would be made for every file of a collection
        if stat.S_ISDIR(mode):
            return _folder_format(Path(path), declared)
        if not stat.S_ISREG(mode):
            raise ImageError(f"{display_path(path)} is neither a file nor a folder; pipes and devices are not read")
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            start = file.read(_START)
    except OSError as error:
        raise ImageError(describe_unopened(path, error)) from error
    return format_from_start(start, declared, path)


def format_from_start(start: bytes, declared: str | None, path: str | Path) -> str:
    """Find the format from the first 132 bytes, and compare it with the format that the name says.

    Args:
        start: The first 132 bytes of the file.
        declared: The format that the name says; None if it says none.
        path: The file, for messages.

    Returns:
        One of the values of `FORMATS`.

    Raises:
        ImageError: It is not of an accepted format, or of another one than its name says.
    """
    if declared == "SLIDE":  # dozens of vendors' formats; OpenSlide tells them apart
        return declared
    form = _recognise(start)
    if form is None:
        raise ImageError(_explain_unknown(start, declared, path))
    if declared in (form, None) or {declared, form} <= set(_PICTURES):
        return form
    raise ImageError(f"{display_path(path)} is named like {declared} and begins like {form}; rename it to what it is")


def _recognise(start: bytes) -> str | None:
    if start[128:_START] == b"DICM":
        return "DICOM"
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WEBP"
    return next((form for magic, form in _MAGIC if start.startswith(magic)), None)


def _explain_unknown(start: bytes, declared: str | None, path: str | Path) -> str:
    """Return the message for a file of no known format; its name is blamed only if it names one."""
    name = display_path(path)
    if not start:
        return f"{name} is empty (0 bytes); fetch or save it again"
    if start[4:8] == b"ftyp" and start[8:12] in _FTYP:
        kind: str | None = f"{_FTYP[start[8:12]]}, which is not read; save it as PNG, JPEG or TIFF"
    else:
        kind = next((kind for magic, kind in _OTHERS if start.startswith(magic)), None)
    formats = ", ".join(dict.fromkeys(FORMATS.values()))
    begins = f"it begins like {kind or f'no format that is read here ({formats})'}"
    if declared is not None:
        return f"{name} is not what its name says: {begins}"
    if kind is not None:
        return f"{name} is not read: {begins}"
    return f"{name} is of a kind that is not read; formats that are: {formats}. Save it as one of them"


def _folder_format(path: Path, declared: str | None) -> str:
    markers = ("zarr.json", ".zarray", ".zgroup")
    if any((path / marker).is_file() for marker in markers):
        return "ZARR"
    problem = "has a Zarr's name but not its files" if declared == "ZARR" else "is a folder, and an image was expected"
    raise ImageError(f"{display_path(path)} {problem}")
