"""Read a dataset at the network's image size from one mapped array, which :mod:`.pack` makes.

A pack holds the very bytes that the loader would make of every image, so using it changes nothing but the time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from recolorist_lab.data.arrays import open_array
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.pixels import Box, Bytes, Resize
from recolorist_lab.disk import cache_folder
from recolorist_lab.runs.fingerprint import code_fingerprint

__all__ = ["BOXES", "FACTS", "FORMAT", "IMAGES", "Packed", "check_packs", "digest_of_chunk", "find_packed", "pack_name"]

FORMAT: Final = "recolorist.pack/1"
IMAGES, BOXES, FACTS = "images.npy", "boxes.npy", "pack.json"
_SUFFIX: Final = ".pack"
_CODE: Final = ("recolorist_lab.data.pixels", "recolorist.io.images")  # what turns a file into these bytes


class Packed:
    """Images in the order of the manifest's rows, and the box in which each picture lies.

    Args:
        folder: A pack.

    Raises:
        ArrayError: Its arrays cannot be mapped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._images, self._boxes = open_array(folder / IMAGES), np.asarray(open_array(folder / BOXES))

    def __len__(self) -> int:
        return len(self._images)

    def read(self, row: int) -> tuple[Bytes, Box]:
        """Read the image of a row of the manifest.

        Args:
            row: Number of the row.

        Returns:
            The image, and the box in which the picture lies.
        """
        x0, y0, x1, y1 = (int(value) for value in self._boxes[row])
        return np.array(self._images[row]), (x0, y0, x1, y1)


def pack_name(manifest: Manifest, size: int, resize: Resize) -> str:
    """Return the name of a pack, made of everything that decides its bytes: pixels, size, resizing, and code.

    Args:
        manifest: The images.
        size: Side in pixels.
        resize: How images are made square.

    Returns:
        The name of its folder.
    """
    parts = [FORMAT, manifest.fingerprint(), size, resize, code_fingerprint(*_CODE)]
    return f"{manifest.facts.dataset}.{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}{_SUFFIX}"


def find_packed(manifest: Manifest, root: Path, size: int | None, resize: Resize) -> Packed | None:
    """Open the pack of a manifest at this size; None where there is none.

    Args:
        manifest: The images.
        root: Their folder. A pack lies in it, or in the cache where the folder is read-only.
        size: Side of the images in the pack.
        resize: How they became square.

    Returns:
        The pack, or None.
    """
    if size is None or not any(True for _ in _packs(manifest, root)):  # before the fingerprint, which takes a while
        return None
    name = pack_name(manifest, size, resize)
    folder = next((path for path in _packs(manifest, root) if path.name == name and (path / FACTS).is_file()), None)
    return None if folder is None else Packed(folder)


def check_packs(manifest: Manifest, root: Path) -> list[str]:
    """Compare every pack of a manifest with its checksums.

    Args:
        manifest: The images.
        root: The folder of the manifest.

    Returns:
        What is wrong, as sentences.
    """
    wrong: list[str] = []
    for folder in _packs(manifest, root):
        facts = _facts(folder)
        if facts.get("format") != FORMAT or facts.get("fingerprint") != manifest.fingerprint():
            continue  # of other images, or of another version: never used
        packed = Packed(folder)
        bad = [
            number for number, digest in enumerate(facts["digests"]) if digest_of_chunk(packed, number, facts["chunk"]) != digest
        ]
        if bad or len(packed) != len(manifest):
            wrong.append(f"{folder.name} is damaged in {len(bad)} of {len(facts['digests'])} parts; remove it and pack again")
    return wrong


def digest_of_chunk(packed: Packed, number: int, size: int) -> str:
    """Hash consecutive images of a pack and their boxes.

    Args:
        packed: The pack.
        number: Number of the chunk.
        size: Images in a chunk.

    Returns:
        A BLAKE2 in 32 digits.
    """
    rows = slice(number * size, (number + 1) * size)
    digest = hashlib.blake2b(np.ascontiguousarray(packed._images[rows]).data, digest_size=16)  # noqa: SLF001 - of this module
    digest.update(np.ascontiguousarray(packed._boxes[rows]).data)  # noqa: SLF001
    return digest.hexdigest()


def _packs(manifest: Manifest, root: Path) -> Iterator[Path]:
    for place in (root, cache_folder() / "data"):
        yield from sorted(place.glob(f"{manifest.facts.dataset}.*{_SUFFIX}"))


def _facts(folder: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return facts
