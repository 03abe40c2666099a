"""Reports of real, small studies: written whole, refused with the name of what is missing, golden where nothing may move."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.report.build import build
from recolorist_lab.report.rows import IncompleteError
from recolorist_lab.report.sections import section_of
from recolorist_lab.report.table import GAP
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import remember, studies_of
from recolorist_lab.runs.study import Study, load
from tests.lab.command import answer, lab
from tests.lab.study_files import finished as run_here

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Ledger]:
    study, book = load(CONFIGS / "check.quick.toml"), Ledger(tmp_path_factory.mktemp("ledger"))
    run_here(study, book)
    return study, book


def test_every_file_is_there_and_the_page_needs_no_other(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    told = build([study], book, tmp_path)
    assert told.tables == 1
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"check-transfer_check{form}" for form in (".csv", ".html", ".md", ".tex")]
    page = told.page.read_text("utf-8")
    assert "8 of 8 cells" in page
    assert "seeds 0, 1" in page
    assert not re.search(r'(?:src|href)="(?!data:|#|tables/|figures/)', page)


def test_the_same_ledger_gives_the_same_bytes(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    pages = [build([study], book, tmp_path / name).page.read_bytes() for name in ("one", "two")]
    assert pages[0] == pages[1]


def test_a_missing_cell_is_named_and_nothing_is_written(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, _ = finished
    empty = Ledger(tmp_path / "empty")
    with pytest.raises(IncompleteError, match=r"8 of 8 cells have no result.*check\[space=rgb"):
        build([study], empty, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_gaps_are_marked_when_they_are_allowed(tmp_path: Path) -> None:
    study, book = load(CONFIGS / "check.quick.toml"), Ledger(tmp_path / "ledger")
    half = Study(study.name, study.cells[:4])
    run_here(half, book)
    section = section_of(study, book, partial=True)
    assert section.basis[0].startswith("4 of 8 cells")
    assert [line[0] for line in section.tables["missing"].rows] == [cell.name for cell in study.cells[4:]]
    every = section.tables["transfer_check"].rows
    assert [line[-1] == GAP for line in every] == [False] * 4 + [True] * 4


def test_two_studies_of_one_name_are_refused(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    with pytest.raises(OptionError, match="one name"):
        build([study, study], book, tmp_path)
    with pytest.raises(OptionError, match="no study"):
        build([], book, tmp_path)


def test_the_command(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    _, book = finished
    done = lab("report", "--study", CONFIGS / "check.quick.toml", "--ledger", book.root, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "1 tables and 0 figures" in done.out
    unnamed = lab("report", "--ledger", book.root, "-o", tmp_path / "no")
    assert unnamed.code == 1
    assert "name their files with --study" in unnamed.err


class Idle:
    """An engine with nothing to do."""

    def free(self) -> int:
        return 0

    def fits(self, cell: object) -> bool:  # noqa: ARG002
        return True

    def stop(self) -> None:
        pass


class TestFromTheLedgerAlone:
    """`sweep run` leaves the study in the ledger, so that nobody needs the file to report."""

    def test_all_that_were_run_or_one_by_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        book, file = tmp_path / "ledger", tmp_path / "small.toml"
        file.write_text(SMALL, "utf-8")
        run_here(load(file), Ledger(book))
        monkeypatch.setattr("recolorist_lab.cli.sweep.engine_of", lambda *_: Idle())  # all is done already
        assert CliRunner().invoke(app, ["sweep", "run", str(file), "--ledger", str(book)]).exit_code == 0
        file.unlink()
        assert answer("report", "--ledger", book, "-o", tmp_path / "all")["tables"] == 1
        assert [study.name for study in studies_of(Ledger(book), ["small"])] == ["small"]
        with pytest.raises(OptionError, match="knows no study 'other'; it knows small"):
            studies_of(Ledger(book), ["other"])

    def test_the_last_of_one_name_counts(self, tmp_path: Path) -> None:
        book = Ledger(tmp_path / "ledger")
        for seeds in ("[0]", "[0, 1]"):
            (tmp_path / "small.toml").write_text(SMALL.replace("[0]", seeds), "utf-8")
            remember(book, tmp_path / "small.toml")
        (study,) = studies_of(book)
        assert len(study.cells) == 2

    def test_a_missing_cell_is_named(self, tmp_path: Path) -> None:
        book = Ledger(tmp_path / "ledger")
        (tmp_path / "small.toml").write_text(SMALL, "utf-8")
        remember(book, tmp_path / "small.toml")
        refused = lab("report", "--ledger", book.root, "-o", tmp_path / "no")
        assert refused.code == 1
        assert "small[seed=0]" in refused.err
        assert answer("report", "--ledger", book.root, "-o", tmp_path / "yes", "--partial")["gaps"] == 1


SMALL = """\
name = "small"

[[grid]]
kind = "transfer_check"
set = { space = "rgb", method = "mean_std", pairs = 1, size = 32 }
axes.seed = [0]
"""
