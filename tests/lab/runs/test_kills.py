"""Kills of real processes; `python -m tests.lab.kill_test --kills 200` is the longer run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.full import full
from tests.lab.kill_test import kill_test

KILLS = full(12, 40)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="victims are found through /proc")
def test_kills_lose_nothing_and_finish_nothing_falsely(tmp_path: Path) -> None:
    tally = kill_test(tmp_path, KILLS)
    assert tally.kills.total() == KILLS
    assert tally.kills["worker"] > 0
    assert tally.kills["launcher"] + tally.kills["everything"] > 0
    assert tally.begun > tally.cells  # kills did hit cells at work
    assert tally.resumed > 0  # and some of those went on from a checkpoint
