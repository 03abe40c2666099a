"""Reading image files: few formats, told by their first bytes, a limit of our own before decoding, metadata left behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError, RecoloristError

MAX_PIXELS: Final = 89_478_485  # a quarter of a gibibyte of RGB; larger files are meant to go through in strips
_MOST_BYTES_PER_PIXEL: Final = 16  # 16-bit RGBA that does not compress at all needs half of this
_HEADER_BYTES: Final = 16 << 20  # what profiles, thumbnails and comments may add to a file

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
_BINARY: Final = getattr(os, "O_BINARY", 0)
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)  # a pipe must not block
_PICTURES: Final = ("PNG", "JPEG", "TIFF")  # files of these are often misnamed for one another, and harmless so


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read.

    ``max_pixels`` bounds what is decoded as a whole. ``convert`` allows palette, CMYK, black-and-white and grey-with-alpha files,
    turned into RGB or grey. ``bits`` says how many bits of 16 are used (12, say), ``data_range`` what white is in float files.
    ``level`` is the level of a slide or pyramid, 0 the finest.
    """

    max_pixels: int = MAX_PIXELS
    convert: bool = False
    bits: int | None = None
    data_range: float | None = None
    level: int = 0

    def range_of(self, dtype: np.dtype[Any]) -> float | None:
        """The range to declare for pixels of this dtype; None: the dtype's own.

        >>> Reading(bits=12).range_of(np.dtype(np.uint16)), Reading(bits=12).range_of(np.dtype(np.uint8))
        (4095.0, None)
        """
        if self.bits is not None and dtype == np.uint16:
            return float(2**self.bits - 1)
        return self.data_range if dtype.kind == "f" else None


class HugeError(ImageError):
    """More pixels than may be decoded as a whole; some formats can still go through in strips."""


class Picture(NamedTuple):
    """A decoded file: pixels (H, W) or (H, W, C), upright, and their range where it is not that of the dtype."""

    pixels: NDArray[Any]
    data_range: float | None = None
    icc: bytes | None = None


DEFAULT: Final = Reading()


def read_image(path: str | Path, max_pixels: int = MAX_PIXELS) -> NDArray[Any]:
    """Decode one file to an array; whatever goes wrong is an :class:`ImageError` that names the file.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (5, 4), "red").save(f"{folder}/a.png")
    ...     read_image(f"{folder}/a.png").shape
    (4, 5, 3)
    """
    return read_picture(path, Reading(max_pixels=max_pixels)).pixels


def read_picture(path: str | Path, reading: Reading = DEFAULT) -> Picture:
    """Decode one file as a whole; for huge ones see :mod:`recolorist.io.strips`."""
    form, data = open_file(path, reading)
    return decode(path, form, reading, data)


def decode(path: str | Path, form: str, reading: Reading, data: bytes | None = None) -> Picture:
    """Decode a file whose format is known; ``data`` are its bytes where the caller has them already."""
    try:
        if form in ("PNG", "JPEG"):
            from recolorist.io.pillow import read_compressed

            data = read_bytes(path, reading.max_pixels) if data is None else data
            return read_compressed(data, form, reading)
        if form == "TIFF":
            from recolorist.io.pillow import read_tiff

            return read_tiff(Path(path), reading)
        from recolorist.io.other import READERS

        return READERS[form](Path(path), reading)
    except RecoloristError as error:
        raise type(error)(f"{shown(path)}: {error}") from error
    except Exception as error:  # decoders raise nearly anything on a damaged file; for a caller all of it is one thing
        raise ImageError(f"{shown(path)} cannot be read as {form}: {said(error)}") from error


def sniff(path: str | Path) -> str:
    """The format of a file by its first bytes; anything else than an accepted one is refused.

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
            raise ImageError(f"{shown(path)} is neither a file nor a folder; pipes and devices are not read")
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            start = file.read(132)
    except OSError as error:
        raise ImageError(f"{shown(path)} cannot be opened: {error.strerror or error}") from error
    return told_by(start, named, path)


def told_by(start: bytes, named: str | None, path: str | Path) -> str:
    """The format told by the first 132 bytes, held against what the name says."""
    found = next((form for magic, form in _MAGIC if start.startswith(magic)), None)
    if start[128:132] == b"DICM":
        found = "DICOM"
    if named == "SLIDE":  # dozens of vendors' formats; OpenSlide tells them apart
        return named
    if found is None:
        raise ImageError(
            f"{shown(path)} is not what its name says: it begins like no format that is read here "
            f"({', '.join(dict.fromkeys(FORMATS.values()))})"
        )
    if named in (found, None) or {named, found} <= set(_PICTURES):
        return found
    raise ImageError(f"{shown(path)} is named like {named} and begins like {found}; rename it to what it is")


def read_bytes(path: str | Path, max_pixels: int) -> bytes:
    """The whole file, unless it is larger than any image within the limit."""
    handle = os.open(path, os.O_RDONLY | _BINARY)
    try:
        return _whole(handle, os.fstat(handle).st_size, max_pixels)
    finally:
        os.close(handle)


def _whole(handle: int, size: int, max_pixels: int) -> bytes:
    if size > _MOST_BYTES_PER_PIXEL * max_pixels + _HEADER_BYTES:
        raise HugeError(f"it has {size:,} bytes, more than an image of {max_pixels:,} pixels can need; raise max_pixels")
    data = os.read(handle, size)
    while len(data) < size and (more := os.read(handle, size - len(data))):  # a plain file may give less than was asked for
        data += more
    return data


def list_images(folder: str | Path) -> list[Path]:
    """Image files below a folder, sorted by path; links out of it are not followed, hidden files not listed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list_images(folder)
    []
    """
    return [Path(folder, name) for name in list_names(folder)]


def list_names(folder: str | Path) -> list[str]:
    """What :func:`list_images` lists, relative to the folder and with slashes: a Path for each would cost more than its image."""
    root = Path(folder)
    if not root.is_dir():
        raise ImageError(f"{shown(folder)} is not a folder; give one with image files in it")
    return sorted(_walk(str(root), "", root.resolve()), key=_as_paths_sort)


def _as_paths_sort(name: str) -> list[str]:
    """Folder by folder; whether upper case counts is up to the system."""
    return (name if os.sep == "/" else name.lower()).split("/")


def _walk(folder: str, before: str, inside: Path) -> Iterator[str]:
    """Depth first; a Zarr folder is one image, and a link is followed only to a file inside."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            listed = FORMATS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122 - see `list_names`
            if name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from [before + name] if listed == "ZARR" else _walk(entry.path, f"{before}{name}/", inside)
            elif listed and listed != "ZARR" and (entry.is_file(follow_symlinks=False) or _safe_link(Path(entry.path), inside)):
                yield before + name


def _safe_link(path: Path, inside: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(inside)
    except OSError:  # a loop of links
        return False


def said(error: BaseException) -> str:
    """What an error says, or at least its kind.

    >>> said(KeyError()), said(OSError("full"))
    ('KeyError', 'full')
    """
    return str(error) or type(error).__name__


def refuse_huge(pixels: int, limit: int) -> None:
    """The limit, checked on what the header declares."""
    if pixels > limit:
        raise HugeError(f"it declares {pixels:,} pixels, over the limit of {limit:,}; raise max_pixels if you trust it")


def refuse_dtype(dtype: np.dtype[Any]) -> None:
    """Pixels that no door would let in are refused while the file's name is still known."""
    if dtype.kind not in "uf" or dtype.itemsize > (2 if dtype.kind == "u" else 8):
        raise ImageError(f"its pixels are {dtype}; accepted are unsigned integers of 8 or 16 bits and floats")


def shown(path: str | Path) -> str:
    r"""A path as it may be printed: on one line, whatever characters its name holds.

    >>> shown("a\nb.png")
    'a\\nb.png'
    """
    text = os.fspath(path)
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")


def _folder_format(path: Path, named: str | None) -> str:
    markers = ("zarr.json", ".zarray", ".zgroup")
    if any((path / marker).is_file() for marker in markers):
        return "ZARR"
    what = "has a Zarr's name but not its files" if named == "ZARR" else "is a folder, and an image was expected"
    raise ImageError(f"{shown(path)} {what}")


def open_file(path: str | Path, reading: Reading = DEFAULT) -> tuple[str, bytes | None]:
    """The format of a file and, of a PNG or JPEG, its bytes: one opening serves for sniffing, hashing and decoding."""
    named = FORMATS.get("." + os.fspath(path).rpartition(".")[2].lower())
    data = _regular(path, reading.max_pixels) if named in ("PNG", "JPEG") else None
    if data is None:
        return sniff(path), None
    form = told_by(data[:132], named, path)
    return form, data if form in ("PNG", "JPEG") else None


def _regular(path: str | Path, max_pixels: int) -> bytes | None:
    """The bytes of a regular file; None of anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_WAIT)
        try:
            facts = os.fstat(handle)
            return _whole(handle, facts.st_size, max_pixels) if stat.S_ISREG(facts.st_mode) else None
        finally:
            os.close(handle)
    except OSError as error:
        raise ImageError(f"{shown(path)} cannot be opened: {error.strerror or error}") from error
    except HugeError as error:
        raise HugeError(f"{shown(path)}: {error}") from error
