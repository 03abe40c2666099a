"""The state of a study: counts, holders and the time left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.status import show, survey
from recolorist_lab.runs.study import load
from tests.lab.command import answer, begun, lab
from tests.lab.study_files import grid, rehearsal, until


class TestStatus:
    def test_shows_states_holders_and_time_left(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1]), grid([2, 3], name="slow", steps=4000, pause=0.1))
        ledger, cells = Ledger(book), load(path).cells
        launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "1")
        try:
            until(lambda: [ledger.state(cell).name for cell in cells] == ["done", "running", "missing"])
            status = answer("sweep", "status", path, "--ledger", book, "--cells")
            text = lab("sweep", "status", path, "--ledger", book).out
        finally:
            launcher.terminate()
            launcher.communicate(timeout=300)
        assert status["grids"]["slow"]["running"] == status["grids"]["slow"]["missing"] == 1
        assert [entry["state"] for entry in status["list"]] == ["done", "running", "missing"]
        seconds = ledger.result(cells[0]).seconds
        assert status["seconds_left"] == pytest.approx(2 * seconds)  # two cells to do, one at work, one finished to go by
        minutes, rest = divmod(round(status["seconds_left"]), 60)  # both commands count the same finished cell
        assert f"Time left: about {minutes} min {rest} s." in text
        assert f"{os.uname().nodename}, process " in text

    def test_names_are_whole_in_80_columns(
        self, tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        name = "target-1-a-hospital-with-a-long-name"
        show(survey(load(rehearsal(tmp_path, grid([1], name=name))), Ledger(book)))
        assert {"grid", "cells", "done", "missing", name} < set(capsys.readouterr().out.split())

    def test_watching_ends_when_nothing_is_left(self, done: Path, book: Path) -> None:
        outcome = lab("sweep", "status", done, "--ledger", book, "--watch")
        assert (outcome.code, "Nothing is left to do." in outcome.out) == (0, True)

    def test_needs_a_ledger(self, done: Path, tmp_path: Path) -> None:
        outcome = lab("sweep", "status", done, "--ledger", tmp_path / "absent")
        assert outcome.code == 1
        assert "is not a ledger" in outcome.err
        assert not (tmp_path / "absent").exists()
