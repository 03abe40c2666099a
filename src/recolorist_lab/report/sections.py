"""What each study shows: tables and figures from its rows, and the words that say what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial as partial_of
from typing import Any, Final, TypeAlias

from recolorist_lab.config import Json
from recolorist_lab.kind import SELECTIONS
from recolorist_lab.ledger import Ledger
from recolorist_lab.report.tables import Table
from recolorist_lab.study import Cell, Study
from recolorist_lab.table import rows as table_rows

__all__ = ["Section", "section_of"]

Row: TypeAlias = Mapping[str, Json]
Drawing: TypeAlias = Callable[[], Any]


@dataclass
class Section:
    """One study: tables and figures by name, each with a title, and what everything rests on."""

    name: str
    title: str
    basis: list[str] = field(default_factory=list)
    tables: dict[str, tuple[str, Table]] = field(default_factory=dict)
    figures: dict[str, tuple[str, Drawing]] = field(default_factory=dict)

    def table(self, name: str, title: str, markdown: str) -> None:
        """Add a table that a study wrote."""
        self.tables[name] = (title, Table.parsed(markdown))

    def figure(self, name: str, title: str, draw: Drawing) -> None:
        """Add a figure; it is drawn when it is written."""
        self.figures[name] = (title, draw)


def section_of(study: Study, ledger: Ledger, *, partial: bool = False) -> Section:
    """Everything there is to show of a study. A cell without a result is an error that names it, unless gaps are allowed."""
    everything = table_rows(study, ledger, partial=partial)
    done = [(cell, row) for cell, row in zip(study.cells, everything, strict=True) if row.get("state", "done") == "done"]
    made = Section(study.name, TITLES.get(study.name, study.name), _basis(study, done, everything))
    kinds = dict.fromkeys(cell.kind for cell, _ in done)
    for kind in kinds:
        mine = [(cell, row) for cell, row in done if cell.kind == kind]
        SHOWN.get(kind, _plain)(made, mine, ledger)
    if len(done) < len(everything):
        made.table("missing", "Cells without a result", _missing(study, everything))
    return made


TITLES: Final = {
    "spaces": "Which colour space, which way of matching",
    "properties": "What matching does to an image",
    "classify": "Does it help: balanced accuracy",
    "probability": "How often to augment",
    "transfer": "How good is a transfer",
    "runtime": "Time and energy of one image",
}

Done: TypeAlias = Sequence[tuple[Cell, Row]]


def _spaces(made: Section, done: Done, _: Ledger) -> None:
    from recolorist_lab.studies import spaces_figure, spaces_table

    scores = spaces_table.Scores.of(row for _, row in done)
    spaces_table.assert_algebra(scores)
    made.table(
        "spaces",
        "Mean–std matching in every space, with the paper's printed and corrected numbers",
        spaces_table.table_one(scores),
    )
    if len(scores.methods) > 1:
        made.table("methods", "ArtFID of every method", spaces_table.by_method(scores))
        made.figure("methods", "ArtFID of every space and method", lambda: spaces_figure.methods(scores))
    if len(scores.datasets) > 1:
        made.table("datasets", "ArtFID on every dataset", spaces_table.by_dataset(scores))
    made.table("sizes", "What was compared", spaces_table.sizes(scores))


def _cost(made: Section, done: Done, _: Ledger) -> None:
    from recolorist_lab.studies import spaces_page

    made.table("cost", "What a transfer costs in every space", spaces_page.cost_table([row for _, row in done]))


def _properties(made: Section, done: Done, ledger: Ledger) -> None:
    from recolorist_lab.studies import properties, properties_figure, properties_table

    rows = [row for _, row in done]
    made.table("comparison", "Correlation and clipping, with the paper's figures", properties_table.comparison(rows))
    if any(row["grid"] in properties_table.LIMITS for row in rows):
        made.table("limits", "Holding the transform back", properties_table.limits(rows))
        made.figure("limits", "What holding back changes", lambda: properties_figure.limits(rows))
    shown = {
        properties_table.titled(str(row["dataset"])): properties_figure.instances(ledger.result(cell).read(properties.FILE))
        for cell, row in done
        if row["grid"] in ("paper", "native")
    }
    if shown:
        made.figure("clipping", "Clipping and correlation of every channel", lambda: properties_figure.clipping(shown))


def _classify(made: Section, done: Done, _: Ledger) -> None:
    from recolorist_lab.data.registry import CARDS
    from recolorist_lab.studies import classify_table, hospitals_table, probability_figure

    rows = [row for _, row in done]
    swept = [row for row in rows if row.get("probability") is not None]
    rest = [row for row in rows if row.get("probability") is None]
    known = [row for row in rest if row["dataset"] in CARDS]
    if known:
        made.table(
            "main", "Balanced accuracy, mean ± deviation over seeds, the paper's in brackets", classify_table.main_table(known)
        )
        made.table("datasets", "Every dataset", classify_table.by_dataset(known))
    others = [row for row in rest if row["dataset"] not in CARDS]
    if others:
        made.table("hospitals", "Synthetic hospitals, the source and two never seen", hospitals_table.methods(others))
    if swept and all(row["dataset"] in CARDS for row in swept):
        made.figure("sweep", "Probability of the augmentation", lambda: probability_figure.sweep(swept))
    elif swept:
        made.table("probabilities", "Probability of the augmentation, synthetic hospitals", hospitals_table.probabilities(swept))
        made.figure("sweep", "Probability of the augmentation, synthetic hospitals", lambda: probability_figure.hospitals(swept))


def _transfer(made: Section, done: Done, ledger: Ledger) -> None:
    from recolorist_lab.studies import transfer, transfer_table

    rows = [row for _, row in done]
    if any("result.lpips" in row for row in rows):
        made.table("transfer", "The metrics of every method, the paper's in brackets", transfer_table.table(rows))
    by_dataset: dict[str, dict[str, Any]] = {}
    for cell, row in done:
        pictures = by_dataset.setdefault(str(row["dataset"]), {})
        if row["method"] not in pictures:
            pictures[str(row["method"])] = transfer_table.shown(ledger.result(cell).read(transfer.SHOWN))
    for number, (dataset, pictures) in enumerate(by_dataset.items()):
        made.figure(f"grid-{number}", f"Every method on {dataset}", partial_of(transfer_table.grid, pictures))


def _runtime(made: Section, done: Done, _: Ledger) -> None:
    from recolorist_lab.studies import runtime_figure, runtime_table

    rows = [row for _, row in done]
    for device in dict.fromkeys(str(row["device"]) for row in rows if row["grid"] == "latency"):
        made.table(f"latency-{device}", f"Time of one image on {device}", runtime_table.latency(rows, device))
        made.table(f"energy-{device}", f"Energy of one image on {device}", runtime_table.energy(rows, device))
        for quantity, title in (("mean_ms", "Time"), ("energy_mwh", "Energy")):
            draw = partial_of(runtime_figure.bars, rows, quantity, device)
            made.figure(f"{title.lower()}-{device}", f"{title} of one image on {device}", draw)
    if any(row["grid"] == "growth" for row in rows):
        made.table("growth", "Time against the side of the image", runtime_table.growth(rows))
        made.figure("growth", "Time against the side of the image", lambda: runtime_figure.growth(rows))


def _plain(made: Section, done: Done, _: Ledger) -> None:
    """A study without a form of its own: its rows, one a line."""
    from recolorist_lab.studies.pages import markdown

    hidden = {"selection", "run", "state"}
    names = [name for name in dict.fromkeys(name for _, row in done for name in row) if name not in hidden]
    lines = [[_word(row.get(name)) for name in names] for _, row in done]
    made.table(done[0][0].kind, "Every cell", markdown([name.removeprefix("result.") for name in names], lines))


SHOWN: Final[Mapping[str, Callable[[Section, Done, Ledger], None]]] = {
    "spaces": _spaces,
    "transfer_cost": _cost,
    "properties": _properties,
    "classify": _classify,
    "transfer": _transfer,
    "transfer_train": lambda *_: None,  # what was learnt shows in the evaluation
    "runtime": _runtime,
}


def _basis(study: Study, done: Done, everything: Sequence[Row]) -> list[str]:
    """How many cells, which seeds, what was chosen by which rule: no number stands without it."""
    seeds = sorted({str(row["seed"]) for _, row in done if "seed" in row})
    rules = sorted({str(row["selection"]) for _, row in done})
    told = [f"{len(done)} of {len(everything)} cells of the study “{study.name}” have a result."]
    if seeds:
        told.append(f"Seeds: {', '.join(seeds)}. ± is the standard deviation between seeds (n − 1).")
    told += [f"Selection: {SELECTIONS[rule]}." for rule in rules if rule in SELECTIONS]
    return told


def _missing(study: Study, everything: Sequence[Row]) -> str:
    from recolorist_lab.studies.pages import markdown

    gaps = [(cell, row) for cell, row in zip(study.cells, everything, strict=True) if row["state"] != "done"]
    return markdown(["cell", "state"], [[cell.name, str(row["state"])] for cell, row in gaps], left=2)


def _word(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else str(value).replace("|", "/")
