"""The rows of a study as a file: complete, or refused with the name of the gap."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.rehearsal.cell import chain
from tests.lab.command import answer, lab
from tests.lab.study_files import finished, grid, rehearsal


class TestTable:
    def test_is_what_it_should_be(self, done: Path, book: Path, tmp_path: Path) -> None:
        out = tmp_path / "table.csv"
        assert lab("sweep", "export", done, "--ledger", book, "--out", out).code == 0
        rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))
        for row, cell in zip(rows, load(done).cells, strict=True):
            index = cell.config.index
            share = int(chain(index, 3)[:8], 16) / 2**32
            assert row == {
                "grid": "train",
                "index": str(index),
                "steps": "3",
                "trouble": "none",
                "ballast": "0",
                "selection": "none",
                "run": cell.run_id,
                "result.chain": chain(index, 3),
                "result.share": repr(share),
            }

    def test_parquet_holds_the_same(self, done: Path, book: Path, tmp_path: Path) -> None:
        parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
        for name in ("a.parquet", "b.parquet"):
            assert lab("sweep", "export", done, "--ledger", book, "--out", tmp_path / name, "--timings").code == 0
        assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
        rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
        assert rows == answer("sweep", "export", done, "--ledger", book, "--timings")

    def test_never_overwrites_unasked(self, done: Path, book: Path, tmp_path: Path) -> None:
        out = tmp_path / "table.csv"
        out.write_text("precious", "utf-8")
        outcome = lab("sweep", "export", done, "--ledger", book, "--out", out)
        assert (outcome.code, out.read_text("utf-8")) == (1, "precious")
        assert lab("sweep", "export", done, "--ledger", book, "--out", out, "--force").code == 0

    @pytest.mark.parametrize("damage", ["missing", "corrupt", "stale", "corrupt file"])
    def test_refuses_a_hole_and_names_it(self, damage: str, book: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2, 3], ballast=640))
        study, ledger = load(path), Ledger(book)
        finished(study, ledger)
        folder = ledger.folder(study.cells[1])
        if damage == "missing":
            (folder / "result.json").unlink()
        elif damage == "corrupt":
            data = bytearray((folder / "result.json").read_bytes())
            data[len(data) // 2] ^= 1
            (folder / "result.json").write_bytes(data)
        elif damage == "corrupt file":
            (folder / "files" / "ballast.bin").write_bytes(b"")
        else:  # the result of other code, in its own folder, and none of ours
            folder.rename(folder.with_name("0" * 64))
        out = tmp_path / "table.csv"
        outcome = lab("sweep", "export", path, "--ledger", book, "--out", out)
        name = damage.split(maxsplit=1)[0]
        assert outcome.code == 1
        assert f"1 of 3 cells have no result to show: train[index=2] (run {study.cells[1].run_id[:12]}) is {name}" in outcome.err
        assert not out.exists()
        rows = answer("sweep", "export", path, "--ledger", book, "--partial")
        assert [row["state"] for row in rows] == ["done", name, "done"]
        assert ["result.chain" in row for row in rows] == [True, False, True]

    def test_a_changed_study_has_no_table_yet(self, done: Path, book: Path) -> None:
        done.write_text(done.read_text("utf-8").replace("set = {", "set = { steps = 4"), "utf-8")
        outcome = lab("sweep", "export", done, "--ledger", book, "--json")
        assert (outcome.code, outcome.out) == (1, "")
        assert "3 of 3 cells have no result to show: train[index=1]" in outcome.err
