"""The traps of the layouts with tables: what is dropped, matched without case, or missing."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import CountError, index
from recolorist_lab.data.layouts.files import table
from tests.lab.fakes import retina
from tests.lab.fakes.parts import Fake, copied, picture, write_table

LaidOut = Callable[[str], tuple[Fake, Path]]


class TestCamelyon17:
    def test_the_hospital_decides_before_the_stored_split(self, laid_out: LaidOut) -> None:
        one, root = laid_out("camelyon17")
        manifest = index(one.card, root)
        where = Counter(zip(manifest.column("domain"), manifest.column("split"), strict=True))
        assert {split for domain, split in where if domain == "hospital_1"} == {"val"}
        assert {split for domain, split in where if domain == "hospital_2"} == {"test"}
        assert {split for domain, split in where if domain == "hospital_0"} == {"train", "id_val"}

    def test_patients_are_groups(self, laid_out: LaidOut) -> None:
        one, root = laid_out("camelyon17")
        manifest = index(one.card, root)
        for path, group in zip(manifest.column("path"), manifest.column("group"), strict=True):
            assert f"/{group}_node_" in path
        assert len(set(manifest.column("group"))) > 5

    def test_patients_keep_their_zeros(self, laid_out: LaidOut) -> None:
        one, root = laid_out("camelyon17")
        assert any("/patient_001_node_" in path for path in index(one.card, root).column("path"))

    def test_a_missing_patch_is_listed_and_refused(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "camelyon17", tmp_path)
        lost = next((root / "camelyon17_v1.0" / "patches").rglob("*.png"))
        lost.unlink()
        with pytest.raises(CountError, match=f"Left out were 1, such as: .*{lost.name} was not found"):
            index(one.card, root)

    def test_a_strange_table_is_an_error_of_ours(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "camelyon17", tmp_path)
        path = root / "camelyon17_v1.0" / "metadata.csv"
        path.write_text(path.read_text().replace(",40,4,", ",40,four,"))
        with pytest.raises(MissingDataError, match="holds something unexpected"):
            index(one.card, root)


class TestFitzpatrick17k:
    def test_missing_images_are_counted_by_split_and_class(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "fitzpatrick17k", tmp_path)
        manifest = index(one.card, root)
        gone = [manifest[0], manifest[1], manifest[len(manifest) - 1]]
        for entry in gone:
            (root / entry.path).unlink()
        with pytest.raises(CountError):
            index(one.card, root)
        partial = index(one.card, root, allow_different=True)
        assert len(partial) == len(manifest) - 3
        assert not partial.facts.complete
        found = Counter(left.reason for left in partial.facts.excluded)
        want = Counter(f"was not found ({entry.split}, {entry.source_label})" for entry in gone)
        assert {reason: count for reason, count in found.items() if "not found" in reason} == dict(want)

    def test_rows_without_a_skin_type_are_dropped_and_said(self, laid_out: LaidOut) -> None:
        one, root = laid_out("fitzpatrick17k")
        manifest = index(one.card, root)
        assert any(left.reason == "6 rows have no skin type" for left in manifest.facts.excluded)
        assert set(manifest.column("domain")) == {f"FST{scale}" for scale in range(1, 7)}

    def test_names_that_are_not_the_md5_are_counted(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "fitzpatrick17k", tmp_path)
        assert dict(index(one.card, root).facts.options)["files_whose_md5_is_not_their_name"] == "0"
        picture(root / index(one.card, root)[0].path, 77)
        assert dict(index(one.card, root).facts.options)["files_whose_md5_is_not_their_name"] == "1"


class TestRetina:
    def test_the_patients_grade_counts(self, laid_out: LaidOut) -> None:
        one, root = laid_out("retina")
        graded = {(entry.group, entry.labels[0]) for entry in index(one.card, root) if entry.domain == "DeepDRiD"}
        assert graded == {(f"patient_{grade}", grade) for grade in range(5)}

    def test_an_image_without_a_grade_is_listed(self, laid_out: LaidOut) -> None:
        one, root = laid_out("retina")
        assert ("MESSIDOR2/IM002385.jpg", "has no grade") in [
            (left.path, left.reason) for left in index(one.card, root).facts.excluded
        ]

    def test_the_case_of_endings_does_not_matter(self, laid_out: LaidOut) -> None:
        one, root = laid_out("retina")
        assert any(path.endswith(".JPG") for path in index(one.card, root).column("path"))

    def test_the_rehost_of_aptos_is_pooled(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "retina", tmp_path)
        rows = table(root / "APTOS" / "train.csv", ("id_code", "diagnosis"))
        (root / "APTOS" / "train.csv").unlink()
        for name, part in (("train_1", rows[:9]), ("valid", rows[9:12]), ("test", rows[12:])):
            write_table(root / "APTOS" / f"{name}.csv", ("id_code", "diagnosis"), [tuple(row.values()) for row in part], "\n")
        assert index(one.card, root).facts.complete

    def test_official_idrid_on_request(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "retina", tmp_path)
        official = root / "IDRiD" / "official"
        for part in ("train", "test"):
            rows = [(f"IDRiD_00{number}", number, 0) for number in range(1, 4)]
            write_table(official / f"IDRiD_{part}.csv", ("Image name", "Retinopathy grade", "Risk of macular edema"), rows)
            for name, grade, _ in rows:
                picture(official / f"{part}_images" / f"{name}.jpg", grade, (9, 13))
        manifest = index(one.card, root, options={"idrid": "official516"}, allow_different=True)
        assert manifest.sizes()["val"] == 6
        assert dict(manifest.facts.options)["idrid"] == "official516"
        assert dict(index(one.card, root).facts.options)["idrid"] == "rehost455"

    def test_unknown_options_are_errors(self, laid_out: LaidOut) -> None:
        one, root = laid_out("retina")
        with pytest.raises(OptionError, match="idrid='all'; accepted are rehost455, official516"):
            index(one.card, root, options={"idrid": "all"})
        with pytest.raises(OptionError, match="has no option indrid; it has idrid"):
            index(one.card, root, options={"indrid": "x"})

    @pytest.mark.parametrize("source", ["APTOS", "DeepDRiD", "IDRiD", "MESSIDOR2"])
    def test_each_source_is_missed_by_name(self, source: str, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "retina", tmp_path)
        shutil.rmtree(root / source)
        with pytest.raises(MissingDataError, match=f"{source}.* was not found"):
            index(one.card, root)

    def test_the_trap_is_set(self) -> None:
        assert "left_eye_DR_Level" in retina.DEEPDRID
