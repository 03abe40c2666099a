"""Results as a document: every row and its environment, from a clean commit only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies import publish
from tests.lab.study_files import finished, grid, rehearsal


class TestDocument:
    def test_holds_every_row_and_says_where_it_was_made(self, tmp_path: Path) -> None:
        study, ledger = load(rehearsal(tmp_path, grid([1, 2], steps=1))), Ledger(tmp_path / "book")
        finished(study, ledger)
        made = publish.document(study, ledger, unclean=True)
        rows, environments = publish.read(publish.write(made))
        assert [row["index"] for row in rows] == [1, 2]
        assert rows[0]["result.chain"] == ledger.result(study.cells[0]).result["chain"]
        assert (rows[0]["environment"], len(environments)) == (0, 1)
        assert made["grids"][0]["same"]["steps"] == 1
        assert "steps" not in made["grids"][0]["columns"]

    def test_refuses_gaps(self, tmp_path: Path) -> None:
        study, ledger = load(rehearsal(tmp_path, grid([1, 2], steps=1))), Ledger(tmp_path / "book")
        with pytest.raises(Exception, match="2 of 2 cells have no result"):
            publish.document(study, ledger, unclean=True)
        assert len(publish.document(study, ledger, partial=True, unclean=True)["grids"][0]["rows"]) == 2

    def test_refuses_results_of_changed_sources(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recolorist_lab.runs.environment.describe", lambda: {"commit": "abc+changes"})
        study, ledger = load(rehearsal(tmp_path, grid([1], steps=1))), Ledger(tmp_path / "book")
        finished(study, ledger)
        with pytest.raises(OptionError, match="--unclean"):
            publish.document(study, ledger)
        assert publish.document(study, ledger, unclean=True)["environments"] == [{"commit": "abc+changes"}]

    def test_refuses_another_format(self) -> None:
        with pytest.raises(OptionError, match=r"recolorist\.results/1"):
            publish.read(json.dumps({"format": "x"}).encode())
