"""Measure the cost of a transfer in every space and with every method, in turns in one process.

Each round goes through all configurations in another order. The figure is the median over rounds of the processor time of this
thread, which other programs hardly lengthen. `memcpy` of one image is timed for comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from recolorist.core.match import MATCHERS, match
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.studies.protocol import EVALUATION_SIZE, open_pairs, refuse_odd_pairs

__all__ = ["TransferCost", "run"]

_LEAST: Final = 0.005  # seconds that a round spends on one configuration at least


@dataclass(frozen=True)
class TransferCost:
    """One dataset; every round takes the next of its pairs."""

    dataset: str = identity("synthetic")
    split: str = identity("train")
    seed: int = identity(0)
    pairs: int = identity(8)
    size: int = identity(EVALUATION_SIZE)
    resize: Literal["squash", "letterbox"] = identity("squash")
    rounds: int = identity(11)
    spaces: tuple[str, ...] = identity(tuple(SPACES))
    methods: tuple[str, ...] = identity(tuple(MATCHERS))
    root: str = operational("")

    def __post_init__(self) -> None:
        refuse_odd_pairs(self.pairs, self.seed, self.size)
        unknown(self.spaces, SPACES, "spaces")
        unknown(self.methods, MATCHERS, "methods")
        if self.rounds < 3 or not self.spaces or not self.methods:
            raise OptionError(f"rounds={self.rounds}; three rounds at least, one space and one method are needed")


def run(config: TransferCost, _: Context) -> Mapping[str, Json]:
    """Time one call in every space and method.

    Args:
        config: The configuration of the cell.

    Returns:
        Milliseconds: median and quartiles, by space and method.
    """
    pairs = [(pair.content.image, pair.style.image) for pair in open_pairs(config).stream()]
    target = np.empty_like(pairs[0][0])

    def call(space: str, method: str, number: int) -> Callable[[], object]:
        content, style = pairs[number % len(pairs)]
        return lambda: match(content, style, method, space)

    names = [(space, method) for space in config.spaces for method in config.methods]
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in names}
    yardstick = [_seconds(lambda: np.copyto(target, pairs[0][0])) for _ in range(config.rounds)]
    order = np.random.default_rng(config.seed)
    for space, method in names:
        call(space, method, 0)()  # imports and tables
    for number in range(config.rounds):
        for choice in order.permutation(len(names)).tolist():
            space, method = names[choice]
            seconds[space, method].append(_seconds(call(space, method, number)))
    milliseconds: dict[str, Json] = {
        space: {method: _quartiles(seconds[space, method]) for method in config.methods} for space in config.spaces
    }
    return {"memcpy": _quartiles(yardstick), "ms": milliseconds}


def _seconds(call: Callable[[], object]) -> float:
    """Measure the processor time of one call, from as many as fill the least time."""
    calls, start = 0, time.thread_time()
    while True:
        call()
        calls += 1
        elapsed = time.thread_time() - start
        if elapsed >= _LEAST:
            return elapsed / calls


def _quartiles(seconds: list[float]) -> dict[str, Json]:
    low, middle, high = (round(1000 * float(value), 6) for value in np.quantile(seconds, [0.25, 0.5, 0.75]))
    return {"median": middle, "low": low, "high": high}
