"""Tidying the ledger: what killed processes left behind, and, only when asked for by name, runs that no study uses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from recolorist_lab.runs import claims
from recolorist_lab.runs.ledger import Ledger, writing
from recolorist_lab.runs.sealed import CorruptError, read
from recolorist_lab.runs.study import Study

__all__ = ["leftovers", "unused"]


def leftovers(ledger: Ledger, folders: Iterable[Path], *, dry: bool = False) -> list[Path]:
    """Remove temporary files older than the lease, and claims and checkpoints of finished cells.

    Args:
        ledger: The ledger that the cells are in.
        folders: Folders of cells.
        dry: Remove nothing; only list.

    Returns:
        What was removed.
    """
    now = ledger.now()
    paths = [path for path in ledger.root.glob(".*") if path.is_file() and _is_old(path, now, ledger.lease)]
    for folder in folders:
        parts = [path for part in (folder, folder / "files") for path in part.glob(".*.part")]
        paths += [path for path in parts if _is_old(path, now, ledger.lease)]
        if _is_finished(folder):
            paths += [*folder.glob("claim-*.json"), *folder.glob("ckpt-*.bin")]
    for path in [] if dry else paths:
        with writing(path):
            path.unlink(missing_ok=True)
    return paths


def unused(ledger: Ledger, studies: Iterable[Study], *, dry: bool = False) -> list[Path]:
    """Remove runs that belong to none of the studies and that no process works on.

    Args:
        ledger: The ledger that the cells are in.
        studies: The studies.
        dry: Remove nothing; only list.

    Returns:
        What was removed.
    """
    used = {ledger.folder(cell) for study in studies for cell in study.cells}
    now = ledger.now()
    unused_folders = [folder for folder in ledger.folders() if folder not in used and not _is_held(folder, now)]
    for folder in [] if dry else unused_folders:
        ledger.remove(folder)
    return unused_folders


def _is_old(path: Path, now: float, lease: float) -> bool:
    try:
        return now - path.stat().st_mtime > lease
    except FileNotFoundError:
        return False


def _is_held(folder: Path, now: float) -> bool:
    claim = claims.newest(folder, now)
    return claim is not None and claim.is_live


def _is_finished(folder: Path) -> bool:
    try:
        return read(folder / "result.json").get("run") == folder.name
    except (OSError, CorruptError):
        return False
