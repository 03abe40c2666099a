"""The clock of an evaluation."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from recolorist_lab.metrics.clock import Clock


def test_adds_up_the_time_of_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 5.0, 7.0])
    monkeypatch.setattr("recolorist_lab.metrics.clock.time", SimpleNamespace(perf_counter=lambda: next(now)))
    clock = Clock()
    for _ in range(2):
        with clock.part("lpips"):
            pass
    assert clock.seconds == {"lpips": 3.0}


def test_takes_items_in_groups_and_times_their_source() -> None:
    clock = Clock()
    assert list(clock.groups(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert set(clock.seconds) == {"read"}
