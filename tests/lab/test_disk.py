"""Free space on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from recolorist.errors import RecoloristError
from recolorist_lab.disk import cache_place, refuse_full_disk


def test_more_than_is_free_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    refuse_full_disk(tmp_path, 10, RecoloristError)
    with pytest.raises(RecoloristError, match=r"a\.npz needs 11 bytes and 10 are free"):
        refuse_full_disk(tmp_path, 11, RecoloristError, "a.npz")


def test_a_folder_that_is_marked_read_only_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "old.bank").touch()
    assert cache_place(folder, "a.bank") == folder / "a.bank"
    folder.chmod(0o555)
    try:
        assert cache_place(folder, "a.bank") == tmp_path / "cache" / "data" / "a.bank"
        assert cache_place(folder, "old.bank") == folder / "old.bank"
    finally:
        folder.chmod(0o755)
