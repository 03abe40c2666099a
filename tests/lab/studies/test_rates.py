"""How the time of a cell is counted from small ones."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.data.synthetic import Recipe, write
from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.studies import rates
from recolorist_lab.studies.rates import has_printed_time, seconds_to_read, sizes_of, speed_up, times_adain
from recolorist_lab.training.settings import Settings


def test_sizes_come_from_the_card_or_from_the_images() -> None:
    assert sizes_of(Settings(dataset="breastmnist", seed=0)) == (546, 78, 156)
    own = sizes_of(Settings(dataset="synthetic:hospitals=3,tiles=4,size=24", seed=0))
    assert sum(own) == 12


@pytest.mark.parametrize("method", METHODS)
def test_twice_the_side_is_four_times_the_time(method: str) -> None:
    assert has_printed_time(method)
    assert times_adain(method, 512) == pytest.approx(4 * times_adain(method, 256))


def test_the_factors_are_those_of_the_papers_table() -> None:
    assert times_adain("adain", 256) == 1.0
    assert times_adain("wct2", 512) == pytest.approx(143.13 / 2.07)
    ratios = sorted(RUNTIME["cpu", name].mean / RUNTIME["gpu", name].mean for device, name in RUNTIME if device == "gpu")
    assert ratios[0] < speed_up() < ratios[-1]


def test_reading_is_timed_where_the_data_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=3.0)
    monkeypatch.setattr(rates, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    path = write(Recipe(hospitals=3, tiles=4, size=8), tmp_path)
    assert seconds_to_read(Settings(str(path), 1, size=8)) == 3.0
    assert seconds_to_read(Settings("synthetic", 1)) == 0
    assert seconds_to_read(Settings("ddi", 1, root=str(tmp_path))) == 0
