"""Twenty kills of real processes at random points; `python -m tests.lab.training.kill_training FOLDER --kills 200` is longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are copies of one that has imported everything")
def test_twenty_kills_change_no_bit(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-m", "tests.lab.training.kill_training", str(tmp_path), "--kills", "20"]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False, cwd=ROOT, timeout=1200)  # noqa: S603 - our own
    assert done.returncode == 0, done.stderr
    tally = json.loads(done.stdout)
    assert tally["kills"] == 20
    assert tally["lives"] == tally["kills"] + tally["runs"]
    assert len(tally["checkpoints"]) >= 5  # kills did hit runs at different points
