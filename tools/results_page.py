"""Fill the pages of results. Run as `python -m tools.results_page properties`, with `--ledger FOLDER` to read new results first.

With a ledger, docs/results/NAME.json and the pictures are written anew from the study docs/results/NAME.toml; then, and also
without one, the tables of docs/results/NAME.md are made from the JSON.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recolorist_lab.report import figures
from recolorist_lab.report.pages import fill
from recolorist_lab.report.table import Table
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from recolorist_lab.studies import publish
from recolorist_lab.studies.classify import hospitals as hospitals_table
from recolorist_lab.studies.classify import probability_figure
from recolorist_lab.studies.origin import is_current, origin_sentence
from recolorist_lab.studies.properties import figure as properties_figure
from recolorist_lab.studies.properties import table as properties_table
from recolorist_lab.studies.properties.cell import FILE
from recolorist_lab.studies.runtime import figure as runtime_figure
from recolorist_lab.studies.runtime import page as runtime_page
from recolorist_lab.studies.shift import figure as shift_figure
from recolorist_lab.studies.shift import known as shift_known
from recolorist_lab.studies.shift import page as shift_page
from recolorist_lab.studies.shift import screening as shift_screening
from recolorist_lab.studies.shift import sources as shift_sources
from recolorist_lab.studies.spaces import figure as spaces_figure
from recolorist_lab.studies.spaces import page as spaces_page
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.transfer import page as transfer_page

FOLDER: Final = Path(__file__).parents[1] / "docs" / "results"
TABLES: Final[Mapping[str, Callable[[Sequence[Any]], Mapping[str, Table | str]]]] = {
    "properties": properties_table.tables,
    "spaces": spaces_page.tables,
    "hospitals": hospitals_table.tables,
    "transfer": transfer_page.tables,
    "runtime": runtime_page.tables,
    "shift": shift_page.tables,
    "shift_choosing": shift_page.choosing_tables,
    "shift_known": shift_known.known_tables,
    "shift_screening": shift_screening.screening_tables,
    "shift_sources": shift_sources.sources_tables,
}


def filled(name: str) -> str:
    """The page as its data say it must be."""
    rows, environments = publish.read((FOLDER / f"{name}.json").read_bytes())
    return fill((FOLDER / f"{name}.md").read_text("utf-8"), {**TABLES[name](rows), "origin": origin(name, rows, environments)})


def origin(name: str, rows: Sequence[Mapping[str, Any]], environments: Sequence[Mapping[str, Any]]) -> str:
    """The line that says which code the results of a page were made by."""
    current = is_current(load(FOLDER / f"{name}.toml"), rows)
    return f"*{origin_sentence(environments, current=current)}*\n"


def _of_properties(rows: Sequence[Any], study: Study, ledger: Ledger) -> dict[str, Any]:
    found = {
        properties_table.titled(cell.config.dataset): properties_figure.instances(ledger.result(cell).read(FILE))
        for cell in study.cells
        if cell.grid.partition("-")[0] == "paper" and cell.config.size
    }
    return {"clipping": properties_figure.clipping(found), "limits": properties_figure.limits(rows)}


def _of_spaces(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    scores = spaces_page.scores_of(rows, "all")
    return {
        "ranks": spaces_figure.ranks(spaces_statistics.significance(scores)),
        "methods": spaces_figure.methods(scores),
        "cost": spaces_figure.costs(spaces_page.cost(rows), 224),
    }


def _of_transfer(_rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {}  # tools/transfer_grid.py draws it, of images that may be shown


def _of_runtime(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {
        "latency": runtime_figure.bars(rows),
        "energy": runtime_figure.bars(rows, "energy_mwh"),
        "growth": runtime_figure.growth(rows),
    }


def _of_hospitals(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {"sweep": probability_figure.hospitals([row for row in rows if row["grid"] == "probability"])}


def _of_shift(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {"gains": shift_figure.draw(shift_page.whole_seeds(rows))}


def _of_screening(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {"gains": shift_figure.draw(shift_screening.on_all_targets(shift_page.whole_seeds(rows)))}


def _of_sources(rows: Sequence[Any], _study: Study, _ledger: Ledger) -> dict[str, Any]:
    return {"changes": shift_figure.draw(shift_page.whole_seeds(rows), scored="source")}


PICTURES: Final[Mapping[str, Callable[[Sequence[Any], Study, Ledger], dict[str, Any]]]] = {
    "properties": _of_properties,
    "spaces": _of_spaces,
    "hospitals": _of_hospitals,
    "transfer": _of_transfer,
    "runtime": _of_runtime,
    "shift": _of_shift,
    "shift_choosing": _of_shift,
    "shift_known": _of_shift,
    "shift_screening": _of_screening,
    "shift_sources": _of_sources,
}


def pictures(name: str, study: Study, ledger: Ledger) -> None:
    """Draw what the page shows."""
    rows, _ = publish.read((FOLDER / f"{name}.json").read_bytes())
    for each, drawn in PICTURES[name](rows, study, ledger).items():
        figures.save(drawn, FOLDER / f"{name}_{each}", ["png"])


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(TABLES))
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--partial", action="store_true", help="publish a study of which cells are missing")
    parser.add_argument("--unclean", action="store_true", help="publish results whose code is in no commit")
    asked = parser.parse_args()
    if asked.ledger is not None:
        study, ledger = load(FOLDER / f"{asked.name}.toml"), Ledger(asked.ledger, must_exist=True)
        (FOLDER / f"{asked.name}.json").write_bytes(
            publish.write(publish.document(study, ledger, partial=asked.partial, unclean=asked.unclean))
        )
        pictures(asked.name, study, ledger)
    (FOLDER / f"{asked.name}.md").write_text(filled(asked.name), "utf-8")
    print(f"{FOLDER / asked.name}.md: tables made from {asked.name}.json; next: python -m tools.results_overview")


if __name__ == "__main__":
    main()
