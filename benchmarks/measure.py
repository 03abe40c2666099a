"""Timing: warm-up, calibration, shuffled rounds, medians with quartiles of thread CPU time and of wall time."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

__all__ = ["Effort", "Sample", "Spread", "Subject", "Timing", "calls_for", "time_calls", "time_subjects"]


class Sample(NamedTuple):
    """Microseconds per call, averaged over the calls of one round."""

    cpu: float
    wall: float


class Spread(NamedTuple):
    """Lower quartile, median and upper quartile over the rounds."""

    low: float
    median: float
    high: float


class Subject(Protocol):
    """Something that can be called many times and tell how long that took, here or in another process."""

    def time(self, calls: int) -> Sample:
        """Call `calls` times in a row."""
        ...


@dataclass(frozen=True)
class Effort:
    """How much time goes into a figure."""

    rounds: int = 11
    rounds_large: int = 5  # from 512 pixels on
    budget_ms: float = 30.0  # of one arm in one round
    random_calls: int = 30  # at least, for policies whose cost varies from call to call
    random_calls_large: int = 8

    def rounds_at(self, size: int) -> int:
        """Return the number of rounds for a size."""
        return self.rounds if size < 512 else self.rounds_large

    def least_calls(self, size: int, *, varies: bool) -> int:
        """Return the smallest number of calls in a round."""
        if not varies:
            return 1
        return self.random_calls if size < 512 else self.random_calls_large


class Timing(NamedTuple):
    """One figure of a table."""

    calls: int
    rounds: int
    cpu: Spread
    wall: Spread


def time_calls(call: Callable[[], object], calls: int) -> Sample:
    """Call `calls` times and return microseconds per call. The garbage collector waits, outputs are freed as a loop would."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for _ in range(calls):
            call()
        cpu, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall
    finally:
        if collecting:
            gc.enable()
    return Sample(cpu / calls / 1e3, wall / calls / 1e3)


def calls_for(subject: Subject, effort: Effort, least: int = 1) -> int:
    """Warm up, then return how many calls fill the budget of one round."""
    first = subject.time(1).wall  # the output was checked before, so imports and first-use tables are behind us
    slow = first > effort.budget_ms * 1e3
    best = first if slow else min(subject.time(1).wall for _ in range(4))
    return max(least, min(10_000, round(effort.budget_ms * 1e3 / max(best, 0.1))))


def time_subjects(
    subjects: Sequence[Subject], calls: Sequence[int], rounds: int, order: random.Random, tick: Callable[[], None] = lambda: None
) -> list[Timing]:
    """Time all subjects in `rounds` rounds, each in a fresh random order, so that a drift of the machine hits all alike."""
    samples: list[list[Sample]] = [[] for _ in subjects]
    for _ in range(rounds):
        places = list(range(len(subjects)))
        order.shuffle(places)
        for place in places:
            if calls[place] > 1:
                subjects[place].time(max(1, calls[place] // 10))  # bring its code and data back into the caches
            samples[place].append(subjects[place].time(calls[place]))
            tick()
    return [
        Timing(count, rounds, _spread(sample.cpu for sample in taken), _spread(sample.wall for sample in taken))
        for count, taken in zip(calls, samples, strict=True)
    ]


def _spread(values: Iterable[float]) -> Spread:
    low, median, high = np.percentile(list(values), [25, 50, 75])
    return Spread(float(low), float(median), float(high))
