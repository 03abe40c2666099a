"""Your own .npz becomes a manifest like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.data.arrays import ArrayError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.own import IndexOptions
from recolorist_lab.data.own_arrays import index_npz

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


def test_everything_said_is_in_the_manifest(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        images=IMAGES,
        labels=np.array(["b", "a", "b", "a", "b", "a"]),
        splits=np.array(["train", "train", "Validation", "val", "test", "test"]),
        domains=np.array(["north", "south"] * 3),
        groups=np.array([f"p{number}" for number in range(6)]),
    )
    manifest = index_npz(path, IndexOptions("mine"))
    assert manifest.sizes() == {"train": 2, "val": 2, "test": 2}
    assert manifest.facts.classes == ("a", "b")
    assert manifest.column("shape") == ["8x8x3"] * 6
    samples = Samples(manifest, root=tmp_path, size=None)
    for sample in samples:
        row = int(sample.key.rpartition("#")[2])
        assert np.array_equal(sample.image, IMAGES[row])
        assert (sample.label, sample.domain) == (1 - row % 2, ("north", "south")[row % 2])


def test_arrays_for_each_split(tmp_path: Path) -> None:
    labels = np.array([[1], [0], [1]])
    path = saved(tmp_path, train_images=IMAGES[:3], train_labels=labels, test_images=IMAGES[3:, ..., 0], test_labels=labels)
    manifest = index_npz(path, IndexOptions("mine", classes=("0", "1")))
    assert manifest.sizes() == {"train": 3, "test": 3}
    assert manifest.labels() == [(1,), (0,), (1,)] * 2


def test_numbers_are_indices_where_classes_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path, images=IMAGES, labels=np.arange(6) % 2, classes=np.array(["nevus", "melanoma"]))
    manifest = index_npz(path, IndexOptions("mine"))
    assert manifest.facts.classes == ("nevus", "melanoma")
    assert manifest.labels() == [(0,), (1,)] * 3


def test_several_labels(tmp_path: Path) -> None:
    path = saved(tmp_path, images=IMAGES[:2], labels=np.array([[1, 0, 1], [0, 0, 0]]))
    assert index_npz(path, IndexOptions("mine", multilabel=True, classes=("0", "1", "2"))).labels() == [(0, 2), ()]


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ({"pictures": IMAGES}, ArrayError, "holds the arrays pictures"),
        ({"images": IMAGES}, ArrayError, "has no array 'labels'"),
        ({"images": IMAGES, "labels": np.array([object()] * 6)}, ArrayError, "Python objects"),
        ({"images": IMAGES, "labels": np.zeros(5, int)}, OptionError, r"labels are int64 of shape \(5,\)"),
        ({"images": IMAGES, "labels": np.zeros(6)}, OptionError, "labels are float64"),
        ({"images": IMAGES.astype(np.float32), "labels": np.zeros(6, int)}, ArrayError, "are float32"),
        ({"images": IMAGES, "labels": np.zeros(6, int), "splits": np.array(["train"])}, OptionError, "splits has the shape"),
        ({"images": IMAGES, "labels": np.zeros(6, int), "splits": np.array(["x"] * 6)}, OptionError, "is not a split"),
    ],
)
def test_what_is_not_a_set_of_images_is_refused(arrays: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        index_npz(saved(tmp_path, **arrays), IndexOptions("mine"))


def test_an_archive_that_lost_members_is_refused(tmp_path: Path) -> None:
    """One wrong bit hid the groups, and patients were divided between training and test set."""
    path = tmp_path / "mine.npz"
    arrays: dict[str, Any] = {"images": IMAGES, "labels": np.arange(6) % 2, "groups": np.array(["one"] * 6)}
    np.savez(path, **arrays)
    data = bytearray(path.read_bytes())
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    data[second + 32] ^= 64  # the length of its comment
    path.write_bytes(data)
    with pytest.raises(ArrayError, match="declares 3 members and lists 2"):
        index_npz(path, IndexOptions("mine"))


def test_a_refused_archive_leaves_arrays_and_manifest_alone(tmp_path: Path) -> None:
    """Otherwise the next training would use other pixels under the old fingerprint."""
    manifest = index_npz(saved(tmp_path, images=IMAGES, labels=np.arange(6) % 2), IndexOptions("mine"))
    with pytest.raises(OptionError, match="labels are"):
        index_npz(saved(tmp_path, images=255 - IMAGES, labels=np.arange(5)), IndexOptions("mine"))
    for place, sample in enumerate(samples := Samples(manifest, root=tmp_path, size=None)):
        samples.refuse_changed(place)
        assert np.array_equal(sample.image, IMAGES[place])
    accepted = index_npz(saved(tmp_path, images=255 - IMAGES, labels=np.arange(6) % 2), IndexOptions("mine"))
    assert np.array_equal(Samples(accepted, root=tmp_path, size=None)[0].image, 255 - IMAGES[0])
    assert {path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")} == {"mine", "mine.npz"}


def test_a_folder_of_other_files_is_not_replaced(tmp_path: Path) -> None:
    """Images in ``mine/`` beside ``mine.npz`` are the user's."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "scan.png").write_bytes(b"precious")
    with pytest.raises(ArrayError, match=r"contains other files, such as scan\.png.*--out"):
        index_npz(saved(tmp_path, images=IMAGES, labels=np.arange(6) % 2), IndexOptions("mine"))
    assert (tmp_path / "mine" / "scan.png").read_bytes() == b"precious"


def test_the_command(tmp_path: Path) -> None:
    source = tmp_path / "read_only"
    source.mkdir()
    path, out = saved(source, images=IMAGES, labels=np.arange(6) % 2), tmp_path / "out" / "mine.parquet"
    out.parent.mkdir()
    words = ["data", "index", "--npz", str(path), "--out", str(out), "--test-share", "0.34", "--name", "cells"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "6 images (train 4, test 2)" in result.output
    assert [entry.name for entry in source.iterdir()] == ["mine.npz"]
    assert Samples(out, "test", size=4)[0].image.shape == (4, 4, 3)
    refused = CliRunner().invoke(app, [*words, "--label-from", "1"])
    assert isinstance(refused.exception, OptionError)


def test_the_command_puts_arrays_and_manifest_into_the_folder_of_the_data(tmp_path: Path) -> None:
    """They belong together: paths of a manifest are relative to its folder."""
    (source := tmp_path / "archives").mkdir()
    (root := tmp_path / "data").mkdir()
    path = saved(source, images=IMAGES, labels=np.arange(6) % 2)
    result = CliRunner().invoke(app, ["data", "index", "--npz", str(path), "--root", str(root)])
    assert result.exit_code == 0, result.output
    assert [entry.name for entry in source.iterdir()] == ["mine.npz"]
    assert Samples(root / "mine.parquet", "train", size=4)[0].image.shape == (4, 4, 3)
