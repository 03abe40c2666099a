"""Reports of real, small studies: written whole, refused with the name of what is missing, golden where nothing may move."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.ledger import Ledger
from recolorist_lab.report.build import build
from recolorist_lab.report.sections import Section, section_of
from recolorist_lab.report.sections import _runtime as show_runtime
from recolorist_lab.study import Study, load
from recolorist_lab.sweep import run_study
from recolorist_lab.sweep_local import LocalEngine
from recolorist_lab.table import IncompleteError
from tests.lab.command import lab
from tests.lab.test_runtime import ROWS, row

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Ledger]:
    study, book = load(CONFIGS / "check.quick.toml"), Ledger(tmp_path_factory.mktemp("ledger"))
    assert run_study(study, book, LocalEngine(book, jobs=2)).is_complete
    return study, book


def test_every_file_is_there_and_the_page_needs_no_other(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    told = build([study], book, tmp_path)
    assert told.tables == 1
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"check-transfer_check{form}" for form in (".csv", ".html", ".md", ".tex")]
    page = told.page.read_text("utf-8")
    assert "8 of 8 cells" in page
    assert "Seeds: 0, 1" in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)


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
    assert run_study(half, book, LocalEngine(book, jobs=2)).is_complete
    section = section_of(study, book, partial=True)
    assert section.basis[0].startswith("4 of 8 cells")
    _, gaps = section.tables["missing"]
    assert [line[0] for line in gaps.rows] == [cell.name for cell in study.cells[4:]]
    assert len(section.tables["transfer_check"][1].rows) == 4


def test_two_studies_of_one_name_are_refused(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    with pytest.raises(OptionError, match="one name"):
        build([study, study], book, tmp_path)
    with pytest.raises(OptionError, match="no study"):
        build([], book, tmp_path)


def test_a_printed_table_does_not_move() -> None:
    made = Section("runtime", "Time")
    rows = [*ROWS, *(row("colorist", 0.001 * side, side, "growth") for side in (64, 128))]
    nothing: Any = None  # neither cells nor a ledger are asked
    show_runtime(made, [(nothing, one) for one in rows], nothing)
    assert list(made.tables) == ["latency-cpu", "energy-cpu", "growth"]
    assert list(made.figures) == ["time-cpu", "energy-cpu", "growth"]
    assert made.tables["latency-cpu"][1].markdown() == GOLDEN
    for _, draw in made.figures.values():
        draw()


GOLDEN = """\
| method | side | iterations | mean, ms | P50 | P90 | P95 | P99 | images/s | × Colorist | paper, ms | paper, × Colorist |
|:---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| AdaIN | 256 | 1,000 | 200 | 200 | 200 | 200 | 200 | 5 | 4,000 | 132 | 52 |
| Modflows | 512 | 1,000 | 9,000 | 9,000 | 9,000 | 9,000 | 9,000 | 0.1111 | 180,000 | 14,400 | 5,680 |
| Colorist, two 8-bit images | 256 | 1,000 | 0.05 | 0.05 | 0.05 | 0.05 | 0.05 | 2e+04 | 1 | 2.53 | 1 |
| Colorist, style from a bank | 256 | 1,000 | 0.03 | 0.03 | 0.03 | 0.03 | 0.03 | 3.333e+04 | 0.6 | – | – |
"""


def test_the_command(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    _, book = finished
    done = lab("report", CONFIGS / "check.quick.toml", "--ledger", book.root, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "1 tables and 0 figures" in done.stdout
    refused = lab("report", CONFIGS / "check.quick.toml", "--ledger", tmp_path / "none", "-o", tmp_path / "no")
    assert refused.returncode == 1
    assert "check[" in refused.stderr
