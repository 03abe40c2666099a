"""What the fakes share: tiny pictures, tables, archives, and the card that a fake has instead of the real one."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import shutil
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist_lab.data.cards import Card, Expected, File

Where = tuple[str, int]  # split and class


@dataclass
class Fake:
    """A dataset of a few kilobytes: what a server would send by address, and what a person would lay out by hand."""

    card: Card
    served: dict[str, bytes] = field(default_factory=dict)
    lay_out: Callable[[Path], None] = lambda root: None  # noqa: ARG005
    broken: tuple[str, ...] = ()  # files that are there and cannot be opened


def copied(laid_out: Callable[[str], tuple[Fake, Path]], key: str, folder: Path) -> tuple[Fake, Path]:
    """Return a fake and a copy of its folder that may be spoilt."""
    made, root = laid_out(key)
    return made, Path(shutil.copytree(root, folder / "copy"))


def noise(seed: int, height: int, width: int, channels: int = 3) -> NDArray[np.uint8]:
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def picture(path: Path, seed: int, size: tuple[int, int] = (9, 12), channels: int = 3) -> Path:
    """Write a small picture in the format of its ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(noise(seed, *size, channels)).save(path)
    return path


def picture_bytes(suffix: str, seed: int, size: tuple[int, int] = (9, 12), channels: int = 3) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(noise(seed, *size, channels)).save(buffer, {".jpg": "JPEG", ".png": "PNG"}.get(suffix.lower(), "TIFF"))
    return buffer.getvalue()


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], ending: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
        file.write(ending)
    return path


def table_bytes(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue().encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def saved_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def counted(card: Card, placed: Iterable[Where], images: Mapping[str, int] | None = None) -> Card:
    """The real card with the fake's counts: worked out here from what was written, not by the code under test.

    ``images`` are the sizes of splits where they are not the number of labels.
    """
    counts = Counter(placed)
    per_class = {split: tuple(counts[split, number] for number in range(len(card.classes))) for split in ("train", "val", "test")}
    sizes = images or {split: sum(row) for split, row in per_class.items()}
    train = np.array(per_class["train"], float)
    share = train[train > 0] / train.sum()
    h = float(-(share * np.log(share)).sum() / math.log(len(train)))
    ir = float(train.max() / train.min()) if train.min() else math.inf
    expected = Expected(sizes["train"], sizes["val"], sizes["test"], ir, h, tuple(per_class.items()), "a fake")
    return replace(card, expected=expected)


def pinned(card: Card, served: Mapping[str, bytes]) -> Card:
    """The card with the sizes and checksums of the fake's files, where the real one pins any."""

    def pin(file: File) -> File:
        data = served[file.url]
        size = None if file.bytes is None else len(data)
        checksum = None if file.checksum is None else f"md5:{hashlib.md5(data, usedforsecurity=False).hexdigest()}"
        return replace(file, bytes=size, checksum=checksum)

    sources = tuple(replace(source, files=tuple(pin(file) for file in source.files)) for source in card.sources)
    return replace(card, sources=sources)
