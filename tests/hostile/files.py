"""Small valid files of every format that is read, mutations of them, and what must hold for whatever comes out of a reader.

A mutation is a function of the seed and of nothing else: the same number gives the same bytes.
"""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist.collections.items import open_collection
from recolorist.collections.load import load
from recolorist.io.images import Reading, open_strips, read_picture

__all__ = ["SEEDS", "FaultError", "mutate", "seed_of", "try_file"]

_INTERESTING: Final = (0, 1, 2, 7, 8, 16, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**32 - 1)
_READING: Final = Reading(max_pixels=1 << 20, convert=True)
_SIDE: Final = 12


class FaultError(AssertionError):
    """Something that no file may bring about."""


def _pixels(dtype: str = "u1", channels: int = 3) -> NDArray[Any]:
    values = np.random.default_rng(0).integers(0, 256 ** np.dtype(dtype).itemsize, (_SIDE, _SIDE + 4, channels))
    return values.astype(dtype) if channels > 1 else values[..., 0].astype(dtype)


def _pillow(form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(_pixels()).save(buffer, form, **options)
    return buffer.getvalue()


def _tiff(dtype: str = "u1", **options: Any) -> bytes:
    import tifffile

    buffer = io.BytesIO()
    tifffile.imwrite(buffer, _pixels(dtype), photometric="rgb", **options)
    return buffer.getvalue()


def _array(save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, _pixels())
    return buffer.getvalue()


def _stack(save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, np.stack([_pixels(), _pixels()[::-1], _pixels()[:, ::-1]]))
    return buffer.getvalue()


def _dicom(syntax: str = "ExplicitVRLittleEndian") -> bytes:
    import pydicom

    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = getattr(pydicom.uid, syntax)
    meta.MediaStorageSOPClassUID = pydicom.uid.SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = pydicom.uid.UID("1.2.3")
    pixels = _pixels("u2", 1) >> 4
    data = pydicom.dataset.FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    data.Rows, data.Columns, data.SamplesPerPixel, data.PixelRepresentation = *pixels.shape, 1, 0
    data.PhotometricInterpretation, data.BitsAllocated, data.BitsStored, data.HighBit = "MONOCHROME2", 16, 12, 11
    data.PixelData = pixels.tobytes()
    buffer = io.BytesIO()
    data.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def _bank() -> rc.StyleBank:
    return rc.StyleBank.build(np.stack([_pixels(), _pixels()[::-1, ::-1]]), labels=["a", "b"], split="train")


def _bank_file() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return _bank().save(Path(folder) / "a.rcb").read_bytes()


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("a.txt", "b/c.txt"):
            info = tarfile.TarInfo(name)
            info.size = 300
            archive.addfile(info, io.BytesIO(bytes(range(150)) * 2))
    return buffer.getvalue()


def _zip(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in ("a.txt", "b/c.txt"):
            archive.writestr(name, bytes(range(150)) * 2)
    return buffer.getvalue()


@cache
def _zarr() -> dict[str, bytes]:
    """The files of a Zarr array, by their paths."""
    import tempfile

    import zarr

    with tempfile.TemporaryDirectory() as name:
        pixels = _pixels()
        zarr.create_array(name, shape=pixels.shape, dtype="uint8", chunks=pixels.shape, overwrite=True)[:] = pixels
        return {path.relative_to(name).as_posix(): path.read_bytes() for path in Path(name).rglob("*") if path.is_file()}


_ZARR_PARTS: Final = {"zarr chunk": "c/0/0/0", "zarr metadata": "zarr.json"}


def _write(kind: str, data: bytes, path: Path) -> None:
    """Write a file; of a Zarr array, one of its files beside the others."""
    if kind not in _ZARR_PARTS:
        path.write_bytes(data)
        return
    for name, part in (_zarr() | {_ZARR_PARTS[kind]: data}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(part)


#: Files by the name of their kind; the part before the first blank is the ending they are written with.
SEEDS: Final[dict[str, Callable[[], bytes]]] = {
    "png": lambda: _pillow("PNG"),
    "png 16": lambda: rc_encode(_pixels("u2"), ".png"),
    "jpg": lambda: _pillow("JPEG"),
    "jpg progressive": lambda: _pillow("JPEG", progressive=True),
    "tif": _tiff,
    "tif tiles": lambda: _tiff("u2", tile=(16, 16), compression="zlib"),
    "tif strips": lambda: _tiff(rowsperstrip=5, compression="packbits"),
    "tif big": lambda: _tiff(bigtiff=True, planarconfig="contig"),
    "tif jpeg": lambda: _tiff(compression="jpeg"),
    "bmp": lambda: _pillow("BMP"),
    "gif": lambda: _pillow("GIF"),
    "webp": lambda: _pillow("WEBP", lossless=True),
    "jp2": lambda: _pillow("JPEG2000"),
    "npy": lambda: _array(np.save),
    "npz": lambda: _array(np.savez_compressed),
    "npy stack": lambda: _stack(np.save),
    "npz stack": lambda: _stack(
        lambda file, stack: np.savez_compressed(file, train_images=stack, train_labels=np.arange(3)[:, None])
    ),
    "dcm": _dicom,
    "dcm deflated": lambda: _dicom("DeflatedExplicitVRLittleEndian"),
    "rcb": _bank_file,
    "json": lambda: _bank().to_json().encode(),
    "zip": _zip,
    "zip stored": lambda: _zip(zipfile.ZIP_STORED),
    "tar.gz": lambda: gzip.compress(_tar(), mtime=0),
    "tar.gz stored": lambda: gzip.compress(_tar(), 0, mtime=0),
    "zarr chunk": lambda: _zarr()["c/0/0/0"],
    "zarr metadata": lambda: _zarr()["zarr.json"],
}


def rc_encode(pixels: NDArray[Any], ending: str) -> bytes:
    """Encode pixels as the commands do."""
    from recolorist.io.write import encode

    return encode(pixels, ending)


@cache
def seed_of(kind: str) -> bytes:
    """Return the valid file of a kind."""
    return SEEDS[kind]()


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Change a file in one to four places: bits, numbers, pieces that go missing, move or repeat, a cut."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if not changed:
            break
        place, choice = draw.randrange(len(changed)), draw.random()
        if choice < 0.45:
            changed[place] ^= 1 << draw.randrange(8)
        elif choice < 0.6:
            changed[place] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        elif choice < 0.8:
            form = draw.choice(("<H", ">H", "<I", ">I", "<Q", ">Q"))
            number = draw.choice(_INTERESTING) & (256 ** struct.calcsize(form) - 1)
            changed[place : place + struct.calcsize(form)] = struct.pack(form, number)
        elif choice < 0.88:
            del changed[place : place + draw.randrange(1, 40)]
        elif choice < 0.95:
            start = draw.randrange(len(changed))
            changed[place:place] = changed[start : start + draw.randrange(1, 40)]
        else:
            del changed[place:]
    return bytes(changed)


def damaged_npz(how: str, **arrays: Any) -> bytes:
    """An archive of arrays, damaged in its packed bytes, method, flags, last member's size or first member's comment."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    data = bytearray(buffer.getvalue())
    first, last = data.index(b"PK\1\2"), data.rindex(b"PK\1\2")
    name, extra = struct.unpack_from("<HH", data, 26)
    start = 30 + name + extra
    changes = {
        "packed bytes": {start: 0xFF},  # no such block
        "method": {8: 99, first + 10: 99},
        "encrypted": {6: 1, first + 8: 1},
        "packed size": {last + 23: 0x7F},
        "comment": {first + 33: 0x7F},  # so long that it takes all entries that follow
    }
    for place, value in changes[how].items():
        data[place] = value
    return bytes(data)


def try_file(kind: str, data: bytes, folder: Path) -> str:
    """Read one file of a kind.

    Args:
        kind: A key of `SEEDS`.
        data: The bytes of the file.
        folder: A folder to write to.

    Returns:
        ``"read"`` or ``"refused"``.

    Raises:
        FaultError: Another error than ours was raised, or what was read cannot be right.
    """
    path = folder / f"a.{kind.partition(' ')[0]}"
    _write(kind, data, path)
    try:
        reader = _read_stack if kind.endswith(" stack") else _READERS.get(path.name[2:], _read_picture)
        reader(path, seed_of(kind))
    except FaultError:
        raise
    except rc.RecoloristError as error:
        if len(str(error).split()) < 4 or not str(error).isprintable():
            raise FaultError(f"not a sentence: {error!r}") from error
        return "refused"
    except Exception as error:
        raise FaultError(f"{type(error).__name__}: {error}") from error
    return "read"


def _read_picture(path: Path, _: bytes) -> None:
    pixels, data_range, _icc = read_picture(path, _READING)
    if pixels.dtype.kind not in "uf" or pixels.ndim not in (2, 3) or pixels.shape[0] * pixels.shape[1] > _READING.max_pixels:
        raise FaultError(f"{pixels.dtype} {pixels.shape} was read")
    if data_range is not None and pixels.dtype.kind == "u" and pixels.size and pixels.max() > data_range:
        raise FaultError(f"values up to {pixels.max()} on a scale of {data_range}")
    if path.suffix in (".tif", ".npy"):
        with open_strips(path, _READING) as strips:
            rows = np.concatenate([band for _, band in strips.bands()])
        whole = pixels if pixels.ndim == 3 else pixels[..., None]
        upright = strips.orientation == 1 or rows.shape != whole.shape
        if upright and rows.shape == whole.shape and not np.array_equal(rows, whole, equal_nan=pixels.dtype.kind == "f"):
            raise FaultError("by rows it is another image than as a whole")


def _read_stack(path: Path, _: bytes) -> None:
    """Many images in one file, as `augment`, `harmonise`, `audit` and `bank build` read them."""
    with open_collection(path) as collection:
        for item in collection.items:
            opened = load(item, _READING).opened
            if opened.is_batch:
                raise FaultError(f"an image of shape {opened.shape} was read")


def _read_bank(path: Path, seed: bytes) -> None:
    """A bank has a checksum: what is read is what was written."""
    bank = rc.StyleBank.load(path)
    if path.suffix == ".json" and bank.to_json().encode() != seed:
        raise FaultError("another bank was read")
    if path.suffix == ".rcb" and bank.fingerprint != _bank().fingerprint:
        raise FaultError("another bank was read")


def _read_archive(path: Path, _: bytes) -> None:
    from recolorist_lab.assets.archives import check_archive, unpack

    names = check_archive(path)
    target = path.parent / "out"
    try:
        if unpack(path, target) != names:
            raise FaultError("it was unpacked to another number of files than were checked")
        if names != 2:
            raise FaultError(f"{names} of its 2 files were unpacked")
        wrong = [file for file in target.rglob("*") if file.is_file() and file.read_bytes() not in _CONTENTS]
        if wrong:
            raise FaultError(f"{wrong[0].name} was unpacked with wrong bytes")
    finally:
        import shutil

        shutil.rmtree(target, ignore_errors=True)


_CONTENTS: Final = (bytes(range(150)) * 2, b"")
_READERS: Final = {"rcb": _read_bank, "json": _read_bank, "zip": _read_archive, "tar.gz": _read_archive}
