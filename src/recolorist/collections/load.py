"""One item of a collection in memory, or, where it is too large for that, as strips."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist.collections.items import Item
from recolorist.collections.target import file_digest
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.io.images import FORMATS, HUGE_FORMATS, HugeError, Reading, decode, open_file, open_strips
from recolorist.io.npy import npy_stack
from recolorist.io.reading import spread_grey
from recolorist.io.strips import Strips
from recolorist.io.write import OUTPUT_SUFFIX, output_name

__all__ = ["LoadedItem", "load", "name_of", "rule_mask", "source_digest"]


@dataclass(slots=True)
class LoadedItem:
    """An item's pixels, or a way to read them by rows; ``digest`` is that of the file's content, if it was asked for."""

    form: str
    digest: str
    pixels: NDArray[Any] | None = None
    data_range: float | None = None
    icc: bytes | None = None
    strips: Strips | None = None

    @property
    def opened(self) -> check.Opened:
        """Return the pixels, checked."""
        return check.open_image(self.pixels, self.data_range)


def load(item: Item, reading: Reading, *, digest: bool = False) -> LoadedItem:
    """Read one item, as strips where it is too large to be decoded as a whole.

    Args:
        item: The image.
        reading: The options of reading.
        digest: Whether the content is hashed.

    Returns:
        The pixels, or a way to read them by rows.

    Raises:
        ImageError: It cannot be read, or is too large to be decoded and of a format without strips.
    """
    if item.index is not None:
        pixels = _stack(item.path)[item.index]
        checksum = _sha256(pixels) if digest else ""
        return LoadedItem("STACK", checksum, spread_grey(pixels, reading), reading.range_of(pixels.dtype))
    form, data = open_file(item.path, reading)
    checksum = _digest(item.path, data) if digest else ""
    if form != "SLIDE":
        try:
            picture = decode(item.path, form, reading, data)
            return LoadedItem(form, checksum, picture.pixels, picture.data_range, picture.icc)
        except HugeError:
            if form not in HUGE_FORMATS:
                raise
    return LoadedItem(form, checksum, strips=open_strips(item.path, reading))


def source_digest(item: Item, reading: Reading) -> str:
    """Return the digest that `load` would give, without decoding.

    Args:
        item: The image.
        reading: The options of reading.

    Returns:
        The SHA-256 of the content.
    """
    if item.index is not None:
        return _sha256(_stack(item.path)[item.index])
    _, data = open_file(item.path, reading)
    return _digest(item.path, data)


def name_of(item: Item, copy: int | None = None) -> str:
    """Return the name of an output of an item; copies are numbered from 1.

    Args:
        item: The image.
        copy: The number of the copy; None if there is one.

    Returns:
        The path below the target.

    Example:
        >>> name_of(Item("a/x.dcm", "a/x.dcm")), name_of(Item("a/x.jpg", "a/x.jpg"), 2), name_of(Item("7", "stack.npy", index=7))
        ('a/x.png', 'a/x_2.jpg', '000007.png')
    """
    name = item.key if item.index is None else f"{item.index:06d}.png"
    stem, dot, suffix = name.rpartition(".")
    form = FORMATS.get(f".{suffix.lower()}")
    if form in OUTPUT_SUFFIX:
        name = output_name(name, form)
        stem, dot, suffix = name.rpartition(".")
    return name if copy is None else f"{stem}_{copy}{dot}{suffix}"


def rule_mask(opened: check.Opened, rule: str | None, *, or_all: bool = True) -> NDArray[np.bool_] | None:
    """Return the foreground a named rule finds; where it finds nothing, all pixels or, not ``or_all``, none.

    Args:
        opened: The opened image.
        rule: The name of a foreground rule; None: none.
        or_all: What a rule that finds nothing means.

    Returns:
        The mask; None: all pixels.
    """
    if rule is None:
        return None
    find = foreground.RULES[check.option(rule, foreground.RULES, "mask")]
    return foreground.find_foreground(find, opened.colour, opened.data_range, or_all=or_all)


@lru_cache(maxsize=4)
def _stack(path: str) -> NDArray[Any]:
    return npy_stack(Path(path))


def _sha256(pixels: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()


def _digest(path: str, data: bytes | None) -> str:
    """Of a file, from its bytes where they are here; a folder (Zarr) is identified by the names and contents of its files."""
    if data is not None:
        return hashlib.sha256(data).hexdigest()
    if not Path(path).is_dir():
        return file_digest(path)
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()
