"""The tests of the colour-space study: do methods differ in a space, and do spaces differ from RGB? Datasets are the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.pages import markdown
from recolorist_lab.report.stats import (
    CriticalDifference,
    Friedman,
    Wilcoxon,
    bonferroni,
    critical_difference,
    friedman,
    holm,
    wilcoxon,
)
from recolorist_lab.studies.spaces.table import Scores

__all__ = ["Compared", "Significance", "friedman_table", "method_table", "significance", "space_table"]

_ROUNDING: Final = 6  # decimals: what is equal by algebra is equal to the tests, whatever the last bits of a sum
_BASE: Final = "mean_std"
_ALPHA: Final = 0.05


@dataclass(frozen=True)
class Compared:
    """One Wilcoxon test and its p after both corrections; ``printed`` is z and r by the paper's convention.

    The family that p is corrected for is the comparisons within a space, or RGB against all other spaces.
    """

    space: str
    against: str
    test: Wilcoxon
    printed: Wilcoxon
    bonferroni: float
    holm: float


@dataclass(frozen=True)
class Significance:
    """Everything the page says about significance."""

    metric: str
    datasets: tuple[str, ...]
    friedman: dict[str, Friedman]  #: per space, over the paper's three methods
    friedman_all: dict[str, Friedman]  #: with covariance matching
    methods: tuple[Compared, ...]  #: mean–std against every other method, in every space
    spaces: tuple[Compared, ...]  #: RGB against every other space, mean–std
    ranks: CriticalDifference  #: of the spaces, mean–std

    @property
    def smallest(self) -> float:
        """The smallest p that so many datasets can give: all differences of one sign."""
        return float(2.0 ** (1 - len(self.datasets)))


def significance(scores: Scores, metric: str = "artfid") -> Significance:
    """Run every test; a table with holes cannot be tested."""
    if gaps := sorted(set(scores.expected) - set(scores.cells)):
        raise OptionError(f"{len(gaps)} cells have no result, the first {gaps[0]}; tests are of complete tables")
    datasets = scores.datasets
    if len(datasets) < 2:
        raise OptionError(f"the only dataset is {datasets}; a test over datasets needs two at least, and says little below six")

    if any(scores.value(metric, *place) is None for place in {(key[0], key[1], key[2]) for key in scores.expected}):
        raise OptionError(f"{metric} was not measured everywhere; tests are of complete tables")

    def sample(space: str, method: str) -> list[float]:
        values = [scores.value(metric, dataset, space, method) for dataset in datasets]
        return [round(value, _ROUNDING) for value in values if value is not None]

    printed = [method for method in paper.METHODS if method in scores.methods]
    others = [method for method in scores.methods if method != _BASE]
    three = {space: friedman({method: sample(space, method) for method in printed}) for space in scores.spaces}
    every = {space: friedman({method: sample(space, method) for method in scores.methods}) for space in scores.spaces}
    methods = [
        one
        for space in scores.spaces
        for one in _compared([(space, method, sample(space, _BASE), sample(space, method)) for method in others])
    ]
    spaces = _compared([("rgb", space, sample("rgb", _BASE), sample(space, _BASE)) for space in scores.spaces if space != "rgb"])
    ranks = critical_difference({paper.TITLES[space]: sample(space, _BASE) for space in scores.spaces}, _ALPHA)
    return Significance(metric, tuple(datasets), three, every, tuple(methods), spaces, ranks)


def _compared(samples: Sequence[tuple[str, str, list[float], list[float]]]) -> tuple[Compared, ...]:
    # Rounded scores leave differences that are equal but for their last bit, and a test would not see the tie.
    differences = [[round(a - b, _ROUNDING) for a, b in zip(first, second, strict=True)] for _, _, first, second in samples]
    tests = [wilcoxon(one, [0.0] * len(one)) for one in differences]
    printed = [wilcoxon(one, [0.0] * len(one), z_n="paper") for one in differences]
    p = [test.p for test in tests]
    return tuple(
        Compared(space, against, test, twin, once, stepped)
        for (space, against, _, _), test, twin, once, stepped in zip(samples, tests, printed, bonferroni(p), holm(p), strict=True)
    )


def friedman_table(tests: Significance) -> str:
    """Friedman per space, over the paper's methods and over all."""
    rows = []
    for space, found in tests.friedman.items():
        every = tests.friedman_all[space]
        ranks = " / ".join(f"{rank:.2f}" for rank in found.ranks.values())
        more = [_p(every.p)] if len(every.ranks) > len(found.ranks) else []
        rows.append([paper.TITLES[space], f"{found.statistic:.2f}", _p(found.p), f"{found.kendall_w:.2f}", ranks, *more])
    methods = " / ".join(next(iter(tests.friedman.values())).ranks)
    head = ["space", "χ²", "p", "Kendall's W", f"mean rank: {methods}", "p with covariance"]
    return markdown(head[: len(rows[0])], rows)


def method_table(tests: Significance) -> str:
    """Mean–std against the other methods in every space."""
    return markdown(
        ["space", "mean–std against", *_HEAD],
        [[paper.TITLES[one.space], one.against, *_row(one)] for one in tests.methods],
        left=2,
    )


def space_table(tests: Significance) -> str:
    """RGB against the other spaces under mean–std."""
    return markdown(["RGB against", *_HEAD], [[paper.TITLES[one.against], *_row(one)] for one in tests.spaces])


_HEAD: Final = ["better : worse", "T", "n", "p exact", "Z", "r", "Z, r as the paper forms them", "p Bonferroni", "p Holm"]


def _row(one: Compared) -> list[str]:
    test = one.test
    return [
        f"{test.wins} : {test.losses}",
        f"{test.t:g}",
        str(test.n),
        _p(test.p),
        f"{test.z:.2f}",
        f"{test.r:.2f}",
        f"{one.printed.z:.2f}, {one.printed.r:.2f}",
        _p(one.bonferroni),
        _p(one.holm),
    ]


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{value:.2e}"
