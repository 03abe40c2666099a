"""What decides which pack is opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recolorist_lab.data import packed
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.packed import FACTS, check_packs, find_packed, pack_name
from recolorist_lab.data.synthetic import Recipe, make


@pytest.fixture
def manifest() -> Manifest:
    return make(Recipe(hospitals=3, tiles=4, size=8)).manifest


def test_the_name_follows_pixels_size_shape_and_code(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    name = pack_name(manifest, 8, "squash")
    others = [
        pack_name(make(Recipe(hospitals=3, tiles=4, size=8, seed=1)).manifest, 8, "squash"),
        pack_name(manifest, 9, "squash"),
        pack_name(manifest, 8, "letterbox"),
    ]
    monkeypatch.setattr(packed, "code_fingerprint", lambda *_: "other code")
    assert len({name, *others, pack_name(manifest, 8, "squash")}) == 5
    assert name.startswith("synthetic.")


def test_a_folder_that_is_not_finished_is_not_opened(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / pack_name(manifest, 8, "squash")).mkdir()
    assert find_packed(manifest, tmp_path, 8, "squash") is None


def test_packs_of_other_images_are_passed_over(manifest: Manifest, tmp_path: Path) -> None:
    folder = tmp_path / "synthetic.0123456789abcdef.pack"
    folder.mkdir()
    assert check_packs(manifest, tmp_path) == []
    (folder / FACTS).write_text(json.dumps({"format": packed.FORMAT, "fingerprint": "another"}))
    assert check_packs(manifest, tmp_path) == []
