"""The README is short, and its tables are those of the measurements. Its code runs in tests/docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recolorist_lab.report.pages import tables_of
from tools import readme_tables, results_overview

TEXT = readme_tables.README.read_text("utf-8")
LIMIT = 7_000  #: characters


def test_it_is_short() -> None:
    assert len(TEXT) <= LIMIT


@pytest.mark.parametrize("page", readme_tables.PARTS, ids=lambda page: page.name)
def test_tables_are_those_of_the_measurements(page: Path) -> None:
    assert readme_tables.filled(page) == page.read_text("utf-8"), "run `python -m tools.readme_tables`"


def test_the_overview_of_results_is_made_from_them() -> None:
    text = results_overview.PAGE.read_text("utf-8")
    assert results_overview.filled(text) == text, "run `python -m tools.results_overview`"


def test_a_changed_number_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = re.search(r"\| \*\*`recolorist.match`, style known\*\* \| [\d.]+ \|", TEXT)
    assert row is not None
    page = tmp_path / "README.md"
    page.write_text(TEXT.replace(row.group(), "| **`recolorist.match`, style known** | 0.1 |"), "utf-8")
    monkeypatch.setattr(readme_tables, "PARTS", {page: readme_tables.PARTS[readme_tables.README]})
    assert readme_tables.filled(page) == TEXT


def test_losses_stand_beside_wins() -> None:
    lost = tables_of(readme_tables.SPEED.read_text("utf-8"))["lost"]
    assert ("Faster than ours" in tables_of(TEXT)["speed"]) == ("of our time" in lost)


@pytest.mark.parametrize(("slower", "missed"), [(1.0, False), (2.0, True)])
def test_a_missed_target_of_the_loader_is_named(monkeypatch: pytest.MonkeyPatch, slower: float, missed: bool) -> None:
    path, plain = readme_tables.newest(readme_tables.BENCHMARKS / "loader") or pytest.fail("no result of the loader's benchmark")
    for row in plain["pipelines"][1:]:
        row["time_ratio"] = 0.5 * slower  # every pipeline twice as fast as the usual one, or just as fast
    monkeypatch.setattr(readme_tables, "newest", lambda _: (path, plain))
    found = re.search(r"Missed: .*fused, to the usual pipeline without: 1 \(at least 1\.15\)\.", readme_tables.loader())
    assert (found is not None) == missed


def test_the_shift_study_is_shown_with_intervals() -> None:
    """Every gain has one, and the gains are those of the recipe, which the study's own table makes."""
    table, recipe = (tables_of(text) for text in (TEXT, readme_tables.RECIPE.read_text("utf-8")))
    rows = [line.split("|")[1:-1] for line in table["shift"].splitlines() if line.startswith("| ")][1:]
    gains = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    assert len(gains) == 4 * len(readme_tables.SHIFT_ROWS) - 2  # without augmentation and harmonising there is nothing to gain
    assert all(re.fullmatch(r"[+-]\d+\.\d \(-?\d+\.\d to -?\d+\.\d\)", gain) for gain in gains)
    together = [cell.strip() for row in rows if "Colorist + RandAugment" in row[0] for cell in row[1:]]
    assert all(gain in recipe["gains"] for gain in together)
