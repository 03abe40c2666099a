"""What a collection consists of: folders, manifests, lists and stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist import collections as batch
from recolorist.collections.items import open_collection
from recolorist.collections.options import SourceOptions
from recolorist.errors import ImageError, OptionError, RecoloristError
from tests.commands import picture
from tests.hostile.files import damaged_npz


class TestItems:
    def test_a_folder(self, folder: Path) -> None:
        with open_collection(folder, SourceOptions(domain_from=0)) as images:
            assert len(images) == 6
            first = images.items[0]
            assert (first.key, first.label, first.domain) == ("hospital_a/benign/tile 000.png", "benign", "hospital_a")
            assert [item.key for item in images.items] == sorted(item.key for item in images.items)

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
    def test_a_manifest(self, tmp_path: Path, folder: Path, suffix: str) -> None:
        rows = [
            {"path": path.relative_to(tmp_path).as_posix(), "label": str(i), "domain": "x", "split": ("train", "test")[i % 2]}
            for i, path in enumerate(sorted(folder.rglob("*.png")))
        ]
        path = tmp_path / f"m{suffix}"
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
        else:
            mark = "," if suffix == ".csv" else "\t"
            path.write_text("\n".join(mark.join(row) for row in [list(rows[0]), *(list(row.values()) for row in rows)]), "utf-8")
        with open_collection(path, SourceOptions(split="train")) as images:
            assert [item.label for item in images.items] == ["0", "2", "4"]
            assert images.splits == ("test", "train")
        with pytest.raises(OptionError, match="no split 'val'"), open_collection(path, SourceOptions(split="val")):
            pass
        with pytest.raises(OptionError, match="would leak into training"):
            batch.build_bank(path)
        assert batch.build_bank(path, split="train").bank.split == "train"

    @pytest.mark.parametrize("bad", ["../secret.png", "/etc/hosts.png", "data/../../x.png"])
    def test_a_manifest_cannot_lead_out_of_its_folder(self, tmp_path: Path, bad: str) -> None:
        (tmp_path / "m.csv").write_text(f"path\n{bad}\n", "utf-8")
        with pytest.raises(OptionError, match="does not lie below"), open_collection(tmp_path / "m.csv"):
            pass

    def test_a_list(self, tmp_path: Path, folder: Path) -> None:
        paths = sorted(folder.rglob("*.png"))
        (tmp_path / "list.txt").write_text("\n".join(str(path) for path in paths), "utf-8")
        for source in (tmp_path / "list.txt", paths):
            with open_collection(source, SourceOptions(root=tmp_path)) as images:
                assert images.items[0].key == "data/hospital_a/benign/tile 000.png"
        with (
            pytest.raises(OptionError, match="listed twice"),
            open_collection([paths[0], paths[0]], SourceOptions(root=tmp_path)),
        ):
            pass

    def test_stacks(self, tmp_path: Path) -> None:
        stack = np.stack([picture(i) for i in range(5)])
        labels = np.arange(5)[:, None]
        np.savez_compressed(
            tmp_path / "m.npz", train_images=stack, train_labels=labels, test_images=stack[:2], test_labels=labels[:2]
        )
        np.save(tmp_path / "s.npy", stack)
        found = batch.build_bank(tmp_path / "m.npz", split="train").bank
        assert found.fingerprint == rc.StyleBank.from_npz(tmp_path / "m.npz").fingerprint
        assert (found.split, found.keys, found.labels) == ("train", tuple("01234"), tuple("01234"))
        assert batch.build_bank(tmp_path / "s.npy").bank.fingerprint == found.fingerprint
        with pytest.raises(OptionError, match="splits train, test"):
            batch.build_bank(tmp_path / "m.npz")

    @pytest.mark.parametrize("name", ["none", "empty", "a.csv", "b.csv", "c.npz"])
    def test_what_is_no_collection(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "a.csv").write_text("file,label\nx,y\n", "utf-8")
        (tmp_path / "b.csv").write_bytes(b"\xff\xfe\0\0")
        (tmp_path / "c.npz").write_bytes(b"nothing")
        with pytest.raises(RecoloristError):
            batch.build_bank(tmp_path / name)


class TestNames:
    """What an image is called, and which label and domain its folders give it."""

    @pytest.mark.parametrize(
        ("label_from", "domain_from", "label", "domain"),
        [(-1, 0, "benign", "a"), (0, -1, "a", "benign"), (None, None, None, None), (2, -3, None, None), (1, 5, "benign", None)],
    )
    def test_levels_of_folders(
        self, tmp_path: Path, label_from: int | None, domain_from: int | None, label: str | None, domain: str | None
    ) -> None:
        (tmp_path / "a" / "benign").mkdir(parents=True)
        Image.fromarray(picture()).save(tmp_path / "a" / "benign" / "x.png")
        with open_collection(tmp_path, SourceOptions(label_from, domain_from)) as images:
            assert (images.items[0].label, images.items[0].domain) == (label, domain)

    def test_the_collection_is_called_like_its_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        for source in (".", folder, Path()):
            with open_collection(source) as images:
                assert images.name == folder.name
                assert len(images) == 6

    def test_a_single_image_is_a_collection_of_one(self, tmp_path: Path) -> None:
        Image.fromarray(picture()).save(tmp_path / "x.png")
        with open_collection(tmp_path / "x.png") as images:
            assert [(item.key, item.label) for item in images.items] == [("x.png", None)]
            assert images.name == "x"


class TestManifests:
    def manifest(self, tmp_path: Path, text: str) -> Path:
        (tmp_path / "m.csv").write_text(text, "utf-8-sig")
        return tmp_path / "m.csv"

    def test_empty_cells_are_unknown(self, tmp_path: Path) -> None:
        with open_collection(self.manifest(tmp_path, "path,label,domain\na.png,,x\nb.png,1,\n")) as images:
            assert [(item.label, item.domain) for item in images.items] == [(None, "x"), ("1", None)]

    def test_paths_may_begin_elsewhere(self, tmp_path: Path, folder: Path) -> None:
        with open_collection(self.manifest(tmp_path, "path\na/b.png\n"), SourceOptions(root=folder)) as images:
            assert images.items[0].path == str(folder / "a" / "b.png")
            assert images.items[0].key == "a/b.png"

    @pytest.mark.parametrize("text", ["", "name\nx.png\n", "\n"])
    def test_without_paths_it_is_refused(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(OptionError, match="has no column 'path'"), open_collection(self.manifest(tmp_path, text)):
            pass

    @pytest.mark.parametrize(("rows", "cell"), [(2_000_000, "a.png"), (1, "x" * (64 << 20))])
    def test_a_small_parquet_that_unpacks_to_a_lot(self, tmp_path: Path, rows: int, cell: str) -> None:
        """Twenty million rows in 65 kB took gigabytes before the repeated path was noticed."""
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        column = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(rows, np.int8)), [cell])
        parquet.write_table(arrow.table({"path": column}), tmp_path / "m.parquet", compression="zstd")
        assert (tmp_path / "m.parquet").stat().st_size < 100_000
        with (
            pytest.raises(OptionError, match=r"cannot be read as Parquet: .* bytes declare .* rows and"),
            open_collection(tmp_path / "m.parquet"),
        ):
            pass

    def test_a_file_that_is_no_parquet_is_named(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "m.parquet").write_bytes(b"PAR1 and nothing else")
        with pytest.raises(OptionError, match=r"m\.parquet cannot be read as Parquet"), open_collection(tmp_path / "m.parquet"):
            pass

    def test_splits_are_listed_where_none_was_chosen(self, tmp_path: Path) -> None:
        path = self.manifest(tmp_path, "path,split\na.png,train\nb.png,test\nc.png,\n")
        with open_collection(path) as images:
            assert (images.splits, len(images)) == (("test", "train"), 3)
        with open_collection(path, SourceOptions(split="test")) as images:
            assert [item.key for item in images.items] == ["b.png"]


class TestArchives:
    def archive(self, tmp_path: Path, **arrays: Any) -> Path:
        np.savez(tmp_path / "a.npz", **arrays)
        return tmp_path / "a.npz"

    def test_the_only_split_needs_no_name(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path, val_images=np.stack([picture(0), picture(1)]), val_labels=np.array([[3], [4]]))
        with open_collection(path) as images:
            assert images.split == "val"
            assert [(item.key, item.label) for item in images.items] == [("0", "3"), ("1", "4")]

    def test_several_labels_of_an_image_are_one_name(self, tmp_path: Path) -> None:
        path = self.archive(tmp_path, val_images=np.stack([picture(0)]), val_labels=np.array([[1, 0, 1]]))
        with open_collection(path) as images:
            assert images.items[0].label == "1+0+1"

    def test_one_array_without_a_name_of_ours_is_the_images(self, tmp_path: Path) -> None:
        with open_collection(self.archive(tmp_path, x=np.stack([picture(0), picture(1)]))) as images:
            assert (len(images), images.items[0].label) == (2, None)

    @pytest.mark.parametrize("split", [None, "other"])
    def test_of_several_splits_one_must_be_named(self, tmp_path: Path, split: str | None) -> None:
        path = self.archive(tmp_path, train_images=np.stack([picture(0)]), test_images=np.stack([picture(1)]))
        with (
            pytest.raises(OptionError, match=r"a\.npz: it has the splits train, test, and .* was asked for"),
            open_collection(path, SourceOptions(split=split)),
        ):
            pass

    def test_what_was_unpacked_is_removed(self, tmp_path: Path) -> None:
        with open_collection(self.archive(tmp_path, x=np.stack([picture(0)]))) as images:
            unpacked = Path(images.items[0].path)
            assert unpacked.is_file()
        assert not unpacked.exists()

    def test_a_damaged_npy_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01")
        with pytest.raises(ImageError, match=r"a\.npy cannot be read as NPY"), open_collection(tmp_path / "a.npy"):
            pass

    @pytest.mark.parametrize("how", ["packed bytes", "method", "encrypted"])
    def test_a_damaged_archive_is_refused_in_a_sentence(self, tmp_path: Path, how: str) -> None:
        """It ended in an error of zlib or zipfile."""
        path = tmp_path / "a.npz"
        path.write_bytes(damaged_npz(how, x=np.stack([picture(0), picture(1)])))
        with pytest.raises(ImageError, match=r"a\.npz cannot be read as an archive of images"), open_collection(path):
            pass

    def test_an_archive_that_lost_members_is_refused(self, tmp_path: Path) -> None:
        """One wrong bit hid the labels, and the other splits: what was left was read as if it were all."""
        images = np.stack([picture(0), picture(1)])
        path = tmp_path / "a.npz"
        path.write_bytes(damaged_npz("comment", train_images=images, train_labels=np.arange(2), test_images=images))
        with pytest.raises(ImageError, match="declares 3 members and lists 1"), open_collection(path):
            pass

    def test_a_member_that_ends_early_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        path = tmp_path / "a.npz"
        path.write_bytes(damaged_npz("packed size", x=np.zeros((2000, 64, 64, 3), np.uint8)))
        with pytest.raises(ImageError, match=r"a\.npz cannot be read as an archive of images"), open_collection(path):
            pass


@pytest.mark.parametrize("labels", [np.arange(2), np.arange(9), np.uint8(3)], ids=["fewer", "more", "one number"])
def test_an_archive_has_one_label_for_each_image(tmp_path: Path, labels: Any) -> None:
    """Fewer ended in an IndexError; more were cut off, so that labels of other images were taken."""
    path = tmp_path / "a.npz"
    np.savez(path, train_images=np.zeros((3, 8, 9, 3), np.uint8), train_labels=labels)
    with pytest.raises(ImageError, match=r"a\.npz: it has \d+ label\(s\) for 3 image\(s\)"), open_collection(path):
        pass


@pytest.mark.parametrize("shape", [(10**9, 0, 16, 3), (0, 16, 16, 3), (3, 16, 0, 3)])
def test_a_stack_without_pixels_is_refused_before_its_images_are_listed(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """A header of 128 bytes made a list of as many images as it declared."""
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_2_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with pytest.raises(ImageError, match=r"a\.npy has shape .*, so it has no pixels"), open_collection(tmp_path / "a.npy"):
        pass


def test_a_list_in_another_encoding_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """It ended in a UnicodeDecodeError."""
    (tmp_path / "list.txt").write_bytes("café.png\n".encode("latin-1"))
    words = r"list\.txt cannot be read as a list of files: .* Save it as UTF-8"
    with pytest.raises(OptionError, match=words), open_collection(tmp_path / "list.txt"):
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('path,label\n0.png,"a\n1.png,b\n2.png,a\n', "unexpected end of data"),
        ('path,label\n0.png,"a"b\n1.png,b\n', "expected after"),
        ("path,label,label\n0.png,a,b\n", "two columns 'label'"),
    ],
    ids=["open quotation mark", "text after a quotation mark", "repeated column"],
)
def test_tables_that_would_lose_rows_or_columns(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(OptionError, match=words), open_collection(tmp_path / "a.csv"):
        pass
