"""The tests of the colour-space study: do methods differ in a space, and do spaces differ from RGB?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.paper import numbers as paper
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
from recolorist_lab.report.table import Cell, Column, Digits, Number, Table, label
from recolorist_lab.studies.spaces.table import SpaceScores

__all__ = ["Compared", "Significance", "friedman_table", "method_table", "significance", "space_table"]

_ROUNDING: Final = 6  # decimals: what is equal by algebra is equal to the tests, whatever the last bits of a sum
_BASE: Final = "mean_std"
_ALPHA: Final = 0.05
_COPIES: Final = frozenset({"ypbpr", "yuv", "ydbdr"})  # YCbCr with scaled axes: one space takes part in the ranks, not four


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
    """All results about significance on the page."""

    metric: str
    datasets: tuple[str, ...]
    friedman: dict[str, Friedman]  #: per space, over the paper's three methods
    friedman_all: dict[str, Friedman]  #: with covariance matching
    methods: tuple[Compared, ...]  #: mean–std against every other method, in every space
    spaces: tuple[Compared, ...]  #: RGB against every other space, mean–std
    ranks: CriticalDifference  #: of the spaces, mean–std; of YCbCr, YPbPr, YUV and YDbDr, which are one space, the first

    @property
    def smallest(self) -> float:
        """The smallest p that this number of datasets can give: all differences have one sign."""
        return float(2.0 ** (1 - len(self.datasets)))


def significance(scores: SpaceScores, metric: str = "artfid") -> Significance:
    """Run every test of the study.

    Args:
        scores: The results of the study.
        metric: The metric.

    Returns:
        The results of the tests.

    Raises:
        OptionError: Cells are missing, or there are fewer than two datasets.
    """
    if gaps := sorted(set(scores.expected) - set(scores.cells)):
        raise OptionError(f"{len(gaps)} cells have no result, the first {gaps[0]}; tests are of complete tables")
    datasets = scores.datasets
    if len(datasets) < 2:
        raise OptionError(f"the only dataset is {datasets}; a test over datasets needs two at least, and says little below six")

    if any(scores.value(metric, *expected) is None for expected in {(key[0], key[1], key[2]) for key in scores.expected}):
        raise OptionError(f"{metric} was not measured everywhere; tests are of complete tables")

    def sample(space: str, method: str) -> list[float]:
        values = [scores.value(metric, dataset, space, method) for dataset in datasets]
        return [round(value, _ROUNDING) for value in values if value is not None]

    printed = [method for method in paper.METHODS if method in scores.methods]
    other_methods = [method for method in scores.methods if method != _BASE]
    three = {space: friedman({method: sample(space, method) for method in printed}) for space in scores.spaces}
    all_methods = {space: friedman({method: sample(space, method) for method in scores.methods}) for space in scores.spaces}
    methods = [
        comparison
        for space in scores.spaces
        for comparison in _compare([(space, method, sample(space, _BASE), sample(space, method)) for method in other_methods])
    ]
    spaces = _compare([("rgb", space, sample("rgb", _BASE), sample(space, _BASE)) for space in scores.spaces if space != "rgb"])
    ranked = [space for space in scores.spaces if space not in _COPIES or "ycbcr" not in scores.spaces]
    ranks = critical_difference({paper.TITLES[space]: sample(space, _BASE) for space in ranked}, _ALPHA)
    return Significance(metric, tuple(datasets), three, all_methods, tuple(methods), spaces, ranks)


def _compare(samples: Sequence[tuple[str, str, list[float], list[float]]]) -> tuple[Compared, ...]:
    # Rounded scores leave differences that are equal but for their last bit, and a test would not see the tie.
    differences = [[round(a - b, _ROUNDING) for a, b in zip(first, second, strict=True)] for _, _, first, second in samples]
    tests = [wilcoxon(sample, [0.0] * len(sample)) for sample in differences]
    printed = [wilcoxon(sample, [0.0] * len(sample), z_n="paper") for sample in differences]
    p = [test.p for test in tests]
    return tuple(
        Compared(space, against, test, row, once, stepped)
        for (space, against, _, _), test, row, once, stepped in zip(samples, tests, printed, bonferroni(p), holm(p), strict=True)
    )


_P: Final = Digits(4, "p")


def friedman_table(tests: Significance) -> Table:
    """List Friedman's test per space, over the paper's methods and over all.

    Args:
        tests: The tests of the study.

    Returns:
        The table.
    """
    rows: list[list[Cell]] = []
    for space, test in tests.friedman.items():
        all_methods = tests.friedman_all[space]
        ranks = " / ".join(f"{rank:.2f}" for rank in test.ranks.values())
        more = [Number(all_methods.p)] if len(all_methods.ranks) > len(test.ranks) else []
        rows.append([paper.TITLES[space], Number(test.statistic), Number(test.p), Number(test.kendall_w), ranks, *more])
    methods = " / ".join(next(iter(tests.friedman.values())).ranks)
    columns = [
        label("space"),
        Column("χ²", digits=Digits(2)),
        Column("p", digits=_P),
        Column("Kendall's W", digits=Digits(2)),
        Column(f"mean rank: {methods}"),
        Column("p with covariance", digits=_P),
    ]
    return Table(columns[: len(rows[0])], rows)


def method_table(tests: Significance) -> Table:
    """List mean–std against the other methods in every space.

    Args:
        tests: The tests of the study.

    Returns:
        The table.
    """
    rows = [[paper.TITLES[test.space], test.against, *_row(test)] for test in tests.methods]
    return Table([label("space"), label("mean–std against"), *_TESTED], rows)


def space_table(tests: Significance) -> Table:
    """List RGB against the other spaces under mean–std.

    Args:
        tests: The tests of the study.

    Returns:
        The table.
    """
    return Table([label("RGB against"), *_TESTED], [[paper.TITLES[test.against], *_row(test)] for test in tests.spaces])


_TESTED: Final = (
    Column("better : worse"),
    Column("T", digits=Digits(6, "significant")),
    Column("n"),
    Column("p exact", digits=_P),
    Column("Z", digits=Digits(2)),
    Column("r", digits=Digits(2)),
    Column("Z, r as the paper forms them"),
    Column("p Bonferroni", digits=_P),
    Column("p Holm", digits=_P),
)


def _row(compared: Compared) -> list[Cell]:
    test, printed = compared.test, compared.printed
    return [
        f"{test.wins} : {test.losses}",
        Number(test.t),
        test.n,
        Number(test.p),
        Number(test.z),
        Number(test.r),
        f"{printed.z:.2f}, {printed.r:.2f}",
        Number(compared.bonferroni),
        Number(compared.holm),
    ]
