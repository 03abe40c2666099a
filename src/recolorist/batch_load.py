"""One item of a collection in memory, or, where it is too large for that, as strips."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist import check, foreground
from recolorist.batch_items import Item
from recolorist.batch_target import digest_of
from recolorist.images import FORMATS, HugeError, Reading, decode, open_file
from recolorist.images_other import npy_stack
from recolorist.images_write import OUTPUT_SUFFIX, output_name
from recolorist.matchers import level_counts
from recolorist.strips import HUGE_FORMATS, Strips, open_strips


@dataclass(slots=True)
class Loaded:
    """An item's pixels, or a way to read them by rows; ``digest`` tells its file's content apart, where it was asked for."""

    form: str
    digest: str
    pixels: NDArray[Any] | None = None
    data_range: float | None = None
    icc: bytes | None = None
    strips: Strips | None = None
    _counts: NDArray[np.uint64] | None = None

    @property
    def opened(self) -> check.Opened:
        """The pixels, through the door."""
        return check.open_image(self.pixels, self.data_range)

    def counts(self, opened: check.Opened) -> NDArray[np.uint64]:
        """The histogram of an integer image, counted once: it gives moments and clipped shares of every copy."""
        if self._counts is None:
            self._counts = level_counts(opened, None)
        return self._counts


def load(item: Item, reading: Reading, *, digest: bool = False) -> Loaded:
    """Read one item."""
    if item.index is not None:
        pixels = _stack(item.path)[item.index]
        return Loaded("STACK", _sha256(pixels) if digest else "", pixels, reading.range_of(pixels.dtype))
    form, data = open_file(item.path, reading)
    told = "" if not digest else hashlib.sha256(data).hexdigest() if data is not None else _file_digest(item.path)
    if form != "SLIDE":
        try:
            picture = decode(item.path, form, reading, data)
            return Loaded(form, told, picture.pixels, picture.data_range, picture.icc)
        except HugeError:
            if form not in HUGE_FORMATS:
                raise
    return Loaded(form, told, strips=open_strips(item.path, reading))


def source_digest(item: Item, reading: Reading) -> str:
    """The digest that `load` would tell, without decoding."""
    if item.index is not None:
        return _sha256(_stack(item.path)[item.index])
    _, data = open_file(item.path, reading)
    return _file_digest(item.path) if data is None else hashlib.sha256(data).hexdigest()


def name_of(item: Item, copy: int | None = None) -> str:
    """What an output of an item is called; copies are numbered from 1.

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


def rule_mask(opened: check.Opened, rule: str | None) -> NDArray[np.bool_] | None:
    """The foreground a named rule finds."""
    return None if rule is None else foreground.RULES[rule](opened.colour, opened.data_range)


@lru_cache(maxsize=4)
def _stack(path: str) -> NDArray[Any]:
    return npy_stack(Path(path))


def _sha256(pixels: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()


def _file_digest(path: str) -> str:
    """Of a file; a folder (Zarr) is told by the names and contents of its files."""
    if not Path(path).is_dir():
        return digest_of(path)
    whole = hashlib.sha256()
    for part in sorted(Path(path).rglob("*")):
        if part.is_file():
            whole.update(f"{part.relative_to(path).as_posix()}\0{digest_of(part)}\n".encode())
    return whole.hexdigest()
