"""Imported once by the server that trainings are forked from, so that each does not load torch again."""

from __future__ import annotations

from recolorist_lab.runs.engines import preload
from recolorist_lab.runs.fingerprint import code_fingerprint
from recolorist_lab.training import run

__all__ = ["preload", "run"]

code_fingerprint("recolorist_lab.data.banks")  # every training asks for it, to find the style bank
