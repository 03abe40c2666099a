"""The binary file of a bank: a zip of plain arrays, not compressed, with a format name and a checksum, without pickle."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.making import LeftOut
from recolorist.bank.names import decode_names, encode_names
from recolorist.bank.table import BankTable, join_triangles, split_triangles
from recolorist.errors import StatisticsError
from recolorist.io.files import atomic_write
from recolorist.io.npy import npy_header
from recolorist.io.reading import display_path

__all__ = ["FORMAT", "FORM_RULE", "pack_keys", "read_table", "refuse_missing", "unpack_keys", "write_table"]

FORMAT: Final = "recolorist.bank.file/1"
#: The advice where a file is neither form of a bank.
FORM_RULE: Final = "A bank is written by bank.save(path); pickles are never read."
_MOST_KEY_BYTES: Final = 2**32
_FACTS: Final = ("name", "split", "preprocessing", "size", "space", "mask", "blank", "left_out")
_MEMBERS: Final = frozenset(
    {"mean", "cov", "pixels", "keys", "key_lengths", "label_codes", "domain_codes", "histograms", "facts"}
)


def write_table(path: Path, table: BankTable, library: str, fingerprint: str) -> Path:
    """Write a bank; the file appears under its name only when it is complete.

    Args:
        path: The file to write.
        table: The content of the bank.
        library: The version of the library that measured it.
        fingerprint: The digest of its numbers.

    Returns:
        The path.

    Raises:
        RecoloristError: The file cannot be written.
    """
    label_codes, labels = encode_names(table.labels, len(table.keys))
    domain_codes, domains = encode_names(table.domains, len(table.keys))
    keys, lengths = pack_keys(table.keys)
    arrays: dict[str, NDArray[Any]] = {
        "mean": table.mean,
        "cov": split_triangles(table.cov),
        "pixels": table.pixels.astype(np.uint32) if table.pixels.max(initial=0) < 2**32 else table.pixels,
        "keys": keys,
        "key_lengths": lengths,
        "label_codes": label_codes.astype(np.min_scalar_type(-max(1, len(labels)))),
        "domain_codes": domain_codes.astype(np.min_scalar_type(-max(1, len(domains)))),
    }
    if table.histograms is not None:
        arrays["histograms"] = table.histograms
    facts = {name: getattr(table, name) for name in _FACTS}
    facts |= {"labels": labels, "domains": domains, "library": library, "fingerprint": fingerprint}
    return _write_members(path, arrays, facts)


def refuse_missing(path: Path) -> None:
    """Refuse the path of a bank where there is no file.

    Args:
        path: The path.

    Raises:
        StatisticsError: There is nothing, or a folder.

    Example:
        >>> refuse_missing(Path("no.rcb"))
        Traceback (most recent call last):
        recolorist.errors.StatisticsError: no.rcb does not exist; check the path, or make the bank: ...
    """
    if path.is_dir() or not path.exists():
        problem = "is a folder, and a bank is a file" if path.is_dir() else "does not exist"
        raise StatisticsError(
            f"{display_path(path)} {problem}; check the path, or make the bank: "
            "`recolorist bank build FOLDER --split train -o FILE`"
        )


def read_table(path: Path) -> BankTable:
    """Read a bank and verify its checksum; a file with anything else in it is refused before it is unpacked.

    Args:
        path: The file, which exists.

    Returns:
        The content of the bank.

    Raises:
        StatisticsError: The file is damaged, of another format, or not a bank.
    """
    arrays, facts = _read_members(path)
    try:
        size = facts["size"]
        return BankTable(
            arrays["mean"].astype(np.float64),
            join_triangles(arrays["cov"].astype(np.float64)),
            arrays["pixels"].astype(np.int64),
            unpack_keys(arrays["keys"], arrays["key_lengths"]),
            decode_names(arrays["label_codes"], facts["labels"]),
            decode_names(arrays["domain_codes"], facts["domains"]),
            name=facts["name"],
            split=facts["split"],
            preprocessing=facts["preprocessing"],
            size=None if size is None else (int(size[0]), int(size[1])),
            space=facts["space"],
            histograms=arrays.get("histograms"),
            mask=facts.get("mask"),  # banks of earlier versions do not say how they were made
            blank=facts.get("blank"),
            left_out=tuple(LeftOut.of(*entry) for entry in facts.get("left_out", ())),
        )
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        raise StatisticsError(f"{path} is not a bank this version can read ({error}); build it again") from error


def _write_members(path: Path, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Path:
    text = json.dumps(facts | {"format": FORMAT, "sha256": _digest(arrays, facts)}, allow_nan=False)
    members = arrays | {"facts": np.frombuffer(text.encode(), np.uint8)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:  # a fixed date: same bytes
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    return atomic_write(path, buffer.getvalue())


def _read_members(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_odd_members(archive, path)
            arrays = {name[:-4]: _read_array(archive, name) for name in archive.namelist()}
        facts = _verify_facts(arrays)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, RecursionError) as error:
        rule = f" {FORM_RULE}" if isinstance(error, zipfile.BadZipFile) else ""
        raise StatisticsError(
            f"{path} cannot be read as a style bank: {error}.{rule} Build it again, or copy it again."
        ) from error
    return arrays, facts


def _verify_facts(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    facts = json.loads(arrays.pop("facts").tobytes())
    if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    if facts.pop("sha256", None) != _digest(arrays, facts):
        raise ValueError("its checksum does not fit; the file is damaged")
    return facts


def pack_keys(keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return strings as one compressed block, since paths repeat themselves, and the length of each in bytes.

    Args:
        keys: The strings.

    Returns:
        The block, and the lengths.
    """
    encoded = [key.encode("utf-8", "surrogatepass") for key in keys]
    block = zlib.compress(b"".join(encoded), 1)
    return np.frombuffer(block, np.uint8), np.array([len(key) for key in encoded], np.uint32)


def unpack_keys(block: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> list[str]:
    """Undo :func:`pack_keys`. Nothing beyond the declared lengths is unpacked.

    Args:
        block: The block.
        lengths: The length of each string in bytes.

    Returns:
        The strings.

    Raises:
        ValueError: Block and lengths do not belong together.

    Example:
        >>> unpack_keys(*pack_keys(["a", "", "über"]))
        ['a', '', 'über']
    """
    stops = np.cumsum(lengths, dtype=np.int64).tolist()
    total = stops[-1] if stops else 0
    if total > 1000 * max(block.size, 1) or total > _MOST_KEY_BYTES:
        raise ValueError("its keys would unpack to far more than the file holds")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(block.tobytes(), total + 1)
    if len(data) != total:
        raise ValueError("its keys do not fit together")
    return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in zip([0, *stops], stops, strict=False)]


def _digest(arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _refuse_odd_members(archive: zipfile.ZipFile, path: Path) -> None:
    """Accept only the known arrays, not compressed: then nothing can unpack to more than the file's own size."""
    names = [info.filename for info in archive.infolist()]
    are_arrays = all(name.endswith(".npy") and name[:-4] in _MEMBERS for name in names)
    plain = all(info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size for info in archive.infolist())
    total = sum(info.file_size for info in archive.infolist())
    if not are_arrays or not plain or len(set(names)) < len(names) or "facts.npy" not in names or total > path.stat().st_size:
        raise ValueError("it holds something else than the arrays of a bank")


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(name) as member:
        data = io.BytesIO(member.read())
    shape, _, dtype = npy_header(data)
    declared, size = math.prod(shape) * dtype.itemsize, len(data.getbuffer()) - data.tell()
    if declared != size:
        raise ValueError(f"{name} declares {declared:,} bytes of numbers and holds {size:,}")
    data.seek(0)
    return np.asarray(np.lib.format.read_array(data, allow_pickle=False))
