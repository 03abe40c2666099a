"""The formats that are read, and how a file's format is found from its name and its first bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from recolorist.errors import ImageError
from recolorist.io.reading import display_path

__all__ = ["FORMATS", "HUGE_FORMATS", "format_from_start", "sniff"]

#: Format by suffix; where a file's first bytes say something else, they decide.
FORMATS: Final = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
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
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),  # BigTIFF
    (b"MM\0+", "TIFF"),
    (b"\x93NUMPY", "NPY"),
    (b"PK\x03\x04", "NPZ"),
)
_START: Final = 132  # bytes, as many as it takes to recognise DICOM
_PICTURES: Final = ("PNG", "JPEG", "TIFF")  # often misnamed for one another, which does no harm


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
        recolorist.errors.ImageError: .../a.png is not what its name says: it begins like no format that is read here ...
    """
    named = FORMATS.get(Path(path).suffix.lower())
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a Path would be made for every file of a collection
        if stat.S_ISDIR(mode):
            return _folder_format(Path(path), named)
        if not stat.S_ISREG(mode):
            raise ImageError(f"{display_path(path)} is neither a file nor a folder; pipes and devices are not read")
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            start = file.read(_START)
    except OSError as error:
        raise ImageError(f"{display_path(path)} cannot be opened: {error.strerror or error}") from error
    return format_from_start(start, named, path)


def format_from_start(start: bytes, named: str | None, path: str | Path) -> str:
    """Find the format from the first 132 bytes, and compare it with the format that the name says."""
    if named == "SLIDE":  # dozens of vendors' formats; OpenSlide tells them apart
        return named
    form = "DICOM" if start[128:_START] == b"DICM" else next((form for magic, form in _MAGIC if start.startswith(magic)), None)
    if form is None:
        raise ImageError(
            f"{display_path(path)} is not what its name says: it begins like no format that is read here "
            f"({', '.join(dict.fromkeys(FORMATS.values()))})"
        )
    if named in (form, None) or {named, form} <= set(_PICTURES):
        return form
    raise ImageError(f"{display_path(path)} is named like {named} and begins like {form}; rename it to what it is")


def _folder_format(path: Path, named: str | None) -> str:
    markers = ("zarr.json", ".zarray", ".zgroup")
    if any((path / marker).is_file() for marker in markers):
        return "ZARR"
    problem = "has a Zarr's name but not its files" if named == "ZARR" else "is a folder, and an image was expected"
    raise ImageError(f"{display_path(path)} {problem}")
