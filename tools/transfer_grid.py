"""Draw docs/results/transfer_grid.jpg: `python -m tools.transfer_grid LEDGER`, once the study docs/results/transfer.toml was run.

The study keeps its first pairs whatever they are; a picture for the documentation may only show images whose licence allows it.
So the first four pairs of one laboratory are taken here, and every method transfers them with the weights it had in the study.
"""

from __future__ import annotations

import io
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from PIL import Image
from rich.progress import track

from recolorist_lab.report import figures
from recolorist_lab.report.rows import has_result, rows
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies.protocol import open_pairs
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import table as transfer_table
from tools.results_page import FOLDER

DOMAIN: Final = "acevedo20"  # CC BY 4.0
PAIRS: Final = 4
QUALITY: Final = 88


def shown(cell: Cell, ledger: Ledger) -> Any:
    """What a method makes of the pairs: (pairs, 3, H, W, 3)."""
    config = cell.config
    inputs = {
        grid: (SimpleNamespace(config={"method": needed.config.method}, read=ledger.result(needed).read),)
        for grid, needed in cell.inputs
    }
    model, weights = transfer.model_of(config, inputs)
    work = transfer.StylisingPairs(config, model, weights, transfer.native_size(config))
    paired = open_pairs(replace(config, size=transfer.native_size(config)))
    chosen = (pair for pair in paired.stream() if {pair.content.domain, pair.style.domain} == {DOMAIN})
    found = [
        (pair.content.image, pair.style.image, work.transferred(pair.content.image, pair.style.image))
        for pair in itertools.islice(chosen, PAIRS)
    ]
    return np.array(found)


def main() -> None:
    """Draw and write."""
    study, ledger = load(FOLDER / "transfer.toml"), Ledger(Path(sys.argv[1]), must_exist=True)
    pairs = zip(study.cells, rows(study, ledger), strict=True)
    cells = [(transfer_table.label(row), cell) for cell, row in pairs if cell.kind == "transfer" and has_result(row)]
    cells = [(title, cell) for title, cell in cells if cell.config.method != transfer.NOTHING]
    methods = [transfer.COLORIST, *(cell.config.method for _, cell in cells)]  # forms of one method one below the other
    cells.sort(key=lambda titled: methods.index(titled[1].config.method))
    pictures = {title: shown(cell, ledger) for title, cell in track(cells, "transferring")}
    drawn = Image.open(io.BytesIO(figures.render(transfer_table.grid(pictures), "png"))).convert("RGB")
    drawn.resize((drawn.width * 2 // 3, drawn.height * 2 // 3), Image.Resampling.LANCZOS).save(
        FOLDER / "transfer_grid.jpg", quality=QUALITY, subsampling=0, optimize=True
    )


if __name__ == "__main__":
    main()
