"""`recolorist-lab weights`."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.assets import weights
from recolorist_lab.assets.weights import WEIGHTS
from tests.lab.command import answer, lab


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and nothing that lies on this machine."""
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("RECOLORIST_OFFLINE", raising=False)


class TestCommand:
    def test_list_says_what_is_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        listed = answer("weights", "list")
        assert set(listed) == set(WEIGHTS)
        assert all(one["path"] is None for one in listed.values())
        assert "adain_decoder               missing" in lab("weights", "list").out
        monkeypatch.setattr(weights, "find_weights", lambda name: tmp_path / name)
        assert "adain_decoder               here " in lab("weights", "list").out

    def test_check_names_what_is_wrong(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        (tmp_path / "adain_decoder.pth").write_bytes(b"?")
        done = lab("weights", "check")
        assert done.code == 3
        assert "has 1 bytes and should have 14,023,458" in done.err
        assert "vgg16: not here" in done.out

    def test_fetch_says_what_can_be_fetched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "no weights were named; accepted are fid_inception" in lab("weights", "fetch").err
        monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
        done = lab("weights", "fetch", "adain_decoder")
        assert done.code == 1
        assert "RECOLORIST_OFFLINE forbids to download https://github.com/" in done.err
