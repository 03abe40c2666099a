"""Show the classification study and its probability sweep: their tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from recolorist_lab.data.cards import Card
from recolorist_lab.data.describe import stats_rows
from recolorist_lab.data.named import ABSENT, open_dataset
from recolorist_lab.data.registry import CARDS
from recolorist_lab.data.statistics import summary
from recolorist_lab.report.rows import finished
from recolorist_lab.report.sections import Cells, Row, Section
from recolorist_lab.report.table import GAP, Cell, Column, Table, label
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.classify import hospitals as hospitals_table
from recolorist_lab.studies.classify import probability_figure, probability_table
from recolorist_lab.studies.classify import table as classify_table

__all__ = ["show"]


def show(section: Section, cells: Cells, _: Ledger) -> None:
    """Show accuracies by method and dataset, and the sweep over probabilities.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    rows = [row for _, row in cells]
    unswept = [row for row in rows if row.get("probability") is None]
    published = [row for row in unswept if row["dataset"] in CARDS]
    if published:
        title = "Balanced accuracy on the test images, the paper's in brackets"
        section.table("main", title, classify_table.main_table(published), published)
        section.table(
            "datasets", "Every dataset, what the authors published in brackets", classify_table.by_dataset(published), published
        )
        section.table("data", "The datasets, counted here and as the paper prints them", _datasets(cells))
    _show_other_datasets(section, [row for row in unswept if row["dataset"] not in CARDS])
    _add_probabilities(section, [row for row in rows if row.get("probability") is not None])


def _show_other_datasets(section: Section, rows: Sequence[Row]) -> None:
    """Show data that the paper does not have: synthetic hospitals and your own images."""
    for number, dataset in enumerate(dict.fromkeys(str(row["dataset"]) for row in rows)):
        of_dataset, mark = [row for row in rows if row["dataset"] == dataset], f"-{number}" if number else ""
        if dataset.partition(":")[0] == "synthetic" and any("result.val_split.balanced_accuracy" in row for row in of_dataset):
            title = "Balanced accuracy on synthetic hospitals: the source, and two that nobody trained on"
            section.table(f"hospitals{mark}", title, hospitals_table.methods(of_dataset), of_dataset, f"Data: {dataset}.")
        else:
            section.table(f"scored{mark}", f"Balanced accuracy on {dataset}", hospitals_table.scored(of_dataset), of_dataset)


def _add_probabilities(section: Section, rows: Sequence[Row]) -> None:
    with_result = finished(rows)
    title = "Balanced accuracy against the probability of the augmentation"
    if with_result and all(row["dataset"] in CARDS for row in rows):
        section.table("probabilities", title, probability_table.table(rows), rows)
        section.figure("sweep", title, lambda: probability_figure.sweep(with_result), rows)
    elif with_result:
        swept = [{**row, "grid": "probability"} for row in rows]
        section.table("probabilities", f"{title}, synthetic hospitals", hospitals_table.probabilities(swept), rows)
        section.figure("sweep", f"{title}, synthetic hospitals", lambda: probability_figure.hospitals(with_result), rows)


def _datasets(cells: Cells) -> Table:
    """Make the paper's table of datasets from the manifests of the runs."""
    roots = {str(row["dataset"]): cell.config.root for cell, row in cells if row["dataset"] in CARDS and cell.data != ABSENT}
    head, *body = stats_rows([summary(open_dataset(name, roots[name]).manifest, CARDS[name]) for name in CARDS if name in roots])
    columns = [label(head[0]), *(Column(name) for name in (*head[1:-1], "verdict"))]
    return Table(columns, [*body, *(_printed_row(card) for card in CARDS.values() if card.key not in roots)])


def _printed_row(card: Card) -> list[Cell]:
    """Return the paper's values for a dataset whose manifest is missing."""
    want = card.expected
    sizes = " / ".join(f"{size:,}" for size in want.sizes.values())
    return [card.title, str(len(card.classes)), GAP, sizes, GAP, f"{want.ir:.2f}", GAP, f"{want.entropy:.4f}", "not counted here"]
