"""Downloading weights: what is refused. That they come whole is tested with the table of weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.assets.weight_downloads import download
from recolorist_lab.assets.weights import WEIGHTS, DownloadError, WeightsError


def test_offline_is_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
    with pytest.raises(DownloadError, match="RECOLORIST_OFFLINE forbids to download https://"):
        download(WEIGHTS["vgg16"], tmp_path, None, None)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WeightsError, match="name a folder for caches with RECOLORIST_CACHE"):
        download(WEIGHTS["vgg16"], tmp_path / "file", None, None)
