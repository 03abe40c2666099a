"""Random streams: no two keys share one, and what is drawn from them is evenly spread."""

from __future__ import annotations

import copy
import multiprocessing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.samplers import Content, uniform
from recolorist.augment.streams import Sequence, fresh_seed, number_of, open_by_chance, open_stream, stream
from recolorist.core.kernels import KernelName
from recolorist.errors import OptionError
from tests.full import full

EPOCHS = full(5, 50)
KEYS = 20 * EPOCHS * 1000


def keys() -> Iterator[tuple[int, int, int]]:
    """Many of (seed, epoch, index), neighbours in each direction, where mixing by addition would collide."""
    for seed in range(20):
        for epoch in range(EPOCHS):
            for index in range(1000):
                yield seed, epoch, index


def test_no_two_keys_share_a_stream() -> None:
    """The first two numbers of each, 106 random bits: if streams were random, a collision had odds of one in 10^20."""
    first = np.empty((KEYS, 2))
    for i, key in enumerate(keys()):
        first[i] = stream(*key).random(2)
    order = np.lexsort(first.T)
    ranked = first[order]
    assert not (ranked[1:] == ranked[:-1]).all(axis=1).any()
    # and the numbers themselves are even: the mean of so many uniform numbers lies within 5 deviations of a half
    assert abs(first.mean() - 0.5) < 5 / np.sqrt(12 * first.size)


def test_tosses_are_as_frequent_as_asked_for_and_independent_of_their_neighbours() -> None:
    """A million tosses in the full suite: their share, and that of pairs of neighbours in samples, epochs and seeds."""
    p, samples = 0.3, full(1_500, 100_000)
    bank = StyleBank.build(np.random.default_rng(0).integers(0, 256, (3, 4, 5, 3), dtype=np.uint8), split="train")
    tosses = np.empty((2, 5, samples), bool)
    for seed in range(2):
        colorist = Colorist(bank, p=p, seed=seed)
        for epoch in range(5):
            tosses[seed, epoch] = [colorist.draw(index=index, epoch=epoch) is not None for index in range(samples)]
    assert abs(tosses.mean() - p) < 4 * np.sqrt(p * (1 - p) / tosses.size)
    for axis in range(3):
        pairs = np.moveaxis(tosses, axis, 0)
        both = (pairs[1:] & pairs[:-1]).mean()
        assert abs(both - p**2) < 5 * np.sqrt(p**2 * (1 - p**2) / pairs[1:].size)


def test_choices_of_style_are_even() -> None:
    """Chi-square at 99 % over the styles, and over pairs of styles in one sample and the next, in one epoch and the next."""
    styles, samples = 20, 20_000
    rng = np.random.default_rng(0)
    bank = StyleBank.build(rng.integers(0, 256, (styles, 4, 5, 3), dtype=np.uint8), split="train")
    chosen = np.array([[uniform(bank, stream(3, epoch, i), Content()).row for i in range(samples)] for epoch in range(2)])
    assert chi_square(np.bincount(chosen.ravel(), minlength=styles)) < upper_99(styles - 1)
    between_epochs = chosen[0] * styles + chosen[1]
    assert chi_square(np.bincount(between_epochs, minlength=styles**2)) < upper_99(styles**2 - 1)
    neighbours = chosen[0, :-1] * styles + chosen[0, 1:]
    assert chi_square(np.bincount(neighbours, minlength=styles**2)) < upper_99(styles**2 - 1)


def chi_square(counts: Any) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def upper_99(degrees: int) -> float:
    """The 99 % point of chi-square, by the cube-root approximation of Wilson and Hilferty: good to 0.1 % from 19 degrees on."""
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + 2.3263 * part**0.5) ** 3)


class TestStream:
    def test_same_key_same_numbers(self) -> None:
        assert np.array_equal(stream(1, 2, 3).random(100), stream(1, 2, 3).random(100))

    @pytest.mark.parametrize("other", [(2, 2, 3, 0), (1, 3, 3, 0), (1, 2, 4, 0), (1, 2, 3, 1), (2, 1, 3, 0), (1, 3, 2, 0)])
    def test_each_part_of_the_key_matters(self, other: tuple[int, int, int, int]) -> None:
        assert not set(stream(1, 2, 3).random(50)) & set(stream(*other).random(50))

    def test_nothing_is_left_over_from_the_stream_before(self) -> None:
        """One generator is set again and again; half a used word in its buffer must not leak into the next stream."""
        expected = stream(5).integers(0, 2**32, 9, dtype=np.uint32)
        stream(6).integers(0, 2**32, 3, dtype=np.uint32)
        assert np.array_equal(stream(5).integers(0, 2**32, 9, dtype=np.uint32), expected)

    def test_text_keys(self) -> None:
        names = [f"slide_{i}.png" for i in range(10_000)]
        assert len({number_of(name) for name in names}) == len(names)
        assert number_of("5") != 5

    @pytest.mark.parametrize("bad", [-1, 2**64, 1.5, True, None])
    def test_other_numbers_are_refused(self, bad: Any) -> None:
        with pytest.raises(OptionError, match="whole numbers"):
            stream(bad)

    @pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
    def test_opened_by_chance_it_goes_on_after_its_first_number(self, kernel: KernelName, p: float) -> None:
        """Whether it is opened is known from that number, which is worked out without the generator."""
        assert kernel
        places = [(0, 0, 0, 0), (2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1), *((7, 2, i, 1 + i % 3) for i in range(300))]
        numbers = [stream(*place).random(2) for place in places]
        opened = [None if (rng := open_by_chance(p, *place)) is None else rng.random() for place in places]
        assert opened == [second if first < p else None for first, second in numbers]

    def test_fresh_seeds_differ(self) -> None:
        assert len({fresh_seed() for _ in range(100)}) == 100


def first_numbers(sequence: Sequence) -> list[float]:
    return [float(open_stream(*sequence.next()).random()) for _ in range(5)]


class TestSequence:
    def test_goes_on_and_repeats(self) -> None:
        one = Sequence(1)
        first, second = first_numbers(one), first_numbers(one)
        assert not set(first) & set(second)
        assert first_numbers(Sequence(1)) == first
        assert not set(first_numbers(Sequence(2))) & set(first)

    def test_apart_from_keyed_streams(self) -> None:
        keyed = {float(stream(1, 0, i).random()) for i in range(20)}
        assert not keyed & set(first_numbers(Sequence(1)))

    def test_a_copy_in_the_same_process_goes_on_from_where_it_was_made(self) -> None:
        one = Sequence(1)
        first_numbers(one)
        assert first_numbers(copy.deepcopy(one)) == first_numbers(one)

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
    def test_forked_processes_draw_their_own(self) -> None:
        one = Sequence(1)
        with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
            results = pool.map(first_numbers, [one, one], chunksize=1)
        numbers = [number for result in [*results, first_numbers(one)] for number in result]
        assert len(set(numbers)) == 15
