"""Reports of a real, small study: written whole, or refused with the name of what is missing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.report import figures
from recolorist_lab.report.build import _figure, build
from recolorist_lab.report.rows import IncompleteError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study


def test_every_file_is_there_and_the_page_needs_no_other(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    built = build([study], book, tmp_path)
    assert built.tables == 1
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"check-transfer_check{form}" for form in (".csv", ".html", ".md", ".tex")]
    page = built.page.read_text("utf-8")
    assert "8 of 8 cells" in page
    assert "seeds 0, 1" in page
    assert '<div class="wide" tabindex="0"><table' in page  # wide tables scroll, also by keyboard
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


def test_two_studies_of_one_name_are_refused(finished: tuple[Study, Ledger], tmp_path: Path) -> None:
    study, book = finished
    with pytest.raises(OptionError, match="one name"):
        build([study, study], book, tmp_path)
    with pytest.raises(OptionError, match="no study"):
        build([], book, tmp_path)


def test_charts_follow_the_dark_theme_and_photographs_keep_their_colours(tmp_path: Path) -> None:
    drawn = {}
    for name in ("chart", "photograph"):
        figure, axes = figures.figure(2.0, 1.0)
        if name == "photograph":
            axes.imshow(np.zeros((4, 4, 3)))
        else:
            axes.plot([0, 1], [0, 1])
        drawn[name] = _figure(figure, name, name, tmp_path)
    assert 'class="chart-image"' in drawn["chart"]
    assert 'class="chart-image"' not in drawn["photograph"]
