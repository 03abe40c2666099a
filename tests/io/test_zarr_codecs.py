"""Codecs of Zarr: those that are accepted give the pixels, the others are refused, and none unpacks more than a chunk holds."""

from __future__ import annotations

import gzip
import json
import os
import pickle  # noqa: TID251 - what must not be loaded
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io.images import HugeError, read_image
from recolorist.io.zarr_codecs import limit_codecs
from tests.commands import picture
from tests.io.kit import sixteen

zarr: Any = pytest.importorskip("zarr")
numcodecs: Any = pytest.importorskip("numcodecs")

pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in")
CHUNK = (8, 8, 3)


def save(path: Path, pixels: Any, version: int = 3, **options: Any) -> Path:
    zarr.create_array(str(path), shape=pixels.shape, dtype=pixels.dtype, chunks=CHUNK, zarr_format=version, **options)[:] = pixels
    return path


def save_one(path: Path, chunk: bytes, compressor: str) -> Path:
    """An array of the second format with one chunk."""
    zarr.create_array(str(path), shape=CHUNK, dtype="uint8", chunks=CHUNK, zarr_format=2, compressors=None)[:] = 7
    header = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps({**header, "compressor": {"id": compressor}}))
    (path / "0.0.0").write_bytes(chunk)
    return path


PACKED = {
    "gzip": numcodecs.GZip(),
    "zlib": numcodecs.Zlib(),
    "bz2": numcodecs.BZ2(),
    "lzma": numcodecs.LZMA(),
    "zstd": numcodecs.Zstd(),
    "blosc": numcodecs.Blosc("zstd", shuffle=2),
    "lz4": numcodecs.LZ4(),
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("filters", [(), ("shuffle",), ("crc32", "shuffle")])
def test_the_second_format(tmp_path: Path, name: str, filters: tuple[str, ...]) -> None:
    listed = [numcodecs.Shuffle(2) if part == "shuffle" else numcodecs.CRC32() for part in filters]
    path = save(tmp_path / "a.zarr", sixteen(), 2, compressors=PACKED[name], filters=listed or None)
    assert np.array_equal(read_image(path), sixteen())


@pytest.mark.parametrize("order", ["C", "F"])
def test_both_orders(tmp_path: Path, order: str) -> None:
    path = save(tmp_path / "a.zarr", sixteen(), 2, order=order)
    assert np.array_equal(read_image(path), sixteen())


def test_the_second_format_unpacked(tmp_path: Path) -> None:
    assert np.array_equal(read_image(save(tmp_path / "a.zarr", sixteen(), 2, compressors=None)), sixteen())


@pytest.mark.parametrize("name", ["Gzip", "Zstd", "Blosc"])
@pytest.mark.parametrize("shards", [None, (16, 16, 3)])
def test_the_third_format(tmp_path: Path, name: str, shards: Any) -> None:
    packer = getattr(zarr.codecs, f"{name}Codec")()
    path = save(tmp_path / "a.zarr", sixteen(), compressors=[packer, zarr.codecs.Crc32cCodec()], shards=shards)
    assert np.array_equal(read_image(path), sixteen())


def test_checksums_inside(tmp_path: Path) -> None:
    path = save(tmp_path / "a.zarr", sixteen(), compressors=[zarr.codecs.Crc32cCodec(), zarr.codecs.ZstdCodec(checksum=True)])
    assert np.array_equal(read_image(path), sixteen())


def test_axes_in_another_order_inside(tmp_path: Path) -> None:
    path = save(tmp_path / "a.zarr", sixteen(), filters=[zarr.codecs.TransposeCodec(order=(2, 0, 1))])
    assert np.array_equal(read_image(path), sixteen())


def test_packed_twice(tmp_path: Path) -> None:
    path = save(tmp_path / "a.zarr", picture(), compressors=[zarr.codecs.GzipCodec(), zarr.codecs.ZstdCodec()])
    with pytest.raises(ImageError, match="packed by zstd after bytes, gzip; save it again with one compression"):
        read_image(path)


def test_others_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "a.zarr", picture(), 2, compressors=numcodecs.Base64())
    with pytest.raises(ImageError, match="packed by 'base64', which is not accepted here; save it again with zstd"):
        read_image(path)
    path = save(tmp_path / "b.zarr", picture(), 2, filters=[numcodecs.Base64()])
    with pytest.raises(ImageError, match="packed by 'base64'"):
        read_image(path)


class Harmful:
    """A pickle that makes a folder where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("where", ["compressor", "filters"])
def test_a_pickle_is_not_loaded(tmp_path: Path, where: str) -> None:
    """With zarr 3.0 a pickle named as the codec of an image was loaded; later versions of zarr refuse it themselves."""
    path = save_one(tmp_path / "a.zarr", pickle.dumps(Harmful(tmp_path / "harm")), "gzip")
    header = {**json.loads((path / ".zarray").read_text()), "compressor": None}
    header[where] = {"id": "pickle"} if where == "compressor" else [{"id": "pickle"}]
    (path / ".zarray").write_text(json.dumps(header))
    with pytest.raises(ImageError, match="pickle"):
        read_image(path)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("place", ["compressor", "filters"])
def test_a_pickle_is_refused_by_us(place: str) -> None:
    """Whatever zarr refuses itself."""
    codec = numcodecs.Pickle()
    codecs = {"compressor": None, "filters": None, place: codec if place == "compressor" else [codec]}
    metadata = SimpleNamespace(zarr_format=2, **codecs)
    with pytest.raises(ImageError, match="packed by 'pickle', which is not accepted here"):
        limit_codecs(SimpleNamespace(metadata=metadata, chunks=CHUNK, dtype=np.dtype("uint8")))


SIZE = 8 * 8 * 3


def gzipped(size: int) -> bytes:
    """Zeros by gzip, without the time that it would write into its header."""
    return gzip.compress(bytes(size), mtime=0)


ZSTD = bytes(numcodecs.Zstd().encode(bytes(SIZE)))
BLOSC = bytes(numcodecs.Blosc().encode(bytes(SIZE)))
LZ4 = bytes(numcodecs.LZ4().encode(bytes(SIZE)))


@pytest.mark.parametrize(
    ("compressor", "chunk", "words"),
    [
        ("gzip", gzipped(SIZE + 1), "holds more than 192 bytes"),
        ("gzip", gzipped(SIZE - 1), "holds 191 bytes and not 192"),
        ("gzip", gzipped(SIZE)[:-5], "does not end where its packed bytes end"),
        ("gzip", gzipped(SIZE) + b"more", "does not end where"),
        ("gzip", gzipped(SIZE)[:-8] + bytes(8), "incorrect data check"),
        ("zlib", zlib.compress(bytes(SIZE))[:-1], "does not end where"),
        ("zstd", bytes(numcodecs.Zstd().encode(bytes(300))), "holds 300 bytes and not 192"),
        ("zstd", ZSTD + ZSTD, "too small"),
        ("zstd", ZSTD[:-3], "cannot be decoded"),
        ("zstd", b"nothing", "does not begin like zstd"),
        ("blosc", bytes(numcodecs.Blosc().encode(bytes(300))), "holds 300 bytes and not 192"),
        ("blosc", BLOSC[:8] + (1 << 30).to_bytes(4, "little") + BLOSC[12:], "declares more bytes than there are"),
        ("blosc", BLOSC[:12] + (1 << 30).to_bytes(4, "little") + BLOSC[16:], "declares more bytes than there are"),
        ("blosc", BLOSC[:9], "shorter than the header of blosc"),
        ("lz4", bytes(numcodecs.LZ4().encode(bytes(300))), "holds 300 bytes and not 192"),
        ("lz4", LZ4[:-4], "cannot be decoded"),
    ],
)
def test_chunks_of_another_size(tmp_path: Path, compressor: str, chunk: bytes, words: str) -> None:
    with pytest.raises(ImageError, match=words):
        read_image(save_one(tmp_path / "a.zarr", chunk, compressor))


@pytest.mark.parametrize("size", [1, 200, 255, 256, 300, 65_791, 65_792, 70_000])
def test_sizes_in_the_header_of_zstd(size: int) -> None:
    """All four lengths of the field, with and without the byte of the window."""
    from recolorist.io.zarr_codecs import _zstd_size

    assert _zstd_size(bytes(numcodecs.Zstd().encode(bytes(size)))) == size
    assert _zstd_size(b"\x28\xb5\x2f\xfd" + bytes((3 << 6, 0)) + size.to_bytes(8, "little")) == size
    assert _zstd_size(b"\x28\xb5\x2f\xfd" + bytes((0, 0, 0))) is None


def test_a_chunk_without_end(tmp_path: Path) -> None:
    """A file that takes no space on the disk and would take all memory."""
    path = save(tmp_path / "a.zarr", picture())
    with (path / "c/0/0/0").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(ImageError, match="1,099,511,627,776 bytes, more than an image of"):
        read_image(path)


def test_metadata_without_end(tmp_path: Path) -> None:
    path = save(tmp_path / "a.zarr", picture())
    with (path / "zarr.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(HugeError, match="1,099,511,627,776 bytes, more than an image of"):
        read_image(path)
