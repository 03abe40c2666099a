"""What the server of a comparison loads before trainings are forked from it."""

from __future__ import annotations

import importlib
import sys

from recolorist_lab.compare.run import _PRELOAD
from recolorist_lab.runs.fingerprint import code_fingerprint


def test_a_training_finds_torch_and_the_fingerprint_of_banks() -> None:
    importlib.import_module(_PRELOAD)
    assert {"torch", "recolorist_lab.training.run", "recolorist_lab.runs.engines.preload"} <= sys.modules.keys()
    before = code_fingerprint.cache_info().misses
    code_fingerprint("recolorist_lab.data.banks")
    assert code_fingerprint.cache_info().misses == before
