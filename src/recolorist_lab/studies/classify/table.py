"""The tables of the classification studies, from rows of the ledger.

Aggregates are formed as in the paper: within a seed first, then mean and deviation over seeds. `MM` is the mean of the twelve
MedMNIST+ sets, `Avg` that of the eight columns, in which MM counts once, and `OOD` that of the seven sets with a covariate shift.
None is formed from what is left when a set is missing.

In the paper's MM, ChestMNIST enters with its mean per-label *accuracy*: only so do the published numbers per dataset give the
printed aggregate. `MM` is formed so here too, and `MM, balanced` takes the mean per-label balanced accuracy instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

import numpy as np

from recolorist_lab.augmentations.table import AUGMENTATIONS
from recolorist_lab.data.registry import CARDS
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.table import Cell, Column, Digits, Number, Table, label
from recolorist_lab.runs.config import Json

__all__ = [
    "ALGORITHMS",
    "COLUMNS",
    "DIGITS",
    "MEDMNIST",
    "OOD",
    "aggregates",
    "by_dataset",
    "main_table",
    "method_of",
    "sets",
    "summary",
    "value_of",
]

Row: TypeAlias = Mapping[str, Json]
Value: TypeAlias = Callable[[Row], float]

#: How the paper writes the algorithms.
ALGORITHMS: Final = MappingProxyType({"erm": "ERM", "ib_erm": "IB-ERM", "rsc": "RSC", "sd": "SD", "selfreg": "SelfReg"})
MEDMNIST: Final = tuple(key for key, card in CARDS.items() if card.layout == "medmnist")
#: Columns of Table 3 but the first and the last, and our names of the sets.
OOD: Final = MappingProxyType(
    {
        "camelyon17": "camelyon17",
        "epistr": "epistr",
        "fitzpatrick17k": "fitzpatrick17k",
        "ddi": "ddi",
        "blood": "peripheral_blood",
        "bone": "bone_marrow",
        "retina": "retina",
    }
)
#: Those that the authors' port changes. The paper's rows stand beside the port, which is the better guess at what produced them.
_VARIED: Final = frozenset({"ib_erm", "rsc", "selfreg"})
DIGITS: Final = Digits(3)  #: of an accuracy
COLUMNS: Final = ("MM", "MM, balanced", *OOD, "Avg", "OOD")
#: The authors' names of their sets where they are not ours.
_ZOO: Final = MappingProxyType({"camelyon17": "camelyon17wilds", "bone_marrow": "bone_marrow_smears_and_peripheral_blood"})


def summary(values: Sequence[float], beside: Number | None = None) -> Number:
    """Return mean and deviation of one value per seed.

    Args:
        values: The values.
        beside: The paper's value, to be shown with it.

    Returns:
        The number. Its deviation is that of a sample, and None for a single seed.

    Example:
        >>> summary([0.5, 0.7])
        Number(value=0.6, spread=0.14142135623730948, digits=None, unit='', beside=None, mark='')
    """
    return Number(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, beside=beside)


def method_of(row: Row) -> str:
    """Return what the paper calls the method of a row, or what we call it.

    Args:
        row: A row of the study's table.

    Returns:
        The name.

    Example:
        >>> method_of({"algorithm": "sd", "augmentation": "colorist"}), method_of({"algorithm": "plain", "augmentation": "none"})
        ('SD + Colorist', 'Baseline')
    """
    algorithm, augmentation, p = str(row["algorithm"]), str(row["augmentation"]), row.get("probability")
    entry = AUGMENTATIONS.get(augmentation)
    name = (entry.paper if entry is not None else "") or augmentation
    names = [ALGORITHMS[algorithm]] if algorithm in ALGORITHMS else []
    if algorithm in _VARIED and row.get("variant") == "upstream":
        names = [f"{ALGORITHMS[algorithm]} as in DomainBed"]
    if augmentation != "none":
        names.append(name if p is None else f"{name}, p = {p:g}")
    return " + ".join(names) or "Baseline"


def value_of(row: Row, scored: str = "test", *, balanced: bool = False) -> float:
    """Read the number that enters the tables: balanced accuracy, or accuracy with several labels to an image.

    Args:
        row: A result.
        scored: The set of images.
        balanced: Read balanced accuracy also with several labels to an image.

    Returns:
        From 0 to 1.
    """
    multilabel = f"result.{scored}.exact_match" in row
    name = "accuracy" if multilabel and not balanced else "balanced_accuracy"
    return float(cast("float", row[f"result.{scored}.{name}"]))


def sets(rows: Iterable[Row], value: Value = value_of) -> dict[str, dict[int, dict[str, float]]]:
    """Group values. A row without a result leaves its seed in place, so that its absence shows.

    Args:
        rows: Results, one for each cell.
        value: Reads the number from a row.

    Returns:
        Values by method, seed and dataset.
    """
    by_method: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        of_run = by_method[method_of(row)][int(cast("int", row["seed"]))]
        if "result.test.balanced_accuracy" in row:
            of_run[str(row["dataset"])] = value(row)
    return {method: dict(seeds) for method, seeds in by_method.items()}


def aggregates(values: Mapping[str, float], balanced: Mapping[str, float] | None = None) -> dict[str, float]:
    """Compute the columns that can be formed for one seed.

    Args:
        values: Accuracy by dataset.
        balanced: Balanced accuracy by dataset.

    Returns:
        The values by column.

    Example:
        >>> aggregates({"ddi": 0.5})
        {'ddi': 0.5}
    """
    means: dict[str, float] = {}
    if all(name in values for name in MEDMNIST):
        means["MM"] = float(np.mean([values[name] for name in MEDMNIST]))
        if balanced is not None:
            means["MM, balanced"] = float(np.mean([balanced[name] for name in MEDMNIST]))
    means |= {column: values[name] for column, name in OOD.items() if name in values}
    if all(column in means for column in OOD):
        means["OOD"] = float(np.mean([means[column] for column in OOD]))
        if "MM" in means:
            means["Avg"] = float(np.mean([means["MM"], *(means[column] for column in OOD)]))
    return means


def main_table(rows: Sequence[Row]) -> Table:
    """Make Table 3: mean ± deviation over seeds, and in brackets what the paper prints.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    plain, balanced = sets(rows), sets(rows, lambda row: value_of(row, balanced=True))
    order = [name for name in paper.BALANCED_ACCURACY if name in plain]
    order += [name for name in plain if name not in paper.BALANCED_ACCURACY]
    lines: list[list[Cell]] = []
    for method in order:
        per_seed = [aggregates(values, balanced[method][seed]) for seed, values in plain[method].items()]
        lines.append([method, *(_with_paper(method, column, per_seed) for column in COLUMNS)])
    return Table([label("method"), *(Column(name, digits=DIGITS) for name in COLUMNS)], lines)


def _with_paper(method: str, column: str, per_seed: Sequence[Mapping[str, float]]) -> Number:
    values = [seed[column] for seed in per_seed if column in seed]
    printed = _printed_value(method, column)
    beside = None if printed is None else Number(printed, digits=Digits(2))
    return summary(values, beside) if len(values) == len(per_seed) else Number(None, beside=beside)


def _printed_value(method: str, column: str) -> float | None:
    """Return the value that the paper prints; its OOD aggregate is computed from the printed columns."""
    row = paper.BALANCED_ACCURACY.get(method)
    if row is None or column == "MM, balanced":
        return None
    printed = dict(zip(paper.BALANCED_ACCURACY_COLUMNS, row, strict=True))
    if column == "OOD":
        return float(np.mean([printed[name] for name in OOD]))
    return float(printed[{"MM": "medmnist", "Avg": "average"}.get(column, column)])


def by_dataset(rows: Sequence[Row]) -> Table:
    """Compare every dataset without augmentation and with Colorist, with the authors' published values in brackets.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    values = sets(rows)
    lines: list[list[Cell]] = []
    for name, card in CARDS.items():
        accuracy = paper.ZOO[_ZOO.get(name, name)]
        published = (Number(accuracy.no_augmentation / 100), Number(accuracy.colorist / 100, accuracy.deviation / 100))
        methods = zip(("Baseline", "Colorist"), published, strict=True)
        lines.append([card.title, *(_over_seeds(values.get(method, {}), name, beside) for method, beside in methods)])
    return Table([label("dataset"), Column("Baseline", digits=DIGITS), Column("Colorist", digits=DIGITS)], lines)


def _over_seeds(seeds: Mapping[int, Mapping[str, float]], dataset: str, beside: Number) -> Number:
    """Average over all seeds; no value where a seed is missing, since the rest is another quantity."""
    values = [sets[dataset] for sets in seeds.values() if dataset in sets]
    return summary(values, beside) if values and len(values) == len(seeds) else Number(None, beside=beside)
