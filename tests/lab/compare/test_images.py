"""Which folders and tables a comparison understands, and what it keeps of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.compare.images import ImageSource, empty_hospitals, find_images, store_images
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.own import Columns
from tests.lab.fakes.parts import picture, write_table


class TestFind:
    def test_levels_are_hospital_and_class(self, hospitals: Path) -> None:
        manifest, root = find_images(ImageSource(hospitals))
        assert root == hospitals.resolve()
        assert sorted(set(manifest.column("domain"))) == ["a", "b", "c"]
        assert manifest.facts.classes == ("healthy", "ill")

    def test_a_pattern_names_the_patient(self, hospitals: Path) -> None:
        manifest, _ = find_images(ImageSource(hospitals, group_pattern=r"(p\d+)_"))
        assert set(manifest.column("group")) == {"p0", "p1", "p2", "p3"}

    def test_one_hospital_needs_a_share(self, hospitals: Path) -> None:
        with pytest.raises(OptionError, match="--test-share"):
            find_images(ImageSource(hospitals / "a"))
        manifest, _ = find_images(ImageSource(hospitals / "a", is_one_hospital=True))
        assert len(manifest) == 16
        assert len(set(manifest.column("domain"))) == 1

    def test_files_at_different_depths(self, hospitals: Path) -> None:
        picture(hospitals / "stray.png", 1)
        with pytest.raises(OptionError, match=r"stray\.png is at another folder level"):
            find_images(ImageSource(hospitals))

    def test_links_to_images_elsewhere(self, hospitals: Path, tmp_path: Path) -> None:
        for path in sorted(hospitals.rglob("*.png")):
            link = tmp_path / "links" / path.relative_to(hospitals)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
        manifest, _ = find_images(ImageSource(tmp_path / "links"))
        assert len(manifest) == 48

    def test_nothing_there(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "absent", picture(tmp_path / "x" / "image.png", 1)):
            if path != tmp_path:
                with pytest.raises(MissingDataError):
                    find_images(ImageSource(path))

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_a_table(self, hospitals: Path, tmp_path: Path, suffix: str) -> None:
        rows = [
            {
                "file": f"images/{path.relative_to(hospitals)}",
                "grade": path.parent.name,
                "site": path.parts[-3],
                "case": path.name[:2],
            }
            for path in sorted(hospitals.rglob("*.png"))
        ]
        table = tmp_path / f"table{suffix}"
        if suffix == ".csv":
            with table.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        else:
            arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            parquet.write_table(arrow.Table.from_pylist(rows), table)
        manifest, root = find_images(ImageSource(table, columns=Columns(label="grade", domain="site", group="case")))
        assert root == tmp_path.resolve()
        assert sorted(set(manifest.column("domain"))) == ["a", "b", "c"]
        assert sorted(set(manifest.column("group"))) == ["p0", "p1", "p2", "p3"]

    def test_a_manifest_of_ours(self, hospitals: Path) -> None:
        indexed, _ = find_images(ImageSource(hospitals))
        manifest, root = find_images(ImageSource(indexed.write(hospitals / "mine.parquet")))
        assert root == hospitals.resolve()
        assert manifest.fingerprint() == indexed.fingerprint()


class TestStore:
    def test_pixels_are_those_of_the_files(self, tmp_path: Path) -> None:
        for number, size in enumerate([(20, 30), (30, 20), (16, 16)]):
            picture(tmp_path / "in" / "a" / "x" / f"{number}.png", number, size)
        manifest, root = find_images(ImageSource(tmp_path / "in"))
        stored = store_images(manifest, root, tmp_path / "data", 16)
        direct = Samples(manifest, root=root, size=16, resize="letterbox")
        again = Samples(stored, root=tmp_path / "data", size=16, resize="letterbox")
        for one, two in zip(direct, again, strict=True):
            assert np.array_equal(one.image, two.image)
            assert one.box == two.box

    def test_rows_are_identified_by_the_pixels_that_are_stored(self, hospitals: Path, tmp_path: Path) -> None:
        stored = store_images(*find_images(ImageSource(hospitals)), tmp_path / "data", 16)
        assert set(stored.column("shape")) == {"16x16x3"}
        samples = Samples(stored, root=tmp_path / "data", size=16, resize="letterbox")
        for number in range(len(samples)):
            samples.refuse_changed(number)

    def test_a_changed_image_is_another_dataset(self, hospitals: Path, tmp_path: Path) -> None:
        def fingerprint() -> str:
            return store_images(*find_images(ImageSource(hospitals)), tmp_path / "data", 16).fingerprint()

        first = fingerprint()
        assert fingerprint() == first
        picture(next(hospitals.rglob("*.png")), 99, (20, 20))
        assert fingerprint() != first


def test_hospitals_without_an_image_to_use_are_named(hospitals: Path) -> None:
    (hospitals / "d" / "ill").mkdir(parents=True)
    (hospitals / "d" / "ill" / "1.png").write_bytes(b"no image")
    (hospitals / "e").mkdir()
    (hospitals / ".hidden").mkdir()
    (hospitals / "f").symlink_to(hospitals / "a")
    source = ImageSource(hospitals)
    sentences = [f"{name} takes no part: it has no image to use." for name in "de"]
    assert empty_hospitals(source, find_images(source)[0]) == [*sentences, "f takes no part: links to folders are not followed."]
    one = ImageSource(hospitals / "a", is_one_hospital=True)
    assert empty_hospitals(one, find_images(one)[0]) == []


def test_a_table_names_the_hospital_of_every_image_or_of_none(tmp_path: Path) -> None:
    for number in range(4):
        picture(tmp_path / f"{number}.png", number)
    rows = [(f"{number}.png", "ab"[number % 2], "north" if number else "") for number in range(4)]
    table = write_table(tmp_path / "some.csv", ("path", "label", "domain"), rows)
    with pytest.raises(OptionError, match=r"1 of 4 images of .*some\.csv have no hospital in the column 'domain'; name it"):
        find_images(ImageSource(table))
    table = write_table(tmp_path / "none.csv", ("path", "label", "domain"), [(path, label, "") for path, label, _ in rows])
    assert set(find_images(ImageSource(table))[0].column("domain")) == {"unnamed hospital"}
