"""A cache of features on disk, keyed by the image's contents and the network."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write
from recolorist_lab.assets.weights import cache_folder

__all__ = ["FeatureCache", "Shelf", "digest_of"]

Row = NDArray[np.float32]

_FORMAT: Final = "recolorist.features/1"


def digest_of(image: NDArray[np.uint8]) -> str:
    """Hash the shape and every level of an image.

    Args:
        image: An 8-bit image.

    Returns:
        32 hexadecimal digits.

    Example:
        >>> image = np.zeros((2, 3, 3), np.uint8)
        >>> digest_of(image) == digest_of(image.copy()), digest_of(image) == digest_of(image.reshape(3, 2, 3))
        (True, False)
    """
    digest = hashlib.blake2b(repr(image.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


@dataclass(slots=True)
class Shelf:
    """The features of one set of images.

    Rows are found by the digest of the image, so a set under a wrong name cannot give wrong features.
    """

    path: Path | None
    network: str
    rows: dict[str, Row] = field(default_factory=dict)
    added: int = 0

    def add(self, digests: Sequence[str], rows: Row) -> None:
        """Add features.

        Args:
            digests: Of the images.
            rows: Their features.
        """
        for digest, row in zip(digests, rows, strict=True):
            self.added += digest not in self.rows
            self.rows[digest] = row

    def stack(self, digests: Sequence[str]) -> NDArray[np.float64]:
        """Return features of images, in order.

        Args:
            digests: Of the images.

        Returns:
            (images, features).
        """
        return np.stack([self.rows[digest] for digest in digests]).astype(np.float64)

    def save(self) -> None:
        """Write the added rows, merged with those that other processes wrote; the file appears complete or not at all."""
        if self.path is None or not self.added:
            return
        rows = _read(self.path, self.network) | self.rows
        atomic_write(self.path, _packed(rows, self.network))
        self.added = 0


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """A folder of shelves. Any number of processes may use it, and it may be deleted at any time.

    A shelf that is damaged or of another format is not used: its features are computed again, and it is replaced.
    """

    folder: Path = field(default_factory=lambda: cache_folder() / "features")

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def shelf(self, network: str, key: str) -> Shelf:
        """Open the features of one network and preparation.

        Args:
            network: The network.
            key: How images were prepared.

        Returns:
            What is stored of them.

        Raises:
            RecoloristError: The folder cannot be made.
        """
        name = hashlib.blake2b(json.dumps([network, key]).encode(), digest_size=16).hexdigest()
        path = self.folder / f"{name}.safetensors"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecoloristError(
                f"{self.folder} cannot be made ({error.strerror}); choose another folder for features"
            ) from error
        return Shelf(path, network, _read(path, network))


def _packed(rows: dict[str, Row], network: str) -> bytes:
    from safetensors.numpy import save

    matrix = np.ascontiguousarray(np.stack(list(rows.values())))
    metadata = {"format": _FORMAT, "network": network, "images": " ".join(rows), "sha256": _checksum(rows, matrix)}
    return save({"features": matrix}, metadata=metadata)


def _read(path: Path, network: str) -> dict[str, Row]:
    """Read rows by digest; return none where the file is missing, damaged or of another format."""
    from safetensors import SafetensorError, safe_open

    with contextlib.suppress(SafetensorError, OSError, ValueError, KeyError):
        if not path.is_file():
            return {}
        with safe_open(path, framework="numpy") as file:
            metadata: dict[str, Any] = file.metadata() or {}
            matrix = file.get_tensor("features")
        rows = dict(zip(metadata["images"].split(" "), matrix, strict=True))
        if (metadata["format"], metadata["network"], metadata["sha256"]) == (_FORMAT, network, _checksum(rows, matrix)):
            return rows
    return {}


def _checksum(names: dict[str, Row], matrix: Row) -> str:
    digest = hashlib.sha256(" ".join(names).encode())
    digest.update(np.ascontiguousarray(matrix).data)
    return digest.hexdigest()
