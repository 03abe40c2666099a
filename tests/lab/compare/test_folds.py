"""Each hospital is left out in turn; one hospital's images are divided by patient."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.compare.folds import make_folds, notes_on, write_folds
from recolorist_lab.compare.images import ImageSource, find_images
from recolorist_lab.data.manifest import Manifest
from tests.lab.fakes.parts import picture


def test_each_hospital_is_tested_on_once_and_not_trained_on(hospitals: Path) -> None:
    folds = make_folds(find_images(ImageSource(hospitals))[0], 2)
    assert [fold.target for fold in folds] == ["a", "b", "c"]
    for fold in folds:
        assert fold.seeds == (0, 1)
        assert {entry.domain for entry in fold.manifest if entry.split == "test"} == {fold.target}
        assert fold.target not in {entry.domain for entry in fold.manifest if entry.split == "train"}


def test_a_share_keeps_patients_together_and_changes_with_the_seed(hospitals: Path) -> None:
    source = ImageSource(hospitals / "a", group_pattern=r"(p\d+)_", is_one_hospital=True)
    folds = make_folds(find_images(source)[0], 3, 0.5)
    assert [fold.seeds for fold in folds] == [(0,), (1,), (2,)]
    tests = [frozenset(entry.group for entry in fold.manifest if entry.split == "test") for fold in folds]
    for fold, groups in zip(folds, tests, strict=True):
        assert groups.isdisjoint({entry.group for entry in fold.manifest if entry.split == "train"})
    assert len(set(tests)) > 1


def test_a_share_is_for_one_hospital(hospitals: Path) -> None:
    with pytest.raises(OptionError, match="--test-share is for images of one hospital, and these are of 3, such as 'a'"):
        make_folds(find_images(ImageSource(hospitals, is_one_hospital=True))[0], 1, 0.3)


def test_names_that_no_file_could_have(tmp_path: Path) -> None:
    for number, hospital in enumerate(["Zürich: Süd", "Zürich: Nord"]):
        picture(tmp_path / hospital / "x" / "1.png", number)
        picture(tmp_path / hospital / "y" / "1.png", number + 9)
    folds = make_folds(find_images(ImageSource(tmp_path))[0], 1)
    write_folds(folds, tmp_path / "data")
    for fold in folds:
        assert Manifest.read(tmp_path / "data" / f"{fold.name}.parquet").facts.dataset == fold.name
    assert len({fold.name for fold in folds}) == 2


def test_too_few_hospitals_or_classes(hospitals: Path, tmp_path: Path) -> None:
    one = find_images(ImageSource(hospitals / "a", is_one_hospital=True))[0]
    with pytest.raises(OptionError, match="all images are of one hospital"):
        make_folds(one, 1)
    picture(tmp_path / "one" / "a" / "x" / "1.png", 1)
    with pytest.raises(OptionError, match="there is one class"):
        make_folds(find_images(ImageSource(tmp_path / "one"))[0], 1)


def test_missing_classes_are_named(hospitals: Path) -> None:
    picture(hospitals / "c" / "rare" / "1.png", 5)
    notes = notes_on(make_folds(find_images(ImageSource(hospitals))[0], 1))
    assert "a has no image of rare; its balanced accuracy is of the other classes." in notes
    assert "Only c has images of rare; no training for it sees that class." in notes


def test_divisions_in_which_nothing_can_be_learnt_or_tested_are_refused(tmp_path: Path) -> None:
    for number, path in enumerate(["a/healthy", "a/ill", "b/benign", "b/malignant"]):
        picture(tmp_path / "disjoint" / path / "1.png", number)
    with pytest.raises(OptionError, match="a has images of healthy, ill, and all others are of benign, malignant: no"):
        make_folds(find_images(ImageSource(tmp_path / "disjoint"))[0], 1)
    for number, path in enumerate(["a/ill", "b/ill", "b/healthy"]):
        picture(tmp_path / "one_class" / path / "1.png", number)
    with pytest.raises(OptionError, match="with b held out, all images to train on are of one class, 'ill'; add images"):
        make_folds(find_images(ImageSource(tmp_path / "one_class"))[0], 1)
