"""Data of one's own, from folders and tables; real images of blood cells and retinas where they are at hand."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import OptionError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import check, index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.own import Columns, IndexOptions, index_folder, index_table
from recolorist_lab.data.registry import card_of
from recolorist_lab.data.statistics import summary
from tests.commands import shared_data
from tests.lab.fakes.parts import picture, write_table

OUTSIDE = "lies outside the folder that paths are relative to; name one that holds all images with --root"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number, path in enumerate(["a/cat/1.png", "a/dog/2.jpg", "a/dog/3.tif", "b/cat/4.png", "b/10/5.png", "b/9/6.png"]):
        picture(tmp_path / path, number)
    return tmp_path


class TestFolder:
    def test_levels_name_domain_and_label(self, tree: Path) -> None:
        manifest = index_folder(tree, IndexOptions("pets"), label_from=1, domain_from=0)
        assert manifest.facts.classes == ("9", "10", "cat", "dog")
        assert Counter(manifest.column("domain")) == Counter(a=3, b=3)
        assert Counter(manifest.column("source_label")) == Counter(cat=2, dog=2, **{"9": 1, "10": 1})
        assert check(manifest, tree) == []

    def test_a_class_of_which_no_image_can_be_read_is_none(self, tree: Path) -> None:
        for name in ("a/axolotl/8.png", "a/dog/9.png"):
            (tree / name).parent.mkdir(exist_ok=True)
            (tree / name).write_bytes(b"no image")
        manifest = index_folder(tree, IndexOptions("pets"), label_from=1, domain_from=0)
        assert manifest.facts.classes == ("9", "10", "cat", "dog")
        assert manifest.labels() == [(manifest.facts.classes.index(name),) for name in manifest.column("source_label")]
        assert {left.path for left in manifest.facts.excluded} == {"a/axolotl/8.png", "a/dog/9.png"}
        stated = IndexOptions("pets", classes=("9", "10", "axolotl", "cat", "dog"))
        assert index_folder(tree, stated, label_from=1, domain_from=0).facts.classes == stated.classes

    def test_without_a_domain_it_is_the_name(self, tree: Path) -> None:
        assert set(index_folder(tree, IndexOptions("pets")).column("domain")) == {"pets"}

    def test_domains_become_splits(self, tree: Path) -> None:
        manifest = index_folder(tree, IndexOptions("pets", test_domains=("b",)), domain_from=0)
        assert manifest.sizes() == {"train": 3, "test": 3}

    def test_a_level_may_name_the_split(self, tmp_path: Path) -> None:
        for number, split in enumerate(("Training", "valid", "test")):
            picture(tmp_path / split / "x" / f"{number}.png", number)
        assert index_folder(tmp_path, IndexOptions("s"), split_from=0).sizes() == {"train": 1, "val": 1, "test": 1}

    def test_a_level_that_is_not_there(self, tree: Path) -> None:
        picture(tree / "stray.png", 9)
        with pytest.raises(OptionError, match=r"stray\.png has 0 folders above it, so none at level -1 to name its label"):
            index_folder(tree, IndexOptions("pets"))

    def test_a_strange_split(self, tree: Path) -> None:
        with pytest.raises(OptionError, match="'a' is not a split"):
            index_folder(tree, IndexOptions("pets"), split_from=0)

    def test_broken_files_are_left_out_and_listed(self, tree: Path) -> None:
        (tree / "a" / "cat" / "7.png").write_bytes(b"\x89PNG broken")
        manifest = index_folder(tree, IndexOptions("pets"))
        assert len(manifest) == 6
        assert not manifest.facts.complete
        assert [left.path for left in manifest.facts.excluded] == ["a/cat/7.png"]

    def test_nothing_to_index(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError, match="contains no PNG, JPEG or TIFF"):
            index_folder(tmp_path, IndexOptions("none"))
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "a.png").write_bytes(b"no")
        with pytest.raises(MissingDataError, match="none of the 1 images"):
            index_folder(tmp_path, IndexOptions("none"))

    def test_classes_may_be_given(self, tree: Path) -> None:
        manifest = index_folder(tree, IndexOptions("pets", classes=("dog", "cat", "9", "10", "cow")))
        assert manifest.class_counts("train") == (2, 2, 1, 1, 0)
        with pytest.raises(OptionError, match="the labels '10', '9' are not among the classes"):
            index_folder(tree, IndexOptions("pets", classes=("dog", "cat")))


class TestTable:
    def write(self, folder: Path, rows: list[tuple[object, ...]], columns: tuple[str, ...]) -> Path:
        for number in range(4):
            picture(folder / f"{number}.png", number, (10, 20))
        return write_table(folder / "labels.csv", columns, rows)

    def test_usual_columns(self, tmp_path: Path) -> None:
        rows: list[tuple[object, ...]] = [("0.png", "a", "north", "training", "p1"), ("1.png", "b", "south", "test", "p2")]
        path = self.write(tmp_path, rows, ("file", "label", "domain", "split", "group"))
        manifest = index_table(path, IndexOptions("mine"))
        assert [(one.path, one.labels, one.domain, one.split, one.group) for one in manifest] == [
            ("0.png", (0,), "north", "train", "p1"),
            ("1.png", (1,), "south", "test", "p2"),
        ]

    def test_columns_of_other_names(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, [("0.png", 3, "x"), ("1.png", 1, "y")], ("img", "grade", "site"))
        columns = Columns(path="img", label="grade", domain="site")
        manifest = index_table(path, IndexOptions("mine", val_domains=("y",)), columns=columns)
        assert manifest.facts.classes == ("1", "3")
        assert manifest.sizes() == {"train": 1, "val": 1}

    def test_boxes(self, tmp_path: Path) -> None:
        rows: list[tuple[object, ...]] = [
            ("0.png", "a", 2, 3, 12, 9),
            ("1.png", "a", 0, 0, 21, 9),
            ("2.png", "a", "", "", "", ""),
        ]
        path = self.write(tmp_path, rows, ("path", "label", "x0", "y0", "x1", "y1"))
        manifest = index_table(path, IndexOptions("mine"))
        assert [(one.path, one.box) for one in manifest] == [("0.png", (2, 3, 12, 9)), ("2.png", None)]
        assert "which the box (0, 0, 21, 9) leaves" in manifest.facts.excluded[0].reason
        image = np.asarray(Image.open(tmp_path / "0.png"))
        assert np.array_equal(Samples(manifest, root=tmp_path, size=None)[0].image, image[3:9, 2:12])

    def test_several_labels(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, [("0.png", "b|a"), ("1.png", ""), ("2.png", "c")], ("path", "label"))
        manifest = index_table(path, IndexOptions("mine", multilabel=True))
        assert manifest.facts.task == "multilabel"
        assert manifest.labels() == [(0, 1), (), (2,)]

    def test_what_cannot_be_used_is_listed(self, tmp_path: Path) -> None:
        rows: list[tuple[object, ...]] = [("0.png", "a"), ("1.png", ""), ("9.png", "a"), ("../up.png", "a"), ("/etc/x.png", "a")]
        rows.append(("x" * 300, "a"))
        path = self.write(tmp_path, rows, ("path", "label"))
        manifest = index_table(path, IndexOptions("mine"))
        reasons = {left.path: left.reason for left in manifest.facts.excluded}
        assert reasons == {
            "1.png": "has no label",
            "9.png": "was not found",
            "x" * 300: "was not found",  # longer than any name may be
            "../up.png": OUTSIDE,
            "/etc/x.png": OUTSIDE,
        }

    def test_absolute_and_roundabout_paths_below_the_root(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "data")
        self.write(tmp_path / "data", [], ("path",))
        rows: list[tuple[object, ...]] = [(tmp_path / "link" / "0.png", "a"), ("other/../1.png", "b")]
        path = write_table(tmp_path / "l.csv", ("path", "label"), rows)
        manifest = index_table(path, IndexOptions("mine"), root=tmp_path / "link")
        assert [entry.path for entry in manifest] == ["0.png", "1.png"]

    def test_columns_that_were_named_must_be_there(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, [("0.png", "a"), ("1.png", "b")], ("path", "label"))
        for columns in (Columns(group="patientt"), Columns(domain="patientt"), Columns(split="patientt")):
            with pytest.raises(MissingDataError, match="has no column 'patientt'; it has 'path', 'label'"):
                index_table(path, IndexOptions("mine"), columns=columns)
        assert len(index_table(path, IndexOptions("mine"), columns=Columns(split="none", group=""))) == 2

    def test_boxes_that_are_no_numbers(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, [("0.png", "a", "left", 3, 12, 9)], ("path", "label", "x0", "y0", "x1", "y1"))
        with pytest.raises(OptionError, match=r"0\.png: the box 'left', '3', '12', '9' is not of four whole numbers"):
            index_table(path, IndexOptions("mine"))

    def test_paths_relative_to_another_folder(self, tmp_path: Path) -> None:
        self.write(tmp_path / "data", [], ("path",))
        path = write_table(tmp_path / "lists" / "l.csv", ("path", "label"), [("0.png", "a"), ("1.png", "b")])
        assert len(index_table(path, IndexOptions("mine"), root=tmp_path / "data")) == 2

    def test_missing_columns(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, [("0.png", "a")], ("picture", "label"))
        with pytest.raises(OptionError, match="has no column 'path or file or filename or image'"):
            index_table(path, IndexOptions("mine"))
        with pytest.raises(MissingDataError, match="has no column 'kind'; it has 'picture', 'label'"):
            index_table(path, IndexOptions("mine"), columns=Columns(label="kind"))


class TestRealImages:
    """Indexed as any user would; skipped where they are not."""

    def test_blood_by_its_table(self) -> None:
        folder = shared_data("blood")
        plan = IndexOptions("blood", test_domains=("zheng18_tecom",))
        manifest = index_table(folder / "labels.csv", plan, root=folder.parent)
        assert manifest.facts.excluded == ()
        assert manifest.sizes() == {"train": 1500, "test": 300}
        assert len(manifest.facts.classes) == 8
        with (folder / "labels.csv").open(newline="") as file:
            counts = Counter((row["domain"], row["label"]) for row in csv.DictReader(file))
        assert Counter(zip(manifest.column("domain"), manifest.column("source_label"), strict=True)) == counts
        line = summary(manifest)
        assert (line.ir, round(line.entropy, 4)) == (2.4, 0.9655)  # 240 of five classes, 100 of three
        for split in ("train", "test"):
            samples = Samples(manifest, split, root=folder.parent, size=64)
            assert all(samples[place].image.shape == (64, 64, 3) for place in range(0, len(samples), 97))

    def test_the_same_by_its_folders(self) -> None:
        folder = shared_data("blood")
        manifest = index_folder(folder, IndexOptions("blood", test_domains=("zheng18_tecom",)), label_from=1, domain_from=0)
        assert set(manifest.column("domain")) == {"acevedo20", "zheng18_tecom"}
        assert manifest.sizes()["train"] == 1500

    def test_retina_by_its_table(self) -> None:
        folder = shared_data("retina")
        columns = Columns(label="grade", group="patient", split="none")
        manifest = index_table(
            folder / "labels.csv", IndexOptions("retina", test_domains=("idrid",)), root=folder.parent, columns=columns
        )
        assert manifest.facts.classes == ("0", "1", "2", "3", "4")
        assert manifest.sizes() == {"train": 500, "test": 516}
        assert manifest.facts.excluded == ()
        groups = {one.group for one in manifest if one.domain == "deepdrid_regular"}
        assert len(groups) > 100
        sample = Samples(manifest, "test", root=folder.parent, size=96, resize="letterbox")[0]
        assert sample.image.shape == (96, 96, 3)

    def test_a_real_medmnist_archive_meets_its_card(self, tmp_path: Path) -> None:
        """PneumoniaMNIST at 28 pixels: counts per split and class, IR and H are those of the paper, without any override."""
        card = card_of("pneumoniamnist_28")
        manifest = index(card, shared_data("medmnist"), into=tmp_path)
        assert manifest.facts.complete
        assert summary(manifest, card).agrees is True
        sample = Samples(manifest, "train", root=tmp_path, size=224)[0]
        assert sample.image.shape == (224, 224, 3)
        assert np.ptp(sample.image.astype(int), axis=2).max() == 0
