"""Small studies for the tests, written to disk as people would."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Study, load


def toml(value: Any) -> str:
    """TOML of the few types studies use; JSON happens to be written the same way."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + " }"
    return json.dumps(value)


def grid(indices: list[int], *, name: str = "train", needs: list[dict[str, Any]] | None = None, **fixed: Any) -> str:
    more = f"needs = [{', '.join(toml(need) for need in needs)}]\n" if needs else ""
    return f'[[grid]]\nname = "{name}"\nkind = "rehearsal"\nset = {toml(fixed)}\naxes.index = {indices}\n{more}\n'


def rehearsal(folder: Path, *grids: str, name: str = "rehearsed") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\n\n' + "".join(grids), "utf-8")
    return path


def one(folder: Path, **fixed: Any) -> Cell:
    """A single cell."""
    return load(rehearsal(folder, grid([0], **fixed), name="single")).cells[0]


def finished(study: Study, ledger: Ledger) -> None:
    """Run a study in this process."""
    for cell in study.cells:
        assert run_cell(ledger.root, ledger.lease, cell).name in {"done", "reused"}


def until(condition: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait for something another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def with_code(cell: Cell, code: str) -> Cell:
    """The same cell as planned with other sources."""
    return dataclasses.replace(cell, code=code)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
