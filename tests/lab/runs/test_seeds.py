"""Seeds: those of the paper, and those derived from a run's coordinates."""

from __future__ import annotations

from recolorist_lab.runs.seeds import SEEDS, seed_of


def test_seeds_of_the_paper() -> None:
    assert SEEDS == (71397589, 133560673, 265017005)


def test_seeds_differ_with_every_coordinate() -> None:
    seeds = [seed_of(name, run, pair) for name in "ab" for run in range(20) for pair in range(20)]
    assert len(set(seeds)) == 800


def test_derived_seeds_stay_what_they_are() -> None:
    # `printf '["weights",7]' | sha256sum`, the first eight digits
    assert seed_of("weights", 7) == 0xEA231887
