"""The traps of single layouts: what is dropped, pooled, matched without case, or unreadable, and how the split is drawn."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import CountError, check, index
from recolorist_lab.data.layouts.files import base_of, pictures, table
from recolorist_lab.data.layouts.folders import divide, held_out, kept_counts
from recolorist_lab.data.manifest import Entry
from tests.lab.fakes import blood, retina
from tests.lab.fakes.parts import Fake, picture, write_table

LaidOut = Callable[[str], tuple[Fake, Path]]


def copied(laid_out: LaidOut, key: str, tmp_path: Path) -> tuple[Fake, Path]:
    """A copy that may be spoilt."""
    one, root = laid_out(key)
    return one, Path(shutil.copytree(root, tmp_path / "copy"))


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
        with pytest.raises(CountError, match=f"Left out were 1, such as: .*{lost.name} is not there"):
            index(one.card, root)

    def test_a_strange_table_is_an_error_of_ours(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "camelyon17", tmp_path)
        path = root / "camelyon17_v1.0" / "metadata.csv"
        path.write_text(path.read_text().replace(",40,4,", ",40,four,"))
        with pytest.raises(MissingDataError, match="holds something unexpected"):
            index(one.card, root)


class TestEpistr:
    def test_train_and_test_folders_are_pooled_and_nch_is_ignored(self, laid_out: LaidOut) -> None:
        one, root = laid_out("epistr")
        paths = index(one.card, root).column("path")
        assert any(path.startswith("NKI/train/") for path in paths)
        assert any(path.startswith("NKI/test/") for path in paths)
        assert not any("NCH" in path for path in paths)
        assert (root / "NCH").is_dir()

    def test_a_folder_on_top_does_no_harm(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = laid_out("epistr")
        shutil.copytree(root, tmp_path / "root" / "EpiStr_archive")
        assert len(index(one.card, tmp_path / "root")) == len(index(one.card, root))


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
        want = Counter(f"is not there ({entry.split}, {entry.source_label})" for entry in gone)
        assert {reason: count for reason, count in found.items() if "not there" in reason} == dict(want)

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


class TestBlood:
    def test_sub_types_come_from_the_name_and_are_not_confused(self, laid_out: LaidOut) -> None:
        """MY, MMY and PMY: a search for 'MY' would find all three."""
        one, root = laid_out("peripheral_blood")
        manifest = index(one.card, root)
        found = {entry.source_label: one.card.classes[entry.labels[0]] for entry in manifest if "/ig/" in entry.path}
        assert found == {"MMY": "metamyelocyte", "MY": "myelocyte", "PMY": "promyelocyte"}

    def test_monoblasts_are_dropped_here_and_blasts_there(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        dropped = {left.path: left.reason for left in index(one.card, root).facts.excluded}
        assert dropped["Matek19/MOB"] == "5 images of MOB, which is not part of this benchmark"
        other, place = laid_out("bone_marrow")
        kept = [entry for entry in index(other.card, place) if entry.source_label == "MOB"]
        assert {other.card.classes[entry.labels[0]] for entry in kept} == {"blast"}
        assert len(kept) == blood.PER_LABEL

    def test_the_unreadable_file_is_named(self, laid_out: LaidOut) -> None:
        one, root = laid_out("bone_marrow")
        broken = [left for left in index(one.card, root).facts.excluded if left.path == blood.BROKEN]
        assert len(broken) == 1
        assert "cannot be opened" in broken[0].reason

    def test_an_unknown_folder_is_said(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "bone_marrow", tmp_path)
        picture(root / "BMC" / "XYZ" / "XYZ_00001.jpg", 3)
        reasons = {left.path: left.reason for left in index(one.card, root).facts.excluded}
        assert reasons["BMC/XYZ"] == "1 images of XYZ, which is no label of this source"

    def test_hidden_files_are_passed_over(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        assert not any("/." in path for path in index(one.card, root).column("path"))

    def test_the_split_does_not_change(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        held = [entry.path for entry in index(one.card, root) if entry.split == "val" and entry.domain == "MLL23"]
        assert len(held) == 18
        assert held[:2] == sorted(held)[:2]
        assert held == [entry.path for entry in index(one.card, root) if entry.split == "val" and entry.domain == "MLL23"]


class TestSplit:
    def test_shares_are_exact_and_the_rest_goes_to_the_largest_remainders(self) -> None:
        assert kept_counts({0: 3, 1: 3, 2: 4}, 0.2) == {0: 3, 1: 2, 2: 3}
        assert sum(kept_counts({0: 616, 1: 2448, 2: 33}, 0.2).values()) == 3097 - 620

    @pytest.mark.parametrize("seed", range(4))
    def test_every_class_is_on_both_sides(self, seed: int) -> None:
        labels = [0] * 40 + [1] * 25 + [2] * 10
        held = held_out(labels, "x", seed=seed)
        assert Counter(labels[place] for place in held) == Counter({0: 8, 1: 5, 2: 2})

    def test_names_and_seeds_draw_differently(self) -> None:
        labels = [0] * 100
        assert held_out(labels, "a") == held_out(labels, "a")
        assert held_out(labels, "a") != held_out(labels, "b")
        assert held_out(labels, "a") != held_out(labels, "a", seed=43)

    def test_domains_are_divided_each_on_its_own(self) -> None:
        rows = [Entry("x", "80/20", domain, f"{domain}/{number}", (0,)) for domain in "ab" for number in range(11)]
        done = divide([*rows, Entry("x", "test", "c", "c/0", (0,))])
        assert Counter((one.domain, one.split) for one in done) == Counter(
            {("a", "val"): 3, ("a", "train"): 8, ("b", "val"): 3, ("b", "train"): 8, ("c", "test"): 1}
        )


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
        with pytest.raises(MissingDataError, match=f"{source}.* is not there"):
            index(one.card, root)

    def test_the_trap_is_set(self) -> None:
        assert "left_eye_DR_Level" in retina.DEEPDRID


class TestOpening:
    def test_every_file_is_opened(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "ddi", tmp_path)
        (root / "000003.png").write_bytes((root / "000003.png").read_bytes()[:-20])
        with pytest.raises(CountError, match=r"000003\.png cannot be opened"):
            index(one.card, root)

    def test_a_link_that_leaves_the_folder_is_not_followed(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "ddi", tmp_path)
        shutil.move(root / "000003.png", tmp_path / "outside.png")
        (root / "000003.png").symlink_to(tmp_path / "outside.png")
        manifest = index(one.card, root, allow_different=True)
        assert ("000003.png", "is a link that leaves the folder") in [
            (left.path, left.reason) for left in manifest.facts.excluded
        ]

    def test_jobs_make_no_difference(self, laid_out: LaidOut) -> None:
        one, root = laid_out("ddi")
        assert index(one.card, root, jobs=1).fingerprint() == index(one.card, root, jobs=4).fingerprint()


class TestCheck:
    def test_a_changed_file_is_found(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "ddi", tmp_path)
        manifest = index(one.card, root)
        picture(root / "000001.png", 5, (30, 30))
        (root / "000002.png").unlink()
        (root / "000003.png").write_bytes(b"broken")
        wrong = "\n".join(check(manifest, root, one.card))
        assert "000001.png has" in wrong
        assert "when it was indexed" in wrong
        assert "000002.png is not there" in wrong
        assert "000003.png cannot be opened" in wrong
        assert len(wrong.splitlines()) == 3

    def test_a_shortened_array_is_found(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "breastmnist", tmp_path)
        manifest = index(one.card, root)
        (root / "breastmnist_224" / "test_images.npy").unlink()
        assert any("cannot be mapped" in sentence for sentence in check(manifest, root))
        shutil.copy(root / "breastmnist_224" / "val_images.npy", root / "breastmnist_224" / "train_images.npy")
        assert any("the manifest names row" in sentence for sentence in check(manifest, root))


class TestTools:
    def test_tables_say_what_they_lack(self, tmp_path: Path) -> None:
        write_table(tmp_path / "a.csv", ("x", "y"), [(1, 2)])
        with pytest.raises(MissingDataError, match="has no column z"):
            table(tmp_path / "a.csv", ("x", "z"))
        write_table(tmp_path / "b.csv", ("x",), [])
        with pytest.raises(MissingDataError, match="has no rows"):
            table(tmp_path / "b.csv", ("x",))
        with pytest.raises(MissingDataError, match="cannot be read as a table"):
            table(tmp_path / "c.csv", ("x",))

    def test_a_mark_at_the_beginning_is_no_part_of_a_name(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfx,y\r\n1,2\r\n")
        assert table(tmp_path / "a.csv", ("x",)) == [{"x": "1", "y": "2"}]

    def test_surplus_cells_and_blank_lines(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("x,y\n 1 ,2,3\n\n,,\n4\n")
        assert table(tmp_path / "a.csv", ("x",)) == [{"x": "1", "y": "2"}, {"x": "4", "y": ""}]

    def test_base(self, tmp_path: Path) -> None:
        (tmp_path / "top" / "want").mkdir(parents=True)
        assert base_of(tmp_path, ["want"]) == tmp_path / "top"
        assert base_of(tmp_path / "top", ["want"]) == tmp_path / "top"
        assert base_of(tmp_path, ["other"]) is None
        assert base_of(tmp_path / "absent", ["want"]) is None

    def test_only_pictures_are_listed(self, tmp_path: Path) -> None:
        for name in ("b.PNG", "a.jpeg", "sub/c.tif"):
            picture(tmp_path / name, 1)
        for name in (".hidden.png", "x.txt", "y.npy"):
            (tmp_path / name).write_bytes(b"")
        assert [path.name for path in pictures(tmp_path)] == ["a.jpeg", "b.PNG", "c.tif"]
        assert pictures(tmp_path / "absent") == []
