"""Collect the tables and figures of each study, each with a note of the runs behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from recolorist_lab.report.rows import finished, has_result
from recolorist_lab.report.rows import rows as table_rows
from recolorist_lab.report.table import DASH, GAP, Column, Digits, Number, Table, label
from recolorist_lab.report.table import Cell as TableCell
from recolorist_lab.runs.config import Json
from recolorist_lab.runs.kind import SELECTIONS
from recolorist_lab.runs.kinds import KINDS, headings
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Study

__all__ = ["UNMEASURED", "Cells", "Row", "Section", "basis_of", "lacks", "list_cells", "section_of"]

Row: TypeAlias = Mapping[str, Json]
Cells: TypeAlias = Sequence[tuple[Cell, Row]]
Drawing: TypeAlias = Callable[[], Any]


@dataclass
class Section:
    """One study: tables and figures by name, and the runs behind them."""

    name: str
    title: str
    basis: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, tuple[str, Drawing]] = field(default_factory=dict)
    gaps: int = 0  #: cells without a result

    def table(self, name: str, title: str, table: Table, rows: Iterable[Row] = (), more: str = "") -> None:
        """Add a table, and note which rows it is based on.

        Args:
            name: Its mark.
            title: Its title.
            table: The table.
            rows: Results, one for each cell.
            more: A sentence for its note.
        """
        note = " ".join(words for words in (more, basis_of(list(rows), spread=table.has_spread)) if words)
        self.tables[name] = table.named(title, note)

    def figure(self, name: str, title: str, draw: Drawing, rows: Iterable[Row] = ()) -> None:
        """Add a figure, which is drawn when it is written, and note which runs it lacks.

        Args:
            name: Its mark.
            title: Its title.
            draw: Draws it.
            rows: Results, one for each cell.
        """
        self.figures[name] = (" ".join(words for words in (f"{title}.", basis_of(list(rows))) if words), draw)


def section_of(study: Study, ledger: Ledger, *, partial: bool = False) -> Section:
    """Collect everything there is to show of a study.

    With gaps, rows without a result take part as well: a table knows from them what it lacks, and marks it.

    Args:
        study: The study.
        ledger: Where its results are.
        partial: Allow cells without a result.

    Returns:
        Tables, figures and sentences.

    Raises:
        IncompleteError: A cell has no result, and gaps are not allowed.
    """
    cells = list(zip(study.cells, table_rows(study, ledger, partial=partial), strict=True))
    gaps = [(cell, row) for cell, row in cells if not has_result(row)]
    heading = headings().get(study.name)
    section = Section(study.name, study.name if heading is None else heading.title, gaps=len(gaps))
    section.basis.append(f"{len(cells) - len(gaps)} of {len(cells)} cells of the study “{study.name}” have a result.")
    for kind in dict.fromkeys(cell.kind for cell, _ in cells):
        of_kind = [(cell, row) for cell, row in cells if cell.kind == kind]
        if finished(row for _, row in of_kind):
            (KINDS[kind].show or list_cells)(section, of_kind, ledger)
    if gaps:
        section.basis.append(f"{DASH} stands where a number would rest on a run that is missing.")
        body = [[cell.name, str(row["state"]), cell.run_id[:12]] for cell, row in gaps]
        section.table("missing", "Cells without a result", Table([label(name) for name in ("cell", "state", "run")], body))
    return section


#: What a note says where no run asked for the metrics that need networks.
UNMEASURED: Final = (
    "LPIPS, FID, KID and ArtFID need networks whose weights these runs did not ask for; they were left out, and no other "
    "number is shown for them."
)


def lacks(rows: Sequence[Row], metric: str) -> bool:
    """Tell whether no row has a value of a metric.

    Args:
        rows: Results, one for each cell.
        metric: The metric.

    Returns:
        True if none has.
    """
    return all(row.get(f"result.{metric}") is None for row in rows)


def list_cells(section: Section, cells: Cells, _: Ledger) -> None:
    """Show a study that has no tables of its own: one line for each cell.

    Args:
        section: The section of the report that is filled.
        cells: The cells of the study with their rows.
    """
    hidden = {"selection", "run"}
    rows = [row for _, row in cells]
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in hidden]
    lines = [[_cell(row.get(name)) if name in row else GAP for name in names] for row in rows]
    first, *rest_of_names = (name.removeprefix("result.") for name in names)
    table = Table([label(first), *(Column(name) for name in rest_of_names)], lines)
    section.table(cells[0][0].kind, "Every cell", table, rows)


def _cell(value: Json) -> TableCell:
    if isinstance(value, float):
        return Number(value, digits=Digits(6, "significant"))
    return "–" if value is None else str(value)


def basis_of(rows: Sequence[Row], *, spread: bool = False) -> str:
    """Describe the runs behind some rows: their number, images, seeds, the meaning of ± and the selection rule.

    Args:
        rows: Rows of a study's table.
        spread: Whether a ± is shown.

    Returns:
        One sentence; empty without rows.

    Example:
        >>> rows = [{"seed": seed, "selection": "none", "result.pairs": 800} for seed in (1, 2, 3)]
        >>> basis_of(rows, spread=True)[:86]
        'n = 3 runs of 800 pairs each; seeds 1, 2, 3; ± is the standard deviation between seeds'
    """
    if not rows:
        return ""
    with_result = finished(rows)
    count = f"{len(with_result)} of {len(rows)}" if len(with_result) < len(rows) else str(len(rows))
    parts = [f"n = {count} run{'' if count == '1' else 's'}{_of_what(with_result)}"]
    seeds = sorted({int(str(row["seed"])) for row in rows if "seed" in row})
    if seeds:
        parts.append(f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}")
        parts += ["one seed, so no spread between seeds"] if len(seeds) == 1 else []
        parts += ["± is the standard deviation between seeds (n − 1)"] if len(seeds) > 1 and spread else []
    rules = sorted({str(row["selection"]) for row in rows if "selection" in row})
    parts += [f"selection “{rule}”: {SELECTIONS.get(rule, 'unknown')}" for rule in rules]
    return "; ".join(parts) + "."


#: What a run counted, and how it is called.
_COUNTED: Final = {"result.pairs": "pairs", "result.images.test": "test images", "result.images": "images"}


def _of_what(rows: Sequence[Row]) -> str:
    for name, words in _COUNTED.items():
        counts = sorted({int(str(row[name])) for row in rows if isinstance(row.get(name), int)})
        if counts:
            suffix = " each" if len(rows) > 1 else ""
            return f" of {counts[0]:,} {words}{suffix}" if len(counts) == 1 else f" of {counts[0]:,} to {counts[-1]:,} {words}"
    return ""
