"""What all layouts share: opening files, checking them, reading tables, listing pictures."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.index import CountError, check, index
from recolorist_lab.data.layouts.files import base_of, pictures, table
from tests.lab.fakes.parts import Fake, copied, picture, write_table

LaidOut = Callable[[str], tuple[Fake, Path]]


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
        assert "000002.png was not found" in wrong
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
        with pytest.raises(MissingDataError, match="has no column 'z'"):
            table(tmp_path / "a.csv", ("x", "z"))
        write_table(tmp_path / "b.csv", ("x",), [])
        with pytest.raises(MissingDataError, match="has no rows"):
            table(tmp_path / "b.csv", ("x",))
        with pytest.raises(MissingDataError, match="cannot be read as a table"):
            table(tmp_path / "c.csv", ("x",))

    @pytest.mark.parametrize(
        ("text", "words"), [('x,y\n1,"2\n3,4\n', "unexpected end of data"), ("x,y,y\n1,2,3\n", "two columns 'y'")]
    )
    def test_tables_that_would_lose_rows_or_columns(self, tmp_path: Path, text: str, words: str) -> None:
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(MissingDataError, match=words):
            table(tmp_path / "a.csv", ("x", "y"))

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


def test_a_small_parquet_that_unpacks_to_a_lot(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    column = arrow.DictionaryArray.from_arrays(arrow.array([0] * 1_000_000, arrow.int8()), ["a.png"])
    parquet.write_table(arrow.table({"file": column}), tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(MissingDataError, match=r"cannot be read as a table: .* bytes declare 1,000,000 rows"):
        table(tmp_path / "t.parquet", ("file",))
