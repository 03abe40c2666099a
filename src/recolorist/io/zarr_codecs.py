"""Limits on what Zarr reads and unpacks: codecs that give what one chunk holds and nothing more, and no file that is too large.

Zarr unpacks a chunk to whatever its bytes hold, and compares the size afterwards; 33 kB can be a gibibyte. Its second format also
names any codec of numcodecs, among them ``pickle``, which runs code. Here the codecs of an array are compared with a list. Those
that unpack are replaced by functions that know how many bytes must come out.
"""

from __future__ import annotations

import asyncio
import bz2
import contextlib
import copy
import lzma
import math
import struct
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist import optional
from recolorist.errors import ImageError
from recolorist.io.reading import refuse_large_file

__all__ = ["limit_codecs", "limit_store"]

_NUMCODECS: Final = "numcodecs."  # begins the names of codecs in Zarr's third format that are not in its specification
_CHECKSUMS: Final = {"crc32": 4, "crc32c": 4, "adler32": 4, "fletcher32": 4}  # bytes that they add
_SAME_SIZE: Final = ("bytes", "transpose", "shuffle", "endian")
_SHARDS: Final = "sharding_indexed"
_INDEX: Final = ("bytes", "crc32c")  # codecs of the table inside a shard
_LZMA_MEMORY: Final = 128 << 20  # bytes that a dictionary may take; xz -9 takes 65 MiB
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_BLOSC_HEADER: Final = struct.Struct("<4xIII")  # bytes unpacked, bytes of a block, bytes packed

_Unpack = Callable[[bytes, int], "bytes | NDArray[np.uint8]"]


def limit_codecs(array: Any) -> Any:
    """Return a Zarr array whose codecs unpack no more bytes than a chunk holds.

    Args:
        array: An array of the package zarr.

    Returns:
        The same array with other codecs.

    Raises:
        ImageError: It uses a codec that is not accepted, or packs its chunks twice.
    """
    zarr = optional.load("zarr", "read Zarr arrays")
    metadata = copy.copy(array.metadata)
    itemsize = np.dtype(array.dtype).itemsize
    if metadata.zarr_format == 2:
        size = math.prod(array.chunks) * itemsize
        names = [_name_of(codec.get_config(), "id") for codec in metadata.filters or ()]
        _refuse_others(names, (*_SAME_SIZE, *_CHECKSUMS))
        if metadata.compressor is not None:
            name = _name_of(metadata.compressor.get_config(), "id")
            _refuse_others([name], _UNPACK)
            object.__setattr__(metadata, "compressor", _Compressor(name, size + _added(names)))
    else:
        stored = array.shards or array.chunks
        object.__setattr__(metadata, "codecs", _limit(metadata.codecs, math.prod(stored) * itemsize, itemsize))
    return zarr.Array(zarr.AsyncArray(metadata, array.store_path))


def limit_store(path: Path, max_pixels: int) -> Any:
    """Return the store of a folder, whose files are read only if they have no more bytes than an image may need.

    Args:
        path: The folder.
        max_pixels: The largest number of pixels of an image.

    Returns:
        A store of the package zarr, which cannot be written to. Reading a larger file raises `HugeError`.
    """
    return _limited_store()(path, max_pixels)


@cache
def _limited_store() -> Any:
    """Return the class of stores with a limit; zarr is optional, so it is made when needed."""
    from zarr.storage import LocalStore

    class Limited(LocalStore):
        """A folder whose files are read only if they are not too large."""

        def __init__(self, root: Path, max_pixels: int) -> None:
            super().__init__(root, read_only=True)
            self._max_pixels = max_pixels

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            with contextlib.suppress(OSError):  # a missing chunk; what else is wrong is said below
                refuse_large_file((self.root / key).stat().st_size, self._max_pixels)
            return await super().get(key, prototype, byte_range)

    return Limited


class _Compressor:
    """What the second format calls a compressor: an object that decodes."""

    def __init__(self, name: str, size: int) -> None:
        self._unpack, self._size = _UNPACK[name], size

    def decode(self, data: Any) -> Any:
        """Return the bytes of one chunk."""
        return self._unpack(bytes(data), self._size)


def _limit(codecs: Iterable[Any], size: int, itemsize: int) -> tuple[Any, ...]:
    """Return codecs of the third format for chunks of so many bytes; they are listed in the order of writing."""
    limited: list[Any] = []
    before: list[str] = []
    for codec in codecs:
        name = _name_of(codec.to_dict(), "name")
        if name == _SHARDS:
            limited.append(_limit_shard(codec, itemsize))
        elif name in _UNPACK:
            if any(other in _UNPACK or other == _SHARDS for other in before):
                raise ImageError(f"its chunks are packed by {name} after {', '.join(before)}; save it again with one compression")
            limited.append(_limited_codec()(_UNPACK[name], size + _added(before)))
        else:
            _refuse_others([name], (*_SAME_SIZE, *_CHECKSUMS))
            limited.append(codec)
        before.append(name)
    return tuple(limited)


def _limit_shard(codec: Any, itemsize: int) -> Any:
    """Return the codec of shards, with codecs of its chunks that are limited."""
    _refuse_others([_name_of(part.to_dict(), "name") for part in codec.index_codecs], _INDEX)
    return type(codec)(
        chunk_shape=codec.chunk_shape,
        codecs=_limit(codec.codecs, math.prod(codec.chunk_shape) * itemsize, itemsize),
        index_codecs=codec.index_codecs,
        index_location=codec.index_location,
    )


@cache
def _limited_codec() -> Any:
    """Return the class of codecs of the third format that unpack to a size; zarr is optional, so it is made when needed."""
    from zarr.abc.codec import BytesBytesCodec

    class Limited(BytesBytesCodec):
        """A codec that unpacks to a size that is known before."""

        is_fixed_size = False

        def __init__(self, unpack: _Unpack, size: int) -> None:
            self._unpack, self._size = unpack, size

        async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
            data = await asyncio.to_thread(self._unpack, chunk_bytes.to_bytes(), self._size)
            return chunk_spec.prototype.buffer.from_bytes(data)

        def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
            raise NotImplementedError  # nothing is written with it

    return Limited


def _numcodecs(name: str) -> Any:
    return import_module(f"numcodecs.{name}")  # comes with zarr


def _name_of(config: Any, key: str) -> str:
    return str(config[key]).removeprefix(_NUMCODECS)


def _added(names: Iterable[str]) -> int:
    return sum(_CHECKSUMS.get(name, 0) for name in names)


def _refuse_others(names: Iterable[str], accepted: Iterable[str]) -> None:
    for name in names:
        if name not in accepted:
            raise ImageError(f"it is packed by {name!r}, which is not accepted here; save it again with zstd, gzip or blosc")


def _refuse_size(found: int, size: int) -> None:
    if found != size:
        raise ImageError(f"a chunk holds {found:,} bytes and not {size:,}")


def _stepwise(start: Callable[[], Any]) -> _Unpack:
    """Return the function for a decoder of Python's library, which stops when it has given as much as it may."""

    def unpack(data: bytes, size: int) -> bytes:
        decoder = start()
        found = decoder.decompress(data, size + 1)
        if len(found) > size:
            raise ImageError(f"a chunk holds more than {size:,} bytes")
        _refuse_size(len(found), size)
        if not decoder.eof:
            decoder.decompress(getattr(decoder, "unconsumed_tail", b""), 1)  # reads the checksum behind the last byte
        if not decoder.eof or decoder.unused_data:
            raise ImageError("a chunk does not end where its packed bytes end")
        return bytes(found)

    return unpack


def _unpack_zstd(data: bytes, size: int) -> NDArray[np.uint8]:
    declared = _zstd_size(data)
    if declared is not None:
        _refuse_size(declared, size)
    unpacked = np.empty(size, np.uint8)
    _numcodecs("zstd").decompress(data, unpacked)  # raises where it is too small, or not filled
    return unpacked


def _zstd_size(data: bytes) -> int | None:
    """Return the size that the header of a frame declares (RFC 8878, 3.1.1.1), or None."""
    if data[:4] != _ZSTD_MAGIC or len(data) < 5:
        raise ImageError("a chunk does not begin like zstd")
    flags = data[4]
    is_single = flags >> 5 & 1
    start = 5 + (not is_single) + (0, 1, 2, 4)[flags & 3]
    length = (is_single, 2, 4, 8)[flags >> 6]
    if length == 0:
        return None
    return int.from_bytes(data[start : start + length], "little") + (256 if length == 2 else 0)


def _unpack_blosc(data: bytes, size: int) -> bytes:
    if len(data) < 16:
        raise ImageError("a chunk is shorter than the header of blosc")
    unpacked, block, packed = _BLOSC_HEADER.unpack_from(data)
    _refuse_size(unpacked, size)
    if block > size or packed > len(data):
        raise ImageError("the header of a blosc chunk declares more bytes than there are")
    return bytes(_numcodecs("blosc").decompress(data))


def _unpack_lz4(data: bytes, size: int) -> bytes:
    _refuse_size(int.from_bytes(data[:4], "little"), size)  # numcodecs writes it before the packed bytes
    return bytes(_numcodecs("lz4").decompress(data))


_UNPACK: Final[dict[str, _Unpack]] = {
    "gzip": _stepwise(lambda: zlib.decompressobj(31)),
    "zlib": _stepwise(lambda: zlib.decompressobj(15)),
    "bz2": _stepwise(bz2.BZ2Decompressor),
    "lzma": _stepwise(lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)),
    "zstd": _unpack_zstd,
    "blosc": _unpack_blosc,
    "lz4": _unpack_lz4,
}
