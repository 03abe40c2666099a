"""Imported once by the server that local cells are forked from, so that no cell has to import the same modules again."""

from __future__ import annotations

from recolorist_lab.runs import environment
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.fingerprint import code_fingerprint
from recolorist_lab.runs.kinds import KINDS

__all__ = ["run_cell"]

environment.describe()
for kind in KINDS.values():
    code_fingerprint(kind.run.__module__)  # of the sources as they are now, which are the ones just imported
