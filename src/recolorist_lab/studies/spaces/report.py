"""Show the colour-space study: its tables, figures and tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial as partial_of
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.rows import has_result
from recolorist_lab.report.sections import UNMEASURED, Cells, Row, Section, lacks
from recolorist_lab.report.table import Number
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.spaces import figure as spaces_figure
from recolorist_lab.studies.spaces import page as spaces_page
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces import table as spaces_table

__all__ = ["show", "show_cost"]


def show(section: Section, cells: Cells, _: Ledger) -> None:
    """Show the tables and figures. Grids whose names agree up to a hyphen share a table.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    families: dict[str, list[Row]] = defaultdict(list)
    for _cell, row in cells:
        families[str(row["grid"]).partition("-")[0]].append(row)
    for family, rows in families.items():
        part = Section("", "")
        _family_of_spaces(part, rows)
        several = len(families) > 1
        mark, words = (f"{family}-", f" (grid “{family}”)") if several else ("", "")
        section.basis += [f"Grid “{family}”: {sentence}" if several else sentence for sentence in part.basis]
        section.tables |= {mark + name: replace(table, title=table.title + words) for name, table in part.tables.items()}
        section.figures |= {mark + name: figure for name, figure in part.figures.items()}


def _family_of_spaces(section: Section, rows: Sequence[Row]) -> None:
    scores = spaces_table.SpaceScores.of(rows)
    of_paper = [row for row in rows if row["method"] == "mean_std"]
    marks = _MARKS if any(space not in paper.SPACES for space in scores.spaces) else ""
    if of_paper:
        title = "Mean–std matching in every space, with the paper's printed and corrected numbers"
        more = " ".join(words for words in (_LAST_DIGIT, marks, UNMEASURED if lacks(rows, "artfid") else "") if words)
        section.table("spaces", title, spaces_table.table_one(scores), of_paper, more)
        agreed = spaces_table.agreement(scores)
        has_number = any(isinstance(cell, Number) and cell.value is not None for cell in agreed.cells())
        if has_number or len(scores.cells) < len(scores.expected):
            section.table("agreement", "Rank correlation of our spaces with the paper's", agreed, of_paper)
    metric = "wasserstein" if lacks(rows, "artfid") else "artfid"
    name = spaces_table.CALLED[metric]
    if len(scores.methods) > 1:
        table = spaces_table.by_method(scores, metric)
        is_marked = "†" in "".join(text for row in table.texts() for text in row)
        section.table("methods", f"{name} of every method", table, rows, _MARKS if is_marked else "")
        words = f"{name}, mean over datasets (lower is better)"
        draw = partial_of(spaces_figure.methods, scores, metric, words)
        section.figure("methods", f"{name} of every space and method", draw, rows)
    if len(scores.datasets) > 1:
        section.table("datasets", f"{name} on every dataset", spaces_table.by_dataset(scores, metric=metric), of_paper, marks)
    _significance(section, scores, metric, rows)
    section.table("sizes", "What was compared", spaces_table.sizes(scores), rows)


_MARKS: Final = "† is not in the paper."
_LAST_DIGIT: Final = (
    "The corrected ArtFID is what the authors gave after 45 runs had recorded 100 for an FID that failed; “last digit”: it moves "
    "there, and the new value was not given."
)


def _significance(section: Section, scores: spaces_table.SpaceScores, metric: str, rows: Sequence[Row]) -> None:
    """Add the tests of section 3.1 and the critical-difference diagram, where the table is complete and large enough."""
    if len(scores.datasets) < 2 or len(scores.methods) < 3 or len(scores.spaces) < 2:
        section.basis.append("Nothing is tested: tests need two datasets, two spaces and three methods.")
        return
    try:
        tests = spaces_statistics.significance(scores, metric)
    except OptionError as error:
        section.basis.append(f"Nothing is tested: {error}.")
        return
    least = f"Tests are of means over seeds. The smallest p that {len(tests.datasets)} datasets can give is {tests.smallest:.2g}."
    section.table(
        "friedman", "Friedman's test of the methods in every space", spaces_statistics.friedman_table(tests), rows, least
    )
    words = "Wilcoxon's signed-rank test of mean–std against the other methods"
    section.table("against-methods", words, spaces_statistics.method_table(tests), rows, least)
    words = "Wilcoxon's signed-rank test of RGB against the other spaces"
    section.table("against-spaces", words, spaces_statistics.space_table(tests), rows, f"{_printed_tests()} {least}")
    draw = partial_of(spaces_figure.ranks, tests)
    section.figure("ranks", "Critical difference of the colour spaces under mean–std matching", draw, rows)


def _printed_tests() -> str:
    tests = "; ".join(f"{test.what}, p = {test.p:g}, Z = {test.z:.2f}, r = {test.r:.2f}" for test in paper.TESTS)
    return f"The paper prints: {tests}."


def show_cost(section: Section, cells: Cells, _: Ledger) -> None:
    """Show what a transfer costs in every space.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    for number, (cell, row) in enumerate((cell, row) for cell, row in cells if has_result(row)):
        rows = [{**row, "grid": "cost"}]
        mark = f"-{number}" if number else ""
        title = f"What a transfer costs in every space, {cell.config.size} pixels a side"
        section.table(f"cost{mark}", title, spaces_page.cost_table(rows), [row])
        draw = partial_of(spaces_figure.costs, spaces_page.cost(rows), cell.config.size)
        section.figure(f"cost{mark}", title, draw, [row])
