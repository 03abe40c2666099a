"""Rows of MedMNIST's arrays as entries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recolorist_lab.data.arrays import ArrayError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.layouts.arrays import medmnist
from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import saved_arrays


def archive(folder: Path, labels: np.ndarray) -> None:
    images = np.zeros((len(labels), 4, 4), np.uint8)
    arrays = {
        f"{split}_{name}": array for split in ("train", "val", "test") for name, array in (("images", images), ("labels", labels))
    }
    (folder / "chestmnist_224.npz").write_bytes(saved_arrays(arrays))
    (folder / "breastmnist.npz").write_bytes(saved_arrays(arrays))


def test_several_labels_become_indices(tmp_path: Path) -> None:
    labels = np.zeros((3, 14), np.int64)
    labels[0, [2, 5]] = labels[2, 0] = 1
    archive(tmp_path, labels)
    found = medmnist(card_of("chestmnist"), tmp_path)
    assert [entry.labels for entry in found.entries[:3]] == [(2, 5), (), (0,)]
    assert {entry.path for entry in found.entries} == {f"chestmnist_224/{split}_images.npy" for split in ("train", "val", "test")}
    assert "has the MD5" in found.differences[0]


def test_the_folder_of_28_pixels_says_so(tmp_path: Path) -> None:
    archive(tmp_path, np.zeros((3, 1), np.uint8))
    assert medmnist(card_of("breastmnist_28"), tmp_path).entries[0].path == "breastmnist_28/train_images.npy"


@pytest.mark.parametrize(("name", "shape"), [("chestmnist", (3, 13)), ("breastmnist_28", (3, 2))])
def test_another_number_of_labels_is_refused(name: str, shape: tuple[int, int], tmp_path: Path) -> None:
    archive(tmp_path, np.zeros(shape, np.int64))
    with pytest.raises(ArrayError, match="columns"):
        medmnist(card_of(name), tmp_path)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"breastmnist_64\.npz was not found; `recolorist-lab data fetch breastmnist_64"):
        medmnist(card_of("breastmnist_64"), tmp_path)
