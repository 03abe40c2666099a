"""Downloading a file of weights from its official address, by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recolorist_lab.assets.download import FetchError, Link
from recolorist_lab.assets.fetch import fetch_files
from recolorist_lab.assets.weight_table import DownloadError, WeightFile, WeightsError
from recolorist_lab.data.cards import File
from recolorist_lab.progress import Tick

__all__ = ["download"]

_AT_MOST: Final = 1 << 30  # bytes of a file whose size is not known
_TRIES: Final = 3  # nobody may be watching: say soon that there is no network


def download(weights: WeightFile, folder: Path, link: Link | None, tick: Tick | None) -> Path:
    """Download a file of the table of weights into a folder.

    Args:
        weights: The file; it must have an address.
        folder: Where it is put.
        link: How to download; None for few tries.
        tick: Is called with every piece that came.

    Returns:
        The path of the file.

    Raises:
        DownloadError: The file cannot be downloaded, or RECOLORIST_OFFLINE forbids it.
        WeightsError: The folder cannot be written.
    """
    address = weights.address or ""
    if os.environ.get("RECOLORIST_OFFLINE", "0") not in ("", "0"):
        raise DownloadError(f"RECOLORIST_OFFLINE forbids to download {address}; unset it, or put the file there by hand")
    file = File(weights.file, address, weights.bytes, f"sha256:{weights.sha256}", at_most=_AT_MOST)
    with _locked(folder):
        try:
            fetch_files((file,), folder, link=link or Link(tries=_TRIES), tick=tick)
        except FetchError as error:
            raise DownloadError(f"{address} could not be downloaded: {error}") from error
    return folder / weights.file


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process download a file that several want; the others wait and then see it there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / "lock").open("ab")
    except OSError as error:
        raise WeightsError(
            f"{folder} cannot be written ({error.strerror}); name a folder for caches with RECOLORIST_CACHE"
        ) from error
    with stream:
        try:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        except (ImportError, OSError):  # Windows, or a file system without locks: the part itself is still locked, and says so
            pass
        yield
