"""Kills of real processes at random points; `python -m tests.lab.training.kill_training FOLDER --kills 200` is longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.full import full

ROOT = Path(__file__).parents[3]
KILLS = full(8, 20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are copies of one that has imported everything")
def test_kills_change_no_bit(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-m", "tests.lab.training.kill_training", str(tmp_path), "--kills", str(KILLS)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False, cwd=ROOT)  # noqa: S603 - our own
    assert done.returncode == 0, done.stderr
    tally = json.loads(done.stdout)
    assert tally["kills"] == KILLS
    assert tally["lives"] == tally["kills"] + tally["runs"]
    assert len(tally["checkpoints"]) >= KILLS // 4  # kills did hit runs at different points
