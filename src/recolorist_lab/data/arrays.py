"""MedMNIST archives as .npy files: each array is copied once, and all processes map the same file.

A .npz cannot be mapped, whatever ``mmap_mode`` says: every process would hold all of it. Each member of it *is* a .npy file, so
the conversion copies bytes. Before that, the header is compared with the declared size.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_path
from recolorist.io.npy import npy_header, refuse_bomb
from recolorist.io.reading import display_path
from recolorist_lab.data.cards import GIB, SPLITS
from recolorist_lab.data.locks import locked
from recolorist_lab.data.pixels import digest_of
from recolorist_lab.disk import refuse_full_disk

__all__ = ["NAMES", "ArrayError", "Origin", "check_images", "convert", "md5_of", "open_array", "replaced_archive"]

NAMES: Final = tuple(f"{split}_{part}" for split in SPLITS for part in ("images", "labels"))
_LARGEST: Final = 64 * GIB  # of one array; PathMNIST, the largest, has 13
_CHUNK: Final = 1 << 20
_ABANDONED: Final = 3600.0  # seconds
_ORIGIN: Final = "origin.json"


class ArrayError(RecoloristError):
    """An archive of arrays with wrong contents."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where converted arrays come from: name and MD5 of the archive, and a BLAKE2 of every array as it was written."""

    archive: str
    md5: str
    arrays: Mapping[str, str]


def convert(archive: Path, folder: Path, names: Sequence[str] = NAMES) -> Origin:
    """Copy arrays of an archive into a folder, which appears when all are whole.

    Arrays that exist are kept if they were made from this archive and are as they were written. Otherwise they are made again.
    Without the archive, only arrays that verify are accepted.

    Args:
        archive: A MedMNIST archive, or any other .npz.
        folder: Where the arrays are wanted.
        names: Which of them.

    Returns:
        What they were made from.

    Raises:
        ArrayError: The archive or the arrays are damaged, or the disk is full.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            origin = _origin(folder)
            is_whole = origin is not None and _verifies(folder, origin)
            md5 = md5_of(archive) if archive.is_file() else None
            if origin is not None and is_whole and md5 in (None, origin.md5):
                return origin
            return _make(archive, folder, names, md5)
    except ArrayError:
        raise
    except Exception as error:  # a damaged archive raises errors of many types; the caller gets one type
        raise ArrayError(f"{archive} cannot be converted: {error}; fetch it again if it is damaged") from error


def _make(archive: Path, folder: Path, names: Sequence[str], md5: str | None) -> Origin:
    if md5 is None:
        raise ArrayError(f"the arrays in {folder} are damaged and {archive.name} is missing; put it back, or fetch it again")
    before = _origin(folder)
    ours = {_ORIGIN, *(f"{name}.npy" for name in (*names, *(before.arrays if before else ())))}
    if others := {path.name for path in folder.glob("*")} - ours:
        raise ArrayError(
            f"{folder} contains other files, such as {min(others)}, and is where the arrays of {archive.name} belong; rename one "
            "of the two, or name another folder with --out"
        )
    for leftover in folder.parent.glob(f".{folder.name}.*.part"):
        if _is_abandoned(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
    with atomic_path(folder) as part, zipfile.ZipFile(archive) as source:
        part.mkdir()
        members = {name: _checked(source, name) for name in names}
        refuse_full_disk(part, sum(info.file_size for info in members.values()), ArrayError, display_path(archive))
        for name, info in members.items():
            _copy(source, info, part / f"{name}.npy")
        origin = Origin(archive.name, md5, {name: digest_of(part / f"{name}.npy") for name in members})
        (part / _ORIGIN).write_text(json.dumps(asdict(origin), indent=1), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # maps that others have open stay valid
    return origin


def replaced_archive(folder: Path, archive: Path | None = None) -> str | None:
    """Return whether an archive is no longer the one that the arrays were converted from.

    Args:
        folder: The folder of the arrays.
        archive: The archive; by default the one beside the folder.

    Returns:
        Its name; None where it is the same, or not there.
    """
    origin = _origin(folder)
    if origin is None:
        return None
    path = archive or folder.parent / origin.archive
    return path.name if path.is_file() and md5_of(path) != origin.md5 else None


def _origin(folder: Path) -> Origin | None:
    """Read the record in a folder of arrays; return None where there is none, as in folders of earlier versions."""
    try:
        content = json.loads((folder / _ORIGIN).read_text("utf-8"))
        name = Path(str(content["archive"])).name
        return Origin(name, str(content["md5"]), {str(name): str(digest) for name, digest in content["arrays"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _verifies(folder: Path, origin: Origin) -> bool:
    try:
        return all(digest_of(folder / f"{name}.npy") == digest for name, digest in origin.arrays.items())
    except OSError:
        return False


def md5_of(path: Path) -> str:
    """Return the MD5 of a file, which MedMNIST publishes for its archives.

    Args:
        path: The file.

    Returns:
        32 hexadecimal digits.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _is_abandoned(part: Path) -> bool:
    """Return whether nothing was written to an unfinished copy for an hour, which means that its process was killed."""
    try:
        newest = max(path.stat().st_mtime for path in (part, *part.iterdir()))
    except OSError:  # it was finished, or removed, meanwhile
        return False
    return time.time() - newest > _ABANDONED


def open_array(path: Path) -> NDArray[Any]:
    """Map a .npy file into memory, read-only.

    Its pages are shared by all processes that do so, and read when touched.

    Args:
        path: The file.

    Returns:
        The array.

    Raises:
        ArrayError: The file is damaged, or holds Python objects.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(Path(folder, "a.npy"), np.arange(6, dtype=np.uint8).reshape(3, 2))
        ...     open_array(Path(folder, "a.npy"))[1].tolist()
        [2, 3]
    """
    try:
        array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")  # of .npy only, and never Python objects
    except (OSError, ValueError, EOFError) as error:
        raise ArrayError(f"{path} cannot be mapped: {error}; remove its folder and index again") from error
    return array


def check_images(images: NDArray[Any], labels: NDArray[Any], name: str) -> None:
    """Check the arrays of one split.

    Args:
        images: Accepted are 8-bit grey or RGB images.
        labels: Accepted are whole numbers in one line for each image.
        name: What to call the split in an error.

    Raises:
        ArrayError: An array has another dtype or shape.
    """
    grey_or_rgb = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    if images.dtype != np.uint8 or not grey_or_rgb or 0 in images.shape[1:3]:
        raise ArrayError(
            f"{name} images are {images.dtype} of shape {images.shape}; accepted are 8-bit (N, H, W) and (N, H, W, 3)"
        )
    if labels.dtype.kind not in "iu" or labels.ndim != 2 or len(labels) != len(images):
        raise ArrayError(
            f"{name} labels are {labels.dtype} of shape {labels.shape}; accepted are whole numbers ({len(images)}, labels)"
        )


def _checked(source: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return a member of the archive, if its header agrees with its size."""
    try:
        info = source.getinfo(f"{name}.npy")
    except KeyError:
        raise ArrayError(f"{source.filename} has no array {name!r}; expected are those of MedMNIST: {', '.join(NAMES)}") from None
    refuse_bomb(info)
    with source.open(info) as member:
        try:
            shape, fortran, dtype = npy_header(member)
        except ValueError as error:
            raise ArrayError(f"{name} in {source.filename} is refused: {error}") from error
        size = math.prod(shape) * dtype.itemsize
        if fortran or size > _LARGEST or member.tell() + size != info.file_size:
            raise ArrayError(
                f"{name} in {source.filename} declares {dtype} of shape {shape}, which its {info.file_size:,} bytes are not"
            )
    return info


def _copy(source: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    with source.open(info) as member, target.open("wb") as file:
        shutil.copyfileobj(member, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())
    if target.stat().st_size != info.file_size:
        raise ArrayError(f"{info.filename} ended after {target.stat().st_size:,} of {info.file_size:,} bytes")
