"""`benchmarks.studio`: every space is timed, and what is above the aim is said."""

from __future__ import annotations

import pytest

import recolorist as rc
from benchmarks.studio import MOVES, Waits, measure_page, wait_table
from tests.browser.chromium import find


def test_every_space_is_timed() -> None:
    program = find()
    if program is None:
        pytest.skip("no Chromium here; install one (Debian: apt install chromium) or name it in RECOLORIST_CHROMIUM")
    waits = measure_page(program, rounds=1, size=64)
    assert list(waits) == list(rc.SPACES)
    assert all(len(chosen) == 1 and len(moved) == MOVES and min(*chosen, *moved) > 0 for chosen, moved in waits.values())


def test_a_wait_above_the_aim_is_marked() -> None:
    lines = wait_table(
        {"rgb": Waits([70.0, 20.0, 30.0], [9.0, 11.0]), "lab": Waits([51.0], [10.0]), "lch": Waits([10.0], [50.4])}
    )
    assert lines[2:] == [
        "| rgb | 10 | 30 | 70 | met |",
        "| lab | 10 | 51 | 51 | **missed** |",
        "| lch | 50 | 10 | 10 | **missed** |",
    ]
