"""Small files that unpack to far more than they declare, and how much memory it takes to read them.

`python -m tests.hostile.peaks` prints a table of all of them: bytes of the file, what happened, and the peak.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from tests.hostile.files import seed_of

__all__ = ["BOMBS", "BOMB_BYTES", "measure", "measure_file"]

BOMB_BYTES: Final = 256 << 20
_SIDE: Final = 8192  # of images inside an image of 12 x 16 pixels; as RGB they are 192 MiB
_SHAPE: Final = (12, 16, 3)


@cache
def _deflated(wbits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    block = bytes(1 << 20)
    return b"".join(packer.compress(block) for _ in range(BOMB_BYTES >> 20)) + packer.flush()


def _zstd(*, is_declared: bool) -> bytes:
    """A frame of zeros, which blocks of repeated bytes make four bytes long for every 128 KiB."""
    header = struct.pack("<BBQ", 3 << 6, 7 << 3, BOMB_BYTES) if is_declared else bytes((0, 7 << 3))
    blocks = BOMB_BYTES >> 17
    sizes = ((1 << 20) | 2 | (number == blocks - 1) for number in range(blocks))
    return b"\x28\xb5\x2f\xfd" + header + b"".join(size.to_bytes(3, "little") + b"\0" for size in sizes)


def _blosc() -> bytes:
    return bytes(import_module("numcodecs.blosc").Blosc("lz4", 9).encode(np.zeros(BOMB_BYTES, np.uint8)))


def _lz4() -> bytes:
    return bytes(import_module("numcodecs.lz4").LZ4().encode(np.zeros(BOMB_BYTES, np.uint8)))


def _zarr(chunk: Callable[[], bytes], codec: str, zarr_format: int = 3) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import zarr

        options: dict[str, Any] = {"compressors": None, "zarr_format": zarr_format}
        zarr.create_array(str(path), shape=_SHAPE, dtype="uint8", chunks=_SHAPE, **options)[:] = 7
        name, part = ("zarr.json", "c/0/0/0") if zarr_format == 3 else (".zarray", "0.0.0")
        header = json.loads((path / name).read_text())
        if zarr_format == 3:
            given: dict[str, Any] = {"gzip": {"level": 5}, "zstd": {"level": 0, "checksum": False}}.get(codec, {})
            if codec == "blosc":
                given = {"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}
            header["codecs"].append({"name": codec, "configuration": given})
        else:
            header["compressor"] = {"id": codec}
        (path / name).write_text(json.dumps(header))
        (path / part).write_bytes(chunk())

    return write


def _zarr_shard(path: Path) -> None:
    zarr = import_module("zarr")
    options = {"chunks": _SHAPE, "shards": _SHAPE, "compressors": zarr.codecs.GzipCodec()}
    array = zarr.create_array(str(path), shape=_SHAPE, dtype="uint8", **options)
    array[:] = 7
    chunk = _deflated(31)
    index = struct.pack("<QQ", 0, len(chunk))
    checksum = import_module("google_crc32c").value(index)
    (path / "c/0/0/0").write_bytes(chunk + index + struct.pack("<I", checksum))


def _tiff(compression: int, data: Callable[[], bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import tifffile

        strip = data()
        with tifffile.TiffWriter(path) as writer:
            writer.write(
                iter([strip]), shape=_SHAPE, dtype="uint8", photometric="rgb", compression=compression, rowsperstrip=_SHAPE[0]
            )

    return write


def _packbits() -> bytes:
    return b"\x81\0" * (BOMB_BYTES // 128)


def _lzw() -> bytes:
    import imagecodecs

    return bytes(imagecodecs.lzw_encode(bytes(BOMB_BYTES >> 2)))


@cache
def _pillow(form: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (_SIDE, _SIDE)).save(buffer, form)
    return buffer.getvalue()


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _png(name: bytes, before: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        seed = seed_of("png")
        path.write_bytes(seed[:33] + _chunk(name, before + _deflated(15)) + seed[33:])

    return write


def _png_pixels(path: Path) -> None:
    seed = seed_of("png")
    path.write_bytes(seed[:33] + _chunk(b"IDAT", _deflated(15)) + _chunk(b"IEND", b""))


def _jp2(path: Path) -> None:
    """A header of 12 x 16 pixels around a stream of very many."""
    data = bytearray(_pillow("JPEG2000"))
    struct.pack_into(">II", data, data.index(b"ihdr") + 4, 12, 16)
    path.write_bytes(data)


def _gif(path: Path) -> None:
    """A screen of 12 x 16 pixels with a frame of 16,384 x 16,384."""
    data = bytearray(seed_of("gif"))
    struct.pack_into("<HH", data, data.index(b",\0\0\0\0\x10\0\x0c\0") + 5, 1 << 14, 1 << 14)
    path.write_bytes(data)


def _webp(path: Path) -> None:
    """A canvas of 12 x 16 pixels around a picture of very many."""
    buffer = io.BytesIO()
    Image.new("RGB", (_SIDE, _SIDE)).save(buffer, "WEBP", lossless=True, method=0)
    body = buffer.getvalue()[12:]
    canvas = b"VP8X" + struct.pack("<IB3x", 10, 0) + (15).to_bytes(3, "little") + (11).to_bytes(3, "little")
    path.write_bytes(b"RIFF" + struct.pack("<I", 4 + len(canvas) + len(body)) + b"WEBP" + canvas + body)


def _jpeg(path: Path) -> None:
    """Two headers: the first declares 12 x 16 pixels, the second very many."""
    small, large = seed_of("jpg"), _pillow("JPEG")
    path.write_bytes(small[: small.index(b"\xff\xda")] + large[2:])


def _npz(path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": _SHAPE})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(BOMB_BYTES >> 20):
            member.write(bytes(1 << 20))


def _rcb(path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(seed_of("rcb"))) as seed, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in seed.namelist():
            with archive.open(name, "w") as member:
                member.write(seed.read(name))
                for _ in range(BOMB_BYTES >> 20):
                    member.write(bytes(1 << 20))


def _dicom(syntax: str, frame: Callable[[], bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pydicom

        data = pydicom.dcmread(io.BytesIO(seed_of("dcm")))
        data.file_meta.TransferSyntaxUID = getattr(pydicom.uid, syntax)
        data.Rows, data.Columns, data.SamplesPerPixel, data.PlanarConfiguration = 12, 16, 3, 0
        data.PhotometricInterpretation, data.BitsAllocated, data.BitsStored, data.HighBit = "RGB", 8, 8, 7
        data.PixelData = pydicom.encaps.encapsulate([frame()])
        data["PixelData"].VR = "OB"
        data["PixelData"].is_undefined_length = True
        data.save_as(path, enforce_file_format=True)

    return write


def _dicom_deflated(path: Path) -> None:
    data = seed_of("dcm deflated")
    length = 144 + struct.unpack_from("<I", data, 140)[0]  # of the file meta information, which is not packed
    path.write_bytes(data[:length] + _deflated(-15))


def _rle() -> bytes:
    """Three planes, each of far more bytes than pixels."""
    plane = b"\x81\0" * (BOMB_BYTES // 128 // 3)
    starts = [64 + number * len(plane) for number in range(3)]
    return struct.pack("<16I", 3, *starts, *(0,) * 12) + plane * 3


def _tar_gz(path: Path) -> None:
    with gzip.open(path, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = BOMB_BYTES
        archive.addfile(info, _Zeros(BOMB_BYTES))


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.txt", "w") as member:
        for _ in range(BOMB_BYTES >> 20):
            member.write(bytes(1 << 20))


class _Zeros(io.RawIOBase):
    def __init__(self, size: int) -> None:
        self._left = size

    def read(self, size: int = -1) -> bytes:
        size = min(size, self._left)
        self._left -= size
        return bytes(size)


#: What writes each file, by its kind; the part before the first blank is its ending.
BOMBS: Final[dict[str, Callable[[Path], Any]]] = {
    "zarr zstd": _zarr(lambda: _zstd(is_declared=False), "zstd"),
    "zarr zstd declared": _zarr(lambda: _zstd(is_declared=True), "zstd"),
    "zarr gzip": _zarr(lambda: _deflated(31), "gzip"),
    "zarr blosc": _zarr(_blosc, "blosc"),
    "zarr lz4": _zarr(_lz4, "numcodecs.lz4"),
    "zarr bz2": _zarr(lambda: bz2.compress(bytes(BOMB_BYTES)), "numcodecs.bz2"),
    "zarr lzma": _zarr(lambda: lzma.compress(bytes(BOMB_BYTES), preset=0), "numcodecs.lzma"),
    "zarr shard": _zarr_shard,
    "zarr v2 zlib": _zarr(lambda: _deflated(15), "zlib", 2),
    "zarr v2 gzip": _zarr(lambda: _deflated(31), "gzip", 2),
    "zarr v2 zstd": _zarr(lambda: _zstd(is_declared=False), "zstd", 2),
    "zarr v2 blosc": _zarr(_blosc, "blosc", 2),
    "tif deflate": _tiff(8, lambda: _deflated(15)),
    "tif lzw": _tiff(5, _lzw),
    "tif packbits": _tiff(32773, _packbits),
    "tif zstd": _tiff(50000, lambda: _zstd(is_declared=False)),
    "tif lzma": _tiff(34925, lambda: lzma.compress(bytes(BOMB_BYTES), preset=0)),
    "tif jpeg": _tiff(7, lambda: _pillow("JPEG")),
    "tif jp2": _tiff(34712, lambda: _pillow("JPEG2000")),
    "tif webp": _tiff(50001, lambda: _pillow("WEBP")),
    "tif png": _tiff(34933, lambda: _pillow("PNG")),
    "png zTXt": _png(b"zTXt", b"a\0\0"),
    "png iTXt": _png(b"iTXt", b"a\0\1\0\0\0"),
    "png iCCP": _png(b"iCCP", b"a\0\0"),
    "png pixels": _png_pixels,
    "jp2 header": _jp2,
    "gif frame": _gif,
    "webp canvas": _webp,
    "jpg headers": _jpeg,
    "npz member": _npz,
    "rcb members": _rcb,
    "dcm deflated": _dicom_deflated,
    "dcm rle": _dicom("RLELossless", _rle),
    "dcm jp2": _dicom("JPEG2000Lossless", lambda: _pillow("JPEG2000")),
    "dcm jpeg": _dicom("JPEGBaseline8Bit", lambda: _pillow("JPEG")),
    "zip member": _zip,
    "tar.gz member": _tar_gz,
}


def measure(kind: str, folder: Path) -> dict[str, Any]:
    """Write the file of a kind and read it in a process of its own.

    Args:
        kind: A key of `BOMBS`.
        folder: A folder for the file.

    Returns:
        Bytes of the file, the ``outcome`` and the ``peak`` in bytes above what reading a valid file took.
    """
    path = folder / f"a.{kind.partition(' ')[0]}"
    BOMBS[kind](path)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    return {"kind": kind, "size": size, **measure_file(path)}


def measure_file(path: Path) -> dict[str, Any]:
    """Read a file in a process of its own, and return the ``outcome`` and the ``peak``."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-m", "tests.hostile.peaks", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{path.name}: exit {done.returncode}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _read(path: Path) -> dict[str, Any]:
    """Read a file in this process, after a valid one of the same format, and return what happened."""
    import recolorist as rc
    from recolorist.io.images import read_image

    ending = path.name.partition(".")[2]
    reader: Callable[[Path], Any] = rc.StyleBank.load if ending == "rcb" else read_image
    if ending in ("zip", "tar.gz"):
        from recolorist_lab.assets.archives import unpack

        def reader(path: Path) -> Any:
            return unpack(path, path.parent / f"out-{path.parent.name}-{path.name}")

    with tempfile.TemporaryDirectory() as folder:
        valid = Path(folder, path.name)
        if ending == "zarr":
            import zarr

            zarr.create_array(str(valid), shape=_SHAPE, dtype="uint8", chunks=_SHAPE)[:] = 7
        else:
            valid.write_bytes(seed_of(ending))
        reader(valid)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _status("VmRSS")
    limit = _status("VmSize") + (2 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        reader(path)
        outcome = "read"
    except rc.RecoloristError as error:
        outcome = str(error).partition(": ")[2] or str(error)
    return {"outcome": outcome, "peak": _status("VmHWM") - before}


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def main() -> None:
    """Read the file that is named, or print the table of all."""
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(_read(Path(sys.argv[1]))) + "\n")
        return
    for kind in BOMBS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = measure(kind, Path(folder))
            except AssertionError as error:  # the table goes on
                row = {"kind": kind, "size": 0, "peak": 0, "outcome": f"FAULT {error}"}
        sys.stdout.write(f"| {row['kind']} | {row['size']:,} | {row['peak'] >> 20} MiB | {row['outcome']} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
