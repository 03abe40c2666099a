"""`recolorist-lab report`: from study files, or from the ledger alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import remember, studies_of
from recolorist_lab.runs.study import load
from tests.lab.command import answer, lab
from tests.lab.report.kit import SMALL
from tests.lab.study_files import finished as run_here


def test_the_command(tmp_path: Path) -> None:
    book, file = Ledger(tmp_path / "ledger"), tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    run_here(load(file), book)
    done = lab("report", "--study", file, "--ledger", book.root, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "1 tables and 0 figures" in done.out
    unnamed = lab("report", "--ledger", book.root, "-o", tmp_path / "no")
    assert unnamed.code == 1
    assert "name their files with --study" in unnamed.err


class Idle:
    """An engine with nothing to do."""

    def free(self) -> int:
        return 0

    def fits(self, _: object) -> bool:
        return True

    def stop(self) -> None:
        pass


class TestFromTheLedgerAlone:
    """`sweep run` leaves the study in the ledger, so that nobody needs the file to report."""

    def test_all_that_were_run_or_one_by_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        book, file = tmp_path / "ledger", tmp_path / "small.toml"
        file.write_text(SMALL, "utf-8")
        run_here(load(file), Ledger(book))
        monkeypatch.setattr("recolorist_lab.cli.sweep.engine_of", lambda *_, **__: Idle())  # all is done already
        assert CliRunner().invoke(app, ["sweep", "run", str(file), "--ledger", str(book)]).exit_code == 0
        file.unlink()
        assert answer("report", "--ledger", book, "-o", tmp_path / "all")["tables"] == 1
        assert [study.name for study in studies_of(Ledger(book), ["small"])] == ["small"]
        with pytest.raises(OptionError, match="knows no study 'other'; it knows small"):
            studies_of(Ledger(book), ["other"])

    def test_a_missing_cell_is_named(self, tmp_path: Path) -> None:
        book = Ledger(tmp_path / "ledger")
        (tmp_path / "small.toml").write_text(SMALL, "utf-8")
        remember(book, tmp_path / "small.toml")
        refused = lab("report", "--ledger", book.root, "-o", tmp_path / "no")
        assert refused.code == 1
        assert "small[seed=0]" in refused.err
        assert answer("report", "--ledger", book.root, "-o", tmp_path / "yes", "--partial")["gaps"] == 1
