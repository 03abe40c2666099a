"""Styles are measured once, kept beside the manifest, and never where nobody asked for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.augmentations import TrainingImages
from recolorist_lab.data import banks
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.synthetic import Recipe, write

RECIPE = Recipe(hospitals=3, tiles=6, size=16)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(RECIPE, tmp_path)
    return tmp_path


def split(folder: Path, **options: object) -> Samples:
    return Samples(folder / "synthetic.parquet", "train", **options)  # type: ignore[arg-type]


def test_the_bank_is_measured_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = TrainingImages(split(folder)).bank()
    assert len(list(folder.glob("*.bank"))) == 1
    monkeypatch.setattr(banks, "style_bank", lambda *_: pytest.fail("measured again"))
    again = TrainingImages(split(folder)).bank()
    assert again.fingerprint == first.fingerprint
    assert again.keys == first.keys
    assert again.split == "train"


def test_other_sizes_spaces_and_splits_have_banks_of_their_own(folder: Path) -> None:
    images = TrainingImages(split(folder))
    prints = {images.bank().fingerprint, images.bank("lab").fingerprint, TrainingImages(split(folder, size=8)).bank().fingerprint}
    banks.cached_bank(Samples(folder / "synthetic.parquet", "test"))
    assert len(prints) == 3
    assert len(list(folder.glob("*.bank"))) == 4


def test_a_damaged_file_is_made_again(folder: Path) -> None:
    first = TrainingImages(split(folder)).bank()
    (path,) = folder.glob("*.bank")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert TrainingImages(split(folder)).bank().fingerprint == first.fingerprint
    assert path.read_bytes() == whole


def test_a_folder_marked_as_read_only_is_not_written_to(folder: Path) -> None:
    folder.chmod(0o555)  # for the superuser this is a mark, not a lock, and it is kept all the same
    try:
        assert len(TrainingImages(split(folder)).bank()) == 6
        assert not list(folder.glob("*.bank"))
    finally:
        folder.chmod(0o755)


def test_a_folder_without_a_manifest_is_not_written_to(folder: Path) -> None:
    manifest = split(folder).manifest
    (folder / "synthetic.parquet").unlink()
    assert len(TrainingImages(Samples(manifest, "train", root=folder)).bank()) == 6
    assert not list(folder.glob("*.bank"))
