"""Scores of the shift study by network, method, target and seed, and paired gains over no augmentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.report.paired import Difference, difference
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.classify.table import method_of

__all__ = ["BASELINE", "NETWORKS", "SETS", "Scores", "Setting", "canonical", "collect"]

Row: TypeAlias = Mapping[str, Json]
Floats = NDArray[np.float64]

BASELINE: Final = "Baseline"
#: The two kinds of network, by the field ``fit`` of a cell.
NETWORKS: Final = {"network": "from scratch", "head": "frozen features"}
SETS: Final = ("test", "test_harmonised", "test_gated", "source")
_CORRUPTIONS: Final = re.compile(r"targeted\(corruptions='\w+'\)")


@dataclass(frozen=True)
class Setting:
    """What two runs must share to be compared: kind of network, target and seed."""

    network: str
    target: str
    seed: int


@dataclass(frozen=True)
class Scores:
    """Balanced accuracies of all runs.

    Attributes:
        values: By method, then by setting, then by the name of the set.
    """

    values: Mapping[str, Mapping[Setting, Mapping[str, float]]] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """Every method but the baseline, in the order of the study."""
        return [method for method in self.values if method != BASELINE]

    def targets(self, method: str) -> list[tuple[str, str]]:
        """Return the pairs of network and target that the method was run on.

        Args:
            method: The method.

        Returns:
            Pairs in the order of the study.
        """
        return list(dict.fromkeys((setting.network, setting.target) for setting in self.values[method]))

    def gains(self, method: str, scored: str = "test", *, network: str = "") -> Floats:
        """Paired differences to the baseline on images as they are, or at the source for ``scored="source"``.

        Args:
            method: A method.
            scored: One of ``SETS``.
            network: One kind of network only; empty for both.

        Returns:
            A row for each network and target, a column for each seed; as many seeds as every target has. Seeds without a run of
            the baseline are left out.
        """
        base = "source" if scored == "source" else "test"
        rows = []
        for place in self.targets(method):
            if network in ("", place[0]):
                settings = [setting for setting in self.values[method] if (setting.network, setting.target) == place]
                settings = [setting for setting in settings if setting in self.values[BASELINE]]
                rows.append([self._gain(method, setting, scored, base) for setting in settings])
        least = min(map(len, rows), default=0)
        return np.array([row[:least] for row in rows], np.float64)

    def difference(self, method: str, scored: str = "test", *, network: str = "") -> Difference | None:
        """Return the mean gain and its interval; None where nothing was run.

        Args:
            method: The method.
            scored: The test set.
            network: The kind of network; empty for all.

        Returns:
            The difference, or None.
        """
        gains = self.gains(method, scored, network=network)
        return difference(gains) if gains.size else None

    def mean(self, method: str, scored: str = "test", *, network: str = "") -> float | None:
        """Return the mean over targets of the mean over seeds; None where a run has no such score.

        Args:
            method: The method.
            scored: The test set.
            network: The kind of network; empty for all.

        Returns:
            The mean, or None.
        """
        means = []
        for place in self.targets(method):
            if network in ("", place[0]):
                runs = [run for setting, run in self.values[method].items() if (setting.network, setting.target) == place]
                if not all(scored in run for run in runs):
                    return None
                means.append(np.mean([run[scored] for run in runs]))
        return float(np.mean(means)) if means else None

    def _gain(self, method: str, setting: Setting, scored: str, base: str) -> float:
        return self.values[method][setting][scored] - self.values[BASELINE][setting][base]


def collect(rows: Iterable[Row], targets: Sequence[str] = ()) -> Scores:
    """Read scores from the rows of a study.

    Args:
        rows: Rows with a result; a cell that stands in two grids is counted once.
        targets: Names of datasets to use; empty for all.

    Returns:
        The scores, methods in the order in which they first appear.
    """
    values: dict[str, dict[Setting, dict[str, float]]] = {}
    for row in rows:
        if targets and row["dataset"] not in targets:
            continue
        setting = Setting(str(row["fit"]), str(row["dataset"]), int(cast("int", row["seed"])))
        run = {
            name: float(cast("float", row[f"result.{name}.balanced_accuracy"]))
            for name in SETS
            if f"result.{name}.balanced_accuracy" in row
        }
        values.setdefault(canonical(method_of(row)), {})[setting] = run
    return Scores(values)


def canonical(method: str) -> str:
    """Return one name for a method whose options differ between targets, as those of the targeted corruptions do.

    Args:
        method: The method as a configuration names it.

    Returns:
        The name under which its scores are collected.

    Example:
        >>> canonical("targeted(corruptions='bloodmnist')"), canonical("randaugment")
        ('targeted', 'randaugment')
    """
    return _CORRUPTIONS.sub("targeted", method)
