"""The tool that indexes the images of the published studies: every set whole, whether labelled or not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist_lab.data.manifest import Manifest
from tools import study_images


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((5, 7, 3), 120, np.uint8)).save(path)


def archive(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    splits = {f"{split}_images": np.zeros((count, 4, 4), np.uint8) for split, count in (("train", 3), ("val", 1), ("test", 2))}
    labels = {f"{name.removesuffix('images')}labels": np.zeros((len(images), 1), np.uint8) for name, images in splits.items()}
    np.savez(path, **splits, **labels)  # type: ignore[arg-type]


def test_every_image_of_every_set_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for images in study_images.FOLDERS.values():
        picture(tmp_path / images / "a.png")
        picture(tmp_path / images / "folder without labels" / "b.png")
    for name in study_images.ARCHIVES.values():
        archive(tmp_path / name)
    monkeypatch.setattr(sys, "argv", ["study_images", str(tmp_path)])
    study_images.main()
    for name, images in study_images.FOLDERS.items():
        manifest = Manifest.read(tmp_path / f"{name}.parquet")
        assert sorted(entry.path for entry in manifest) == [f"{images}/a.png", f"{images}/folder without labels/b.png"]
    for name in study_images.ARCHIVES:
        assert Manifest.read(tmp_path / f"{name}.parquet").sizes() == {"train": 3, "val": 1, "test": 2}


def test_the_folder_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["study_images"])
    with pytest.raises(SystemExit, match="FOLDER"):
        study_images.main()
