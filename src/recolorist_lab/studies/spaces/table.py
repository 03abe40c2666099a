"""The tables of the colour-space study, from rows of the ledger.

Means are formed as in the paper: over seeds first, then over datasets. A configuration that lacks a cell shows a dash, and no
mean is formed from what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from recolorist.core.match import MATCHERS
from recolorist.core.spaces import SPACES
from recolorist.errors import RecoloristError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.table import GAP, Cell, Column, Digits, Number, Table, label, text_of
from recolorist_lab.runs.config import Json

__all__ = [
    "CALLED",
    "METRICS",
    "ORDER",
    "AlgebraError",
    "SpaceScores",
    "agreement",
    "assert_algebra",
    "by_dataset",
    "by_method",
    "in_paper",
    "sizes",
    "table_one",
    "times",
]

Row: TypeAlias = Mapping[str, Json]

#: What is printed of each metric.
METRICS: Final = {
    "lpips": Column("LPIPS", better="lower", digits=Digits(3)),
    "ssim": Column("SSIM", better="higher", digits=Digits(3)),
    "fid": Column("FID", better="lower", digits=Digits(2)),
    "wasserstein": Column("W", better="lower", digits=Digits(4)),
    "artfid": Column("ArtFID", better="lower", digits=Digits(2)),
}
#: What a metric is called in a heading.
CALLED: Final = {name: column.name for name, column in METRICS.items()} | {"wasserstein": "Wasserstein distance"}
#: Rows as the paper has them, then those it does not have.
ORDER: Final = (*paper.SPACES, *(space for space in SPACES if space not in paper.SPACES))
_SAME: Final = ("ycbcr", "ypbpr", "yuv")  # one basis, so one image, whatever mean and deviation


def in_paper(space: str, method: str) -> bool:
    """Return whether a configuration is one of the paper's 11 × 3.

    Args:
        space: The colour space.
        method: How colours are matched.

    Returns:
        True if the paper has it.

    Example:
        >>> in_paper("rgb", "mean_std"), in_paper("lalphabeta", "mean_std"), in_paper("rgb", "covariance")
        (True, False, False)
    """
    return space in paper.SPACES and method in paper.METHODS


class AlgebraError(RecoloristError):
    """Two configurations that are the same by algebra gave different numbers."""


@dataclass(frozen=True)
class SpaceScores:
    """Results by dataset, space, method and seed."""

    cells: Mapping[tuple[str, str, str, int], Row]
    expected: tuple[tuple[str, str, str, int], ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> SpaceScores:
        """Collect the rows of one grid; those without a result are holes.

        Args:
            rows: The rows.

        Returns:
            The scores.
        """
        by_key = {(str(row["dataset"]), str(row["space"]), str(row["method"]), int(str(row["seed"]))): row for row in rows}
        return cls({key: row for key, row in by_key.items() if "result.pairs" in row}, tuple(by_key))

    @property
    def datasets(self) -> list[str]:
        """The datasets in the order of the study, also those without a result, so that no mean leaves them out."""
        return list(dict.fromkeys(key[0] for key in self.expected))

    @property
    def seeds(self) -> list[int]:
        """The seeds with a result."""
        return sorted({key[3] for key in self.expected})

    @property
    def spaces(self) -> list[str]:
        """The spaces with a result, in the order of the table."""
        names = {key[1] for key in self.expected}
        return [space for space in ORDER if space in names]

    @property
    def methods(self) -> list[str]:
        """The methods with a result, the paper's first."""
        names = {key[2] for key in self.expected}
        return [method for method in MATCHERS if method in names]

    def value(self, metric: str, dataset: str, space: str, method: str) -> float | None:
        """Return the mean over seeds.

        Args:
            metric: The metric.
            dataset: The dataset.
            space: The colour space.
            method: How colours are matched.

        Returns:
            The mean; None if a seed is missing, or the metric or the configuration is no part of the study.
        """
        keys = sorted(key for key in self.expected if key[:3] == (dataset, space, method))
        values = [_number(self.cells[key], metric) if key in self.cells else None for key in keys]
        return _mean(values)

    def mean(self, metric: str, space: str, method: str) -> float | None:
        """Return the mean over datasets of the means over seeds.

        Args:
            metric: The metric.
            space: The colour space.
            method: How colours are matched.

        Returns:
            The mean; None if one of them is missing.
        """
        return _mean([self.value(metric, dataset, space, method) for dataset in self.datasets])

    def spread(self, metric: str, space: str, method: str) -> float | None:
        """Return the standard deviation between seeds of the means over datasets (n − 1).

        Args:
            metric: The metric.
            space: The colour space.
            method: How colours are matched.

        Returns:
            The deviation; None for one seed, or where a cell is missing.
        """
        return self.spread_on(self.datasets, metric, space, method)

    def spread_on(self, datasets: Sequence[str], metric: str, space: str, method: str) -> float | None:
        """Return what :meth:`spread` does, over some datasets."""
        within = []
        for seed in self.seeds:
            keys = [(dataset, space, method, seed) for dataset in datasets]
            within.append(_mean([_number(self.cells.get(key, {}), metric) for key in keys]))
        defined = [value for value in within if value is not None]
        return float(np.std(defined, ddof=1)) if len(defined) == len(within) > 1 else None


def assert_algebra(scores: SpaceScores) -> int:
    """Check that YCbCr, YPbPr and YUV agree in every digit that is printed.

    Args:
        scores: The results of the study.

    Returns:
        How many cells were compared.

    Raises:
        AlgebraError: They differ.
    """
    compared = 0
    for key, row in scores.cells.items():
        if key[1] != _SAME[0] or key[2] != "mean_std":
            continue
        for equal_space in _SAME[1:]:
            other = scores.cells.get((key[0], equal_space, key[2], key[3]))
            for metric, column in METRICS.items() if other else ():
                first, second = _number(row, metric), _number(other or {}, metric)
                if text_of(Number(first), column) != text_of(Number(second), column):
                    raise AlgebraError(
                        f"{metric} of {key[0]}, seed {key[3]}, is {first} in {_SAME[0]} and {second} in {equal_space}; mean–std "
                        "matching gives the same image in both, so one of the two is wrong"
                    )
            compared += other is not None
    return compared


def table_one(scores: SpaceScores, method: str = "mean_std") -> Table:
    """Make the paper's Table 1: printed, corrected where the authors did, and ours.

    Args:
        scores: The results of the study.
        method: The method.

    Returns:
        The table; spaces that the paper does not have come last.
    """
    assert_algebra(scores)
    columns = [label("space")]
    for metric, column in METRICS.items():
        corrected = [Column("corrected", digits=Digits(2))] if metric == "artfid" else []
        columns += [replace(column, digits=Digits(2), note="paper"), *corrected, Column("ours", digits=column.digits)]
    return Table(columns, [_table_one_row(scores, space, method) for space in scores.spaces])


def _table_one_row(scores: SpaceScores, space: str, method: str) -> list[Cell]:
    printed = paper.SPACES.get(space)
    cells: list[Cell] = [_title(space, method)]
    for metric in METRICS:
        cells.append(GAP if printed is None else Number(getattr(printed, metric)))
        if metric == "artfid":
            cells.append(_corrected_cell(space))
        cells.append(_over_seeds(scores, metric, space, method))
    return cells


def _corrected_cell(space: str) -> Cell:
    return "last digit" if space in paper.LAST_DIGIT else Number(paper.CORRECTED_ARTFID.get(space))


def agreement(scores: SpaceScores) -> Table:
    """List Spearman's rank correlation of our means with the printed and the corrected ones.

    Args:
        scores: The results of the study.

    Returns:
        The table.
    """
    spaces = [space for space in scores.spaces if space in paper.SPACES]
    rows: list[list[Cell]] = []
    for metric, column in METRICS.items():
        measured = [scores.mean(metric, space, "mean_std") for space in spaces]
        printed = [float(getattr(paper.SPACES[space], metric)) for space in spaces]
        corrected = [paper.CORRECTED_ARTFID.get(space, printed[number]) for number, space in enumerate(spaces)]
        second = Number(_spearman(measured, corrected)) if metric == "artfid" else ""
        rows.append([column.name, Number(_spearman(measured, printed)), second])
    names = ("ρ with printed", "ρ with corrected")
    return Table([label("metric"), *(Column(name, digits=Digits(2)) for name in names)], rows)


def _spearman(measured: Sequence[float | None], reference: Sequence[float]) -> float | None:
    from scipy import stats

    defined = [value for value in measured if value is not None]
    if len(defined) < len(reference) or len(set(defined)) < 2 or len(set(reference)) < 2:
        return None  # a hole, or nothing to order
    return float(stats.spearmanr(defined, reference).statistic)


def by_method(scores: SpaceScores, metric: str = "artfid") -> Table:
    """List one metric for every space and method; what the paper does not have is marked.

    Args:
        scores: The results of the study.
        metric: The metric.

    Returns:
        The table.
    """
    rows: list[list[Cell]] = [
        [_title(space, "mean_std"), *(_mark_if_new(scores, metric, space, method) for method in scores.methods)]
        for space in scores.spaces
    ]
    return Table([label("space"), *(Column(method, digits=METRICS[metric].digits) for method in scores.methods)], rows)


def _mark_if_new(scores: SpaceScores, metric: str, space: str, method: str) -> Number:
    number = _over_seeds(scores, metric, space, method)
    new = space in paper.SPACES and not in_paper(space, method)  # other spaces are marked as a row
    return replace(number, mark="†") if new else number


def by_dataset(scores: SpaceScores, method: str = "mean_std", metric: str = "artfid") -> Table:
    """List one metric for every space and dataset.

    Args:
        scores: The results of the study.
        method: The method.
        metric: The metric.

    Returns:
        The table.
    """
    rows: list[list[Cell]] = [
        [_title(space, method), *(_on(scores, metric, dataset, space, method) for dataset in scores.datasets)]
        for space in scores.spaces
    ]
    return Table([label("space"), *(Column(name, digits=METRICS[metric].digits) for name in _titles(scores.datasets))], rows)


_TIMES: Final = (
    label("space"),
    label("method"),
    Column("one transfer", "ms", digits=Digits(3)),
    Column("× RGB mean–std", digits=Digits(1)),
    Column("whole cell", "s", digits=Digits(2)),
    Column("transfer's share", digits=Digits(3)),
)


def times(scores: SpaceScores) -> Table:
    """List milliseconds of one transfer, its ratio to RGB mean–std, and seconds of a whole cell.

    Args:
        scores: The results of the study.

    Returns:
        The table.
    """
    base = _median(scores, "time.transform_ms", "rgb", "mean_std")
    rows: list[list[Cell]] = []
    for space in scores.spaces:
        for method in scores.methods:
            milliseconds = _median(scores, "time.transform_ms", space, method)
            share = _median(scores, "time.transform_share", space, method)
            ratio = None if milliseconds is None or not base else milliseconds / base
            seconds = Number(_median(scores, "time.whole", space, method))
            percent = Number(None if share is None else 100 * share, unit="%")
            rows.append([_title(space, method), method, Number(milliseconds), Number(ratio), seconds, percent])
    return Table(_TIMES, rows)


def sizes(scores: SpaceScores) -> Table:
    """List how many images and pairs there are of each dataset.

    Args:
        scores: The results of the study.

    Returns:
        The table.
    """
    rows: list[list[Cell]] = []
    for dataset in scores.datasets:
        row = next((row for key, row in scores.cells.items() if key[0] == dataset), None)
        seeds = {key[3] for key in scores.cells if key[0] == dataset}
        name, _, recipe = dataset.partition(":")
        title = f"{name} ({recipe})" if recipe else name
        if row is None:
            rows.append([title, *[GAP] * 5])
            continue
        repeats = "yes" if row["result.repeats"] else "no"
        rows.append([title, str(row["split"]), str(row["result.images"]), str(row["result.pairs"]), len(seeds), repeats])
    return Table([label("data"), label("split"), *map(Column, ("images", "pairs", "seeds", "images used again"))], rows)


def _titles(datasets: Sequence[str]) -> list[str]:
    """Names without recipes, or with them where two would be called the same.

    >>> _titles(["pathmnist", "synthetic:tiles=20"]), _titles(["synthetic", "synthetic:seed=1"])
    (['pathmnist', 'synthetic'], ['synthetic', 'synthetic:seed=1'])
    """
    short = [dataset.partition(":")[0] for dataset in datasets]
    return short if len(set(short)) == len(short) else list(datasets)


def _number(row: Row, metric: str) -> float | None:
    value: Any = row.get(f"result.{metric}")
    return None if value is None else float(value)


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean; None where a value is missing, since the mean of the rest is another quantity."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined and len(defined) == len(values) else None


def _median(scores: SpaceScores, name: str, space: str, method: str) -> float | None:
    values = [_number(row, name) for key, row in scores.cells.items() if key[1:3] == (space, method)]
    return float(np.median([value for value in values if value is not None])) if values else None


def _title(space: str, method: str) -> str:
    return paper.TITLES[space] if in_paper(space, method) or space in paper.SPACES else f"{paper.TITLES[space]} †"


def _over_seeds(scores: SpaceScores, metric: str, space: str, method: str) -> Number:
    """Return a mean over datasets, and the deviation between seeds where there are several."""
    return Number(scores.mean(metric, space, method), scores.spread(metric, space, method))


def _on(scores: SpaceScores, metric: str, dataset: str, space: str, method: str) -> Number:
    value = scores.value(metric, dataset, space, method)
    return Number(value, scores.spread_on([dataset], metric, space, method))
