"""Datasets by name: what is found, what it is called in a run id, and the message when it is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.named import ABSENT, FOLDER, data_root, fingerprint_of, open_dataset
from recolorist_lab.data.synthetic import Recipe, make, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(Recipe(hospitals=3, tiles=4, size=16), tmp_path)
    (tmp_path / "synthetic.parquet").rename(tmp_path / "mine.parquet")
    return tmp_path


class TestFound:
    def test_by_name_in_the_folder_given(self, root: Path) -> None:
        found = open_dataset("mine", root)
        assert found.root == root.resolve()
        images = found.samples("train", size=16)
        assert len(images) == 4
        assert np.array_equal(images[0].image, make(Recipe(hospitals=3, tiles=4, size=16)).samples("train")[0].image)

    def test_by_the_environment(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(FOLDER, str(root))
        assert open_dataset("mine").fingerprint == open_dataset("mine", root).fingerprint
        assert data_root() == root
        assert data_root("other") == Path("other")
        monkeypatch.delenv(FOLDER)
        assert data_root() == data_root("") == Path("data")

    def test_by_path(self, root: Path) -> None:
        assert open_dataset(str(root / "mine.parquet")).title == open_dataset("mine.parquet", root).title

    def test_synthetic_with_a_recipe(self) -> None:
        found = open_dataset("synthetic: hospitals=2, tiles=6,size=24,seed=3")
        assert found.manifest.sizes() == {"train": 6, "test": 6}
        assert found.samples("test")[0].image.shape == (24, 24, 3)
        other = open_dataset("synthetic:hospitals=2,tiles=6,size=24,seed=4")
        assert not np.array_equal(found.samples("test")[0].image, other.samples("test")[0].image)


class TestFingerprint:
    def test_is_of_the_data_and_not_of_the_place(self, root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        shutil.copytree(root, elsewhere, dirs_exist_ok=True)
        assert fingerprint_of("mine", root) == fingerprint_of("mine", elsewhere) != ABSENT

    def test_changes_with_the_manifest(self, root: Path) -> None:
        before = fingerprint_of("mine", root)
        write(Recipe(hospitals=3, tiles=5, size=16), root)
        (root / "synthetic.parquet").replace(root / "mine.parquet")
        assert fingerprint_of("mine", root) != before

    def test_synthetic_is_not_drawn_for_it_and_every_part_of_the_recipe_counts(self) -> None:
        names = ["", ":seed=1", ":size=32", ":tiles=9", ":hospitals=6", ":size=1024,tiles=1000000"]
        assert len({fingerprint_of(f"synthetic{name}") for name in names}) == len(names)

    def test_absent(self, tmp_path: Path) -> None:
        assert fingerprint_of("nothing", tmp_path) == ABSENT


class TestRefused:
    def test_data_that_are_not_here(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError, match=r"'pathmnist' was not found.*recolorist-lab data index pathmnist --root"):
            open_dataset("pathmnist", tmp_path)
        with pytest.raises(MissingDataError, match=r"set RECOLORIST_DATA .* data index --help"):
            open_dataset("mine", tmp_path)

    @pytest.mark.parametrize("name", ["", "a/b", "../mine", "synthetic/x"])
    def test_what_is_neither_name_nor_manifest(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="neither a name nor a manifest"):
            fingerprint_of(name, tmp_path)

    @pytest.mark.parametrize(
        ("recipe", "message"),
        [
            ("synthetic:sise=3", "did you mean 'size'"),
            ("synthetic:size", "is not understood"),
            ("synthetic:size=big", "is not understood"),
            ("synthetic:size=32,size=64", "write each once"),
            ("synthetic:", "'' is unknown"),
            ("synthetic:size=4", "8 to 1024 pixels"),
            ("synthetic:classes=3", "'classes' is unknown"),
        ],
    )
    def test_a_recipe_that_is_none(self, recipe: str, message: str) -> None:
        with pytest.raises(OptionError, match=message):
            open_dataset(recipe)
