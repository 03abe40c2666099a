"""Fill the pages of results. Run as `python -m tools.results_page properties`, with `--ledger FOLDER` to read new results first.

With a ledger, docs/results/NAME.json and the pictures are written anew from the study docs/results/NAME.toml; then, and also
without one, the tables of docs/results/NAME.md are made from the JSON.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recolorist_lab import figures
from recolorist_lab.ledger import Ledger
from recolorist_lab.studies import properties_figure, properties_table, publish, spaces_figure, spaces_page, spaces_statistics
from recolorist_lab.studies.pages import fill
from recolorist_lab.studies.properties import FILE
from recolorist_lab.study import Study, load

FOLDER: Final = Path(__file__).parents[1] / "docs" / "results"
TABLES: Final[Mapping[str, Callable[[Sequence[Any]], dict[str, str]]]] = {
    "properties": properties_table.tables,
    "spaces": spaces_page.tables,
}


def filled(name: str) -> str:
    """The page as its data say it must be."""
    rows, _ = publish.read((FOLDER / f"{name}.json").read_bytes())
    return fill((FOLDER / f"{name}.md").read_text("utf-8"), TABLES[name](rows))


def pictures(name: str, study: Study, ledger: Ledger) -> None:
    """Draw what the page shows."""
    rows, _ = publish.read((FOLDER / f"{name}.json").read_bytes())
    if name == "properties":
        found = {
            properties_table.titled(cell.config.dataset): properties_figure.instances(ledger.result(cell).read(FILE))
            for cell in study.cells
            if cell.grid.partition("-")[0] == "paper" and cell.config.size
        }
        figures.save(properties_figure.clipping(found), FOLDER / "properties_clipping", ["png"])
        figures.save(properties_figure.limits(rows), FOLDER / "properties_limits", ["png"])
        return
    scores = spaces_page.scores_of(rows, "all")
    figures.save(spaces_figure.ranks(spaces_statistics.significance(scores)), FOLDER / "spaces_ranks", ["png"])
    figures.save(spaces_figure.methods(scores), FOLDER / "spaces_methods", ["png"])
    figures.save(spaces_figure.costs(spaces_page.cost(rows), 224), FOLDER / "spaces_cost", ["png"])


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(TABLES))
    parser.add_argument("--ledger", type=Path)
    asked = parser.parse_args()
    if asked.ledger is not None:
        study, ledger = load(FOLDER / f"{asked.name}.toml"), Ledger(asked.ledger, must_exist=True)
        (FOLDER / f"{asked.name}.json").write_bytes(publish.write(publish.document(study, ledger)))
        pictures(asked.name, study, ledger)
    (FOLDER / f"{asked.name}.md").write_text(filled(asked.name), "utf-8")
    print(f"{FOLDER / asked.name}.md: tables made from {asked.name}.json")


if __name__ == "__main__":
    main()
