"""The tables of the page of the colour-space study, by their marks."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from recolorist.core.spaces import SPACES
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.table import Cell, Column, Digits, Number, Range, Strong, Table, label
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces import table as spaces_table
from recolorist_lab.studies.spaces.table import ORDER, SpaceScores

__all__ = ["cost", "cost_table", "detail", "scores_of", "speed", "tables"]

Row: TypeAlias = Mapping[str, Json]

_CLIP_THEMSELVES: Final = ("lab", "lch", "luv", "hsv", "hed")  # their way back to RGB never leaves the range

#: Parts of an evaluation that run a network.
NETWORKS: Final = ("lpips", "features_of_outputs", "features_of_styles")


def tables(rows: Sequence[Row]) -> dict[str, Table]:
    """Make every table of the page.

    Args:
        rows: Results, one for each cell.

    Returns:
        Tables by their mark on the page.
    """
    scores, more = scores_of(rows, "all"), scores_of(rows, "more")
    tests = spaces_statistics.significance(scores)
    return {
        "sizes": spaces_table.sizes(scores),
        "one": spaces_table.table_one(scores),
        "agreement": spaces_table.agreement(scores),
        "methods": spaces_table.by_method(scores),
        "datasets": spaces_table.by_dataset(scores),
        "friedman": spaces_statistics.friedman_table(tests),
        "against-methods": spaces_statistics.method_table(tests),
        "against-spaces": spaces_statistics.space_table(tests),
        **{f"more-{dataset}": detail(more, dataset) for dataset in more.datasets},
        "cost": cost_table(rows),
        "times": spaces_table.times(scores),
        "speed": speed(rows),
    }


def scores_of(rows: Sequence[Row], family: str) -> SpaceScores:
    """Collect the results of the grids whose name is this, or begins with it and a hyphen.

    Args:
        rows: Results, one for each cell.
        family: The name.

    Returns:
        Their scores.
    """
    scores = SpaceScores.of(row for row in rows if str(row["grid"]).partition("-")[0] == family)
    spaces_table.assert_algebra(scores)
    return scores


#: Metrics of the detailed tables, and by what they are multiplied.
_DETAILS: Final = {
    "lpips": (Column("LPIPS", digits=Digits(3)), 1),
    "ssim": (Column("SSIM", digits=Digits(3)), 1),
    "ssim_luminance": (Column("luminance SSIM", digits=Digits(3)), 1),
    "gradient_similarity": (Column("gradient similarity", digits=Digits(3)), 1),
    "wasserstein": (Column("W", digits=Digits(4)), 1),
    "fid": (Column("FID", digits=Digits(1)), 1),
    "kid": (Column("KID × 1000", digits=Digits(1)), 1000),
    "artfid": (Column("ArtFID", digits=Digits(1)), 1),
}


def detail(scores: SpaceScores, dataset: str) -> Table:
    """List every metric of mean–std matching on one dataset: mean over seeds ± their deviation.

    Args:
        scores: The results of the study.
        dataset: The dataset.

    Returns:
        The table.
    """
    rows: list[list[Cell]] = []
    for space in scores.spaces:
        of_space = [row for key, row in scores.cells.items() if key[:3] == (dataset, space, "mean_std")]
        clipped = "in the conversion" if space in _CLIP_THEMSELVES else _over_seeds(of_space, "clipped", 100, "%")
        rows.append(
            [paper.TITLES[space], *(_over_seeds(of_space, name, factor) for name, (_, factor) in _DETAILS.items()), clipped]
        )
    columns = [column for column, _ in _DETAILS.values()]
    return Table([label("space"), *columns, Column("clipped", digits=Digits(2))], rows)


def _over_seeds(rows: Sequence[Row], name: str, factor: int, unit: str = "") -> Number:
    values = [factor * float(str(row[f"result.{name}"])) for row in rows]
    return Number(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, unit=unit)


def cost(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, float]]]:
    """Collect the milliseconds of a transfer.

    Args:
        rows: Results, one for each cell.

    Returns:
        Median and quartiles by space and method.
    """
    row = next(row for row in rows if row["grid"] == "cost")
    times: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in row.items():
        parts = name.split(".")
        if parts[:2] == ["result", "ms"]:
            times.setdefault(parts[2], {}).setdefault(parts[3], {})[parts[4]] = float(str(value))
    return times


def cost_table(rows: Sequence[Row]) -> Table:
    """List the milliseconds of a transfer, with ratios to RGB mean–std.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    times = cost(rows)
    base = times["rgb"]["mean_std"]["median"]
    other_methods = [method for method in times["rgb"] if method != "mean_std"]
    body: list[list[Cell]] = []
    for space in [space for space in ORDER if space in times]:
        quartiles = times[space]["mean_std"]
        numbers = [Number(times[space][method]["median"]) for method in other_methods]
        kind = "linear" if SPACES[space].is_linear else "not linear"
        ratio = Number(quartiles["median"] / base, digits=Digits(1))
        body.append(
            [paper.TITLES[space], kind, Number(quartiles["median"]), Range(quartiles["low"], quartiles["high"]), ratio, *numbers]
        )
    three = Digits(3)
    columns = [label("space"), label(""), Column("mean_std", "ms", digits=three), Column("quartiles", digits=three)]
    return Table([*columns, Column("× RGB"), *(Column(method, "ms", digits=three) for method in other_methods)], body)


def speed(rows: Sequence[Row]) -> Table:
    """List where the time of the paper's 800 pairs goes.

    Args:
        rows: Results, one for each cell.

    Returns:
        The table.
    """
    row = next(row for row in rows if row["grid"] == "speed")
    prefix = "result.time.parts."
    total = float(str(row["result.time.whole"]))
    parts = {name.removeprefix(prefix): float(str(value)) for name, value in row.items() if name.startswith(prefix)}
    networks = {name: parts.pop(name) for name in NETWORKS if name in parts}
    parts |= {"transform": float(str(row["result.time.transform"])), "audit": float(str(row["result.time.audit"]))}
    parts["reading images"] = float(str(row["result.time.images"]))
    ordered = sorted([*networks.items(), *parts.items()], key=lambda item: -item[1])
    inside = sum(networks.values())
    sums = {"networks together": inside, "outside the networks": total - inside, "whole": total}
    body = [_part(name.replace("_", " "), value, total) for name, value in ordered]
    body += [_part((Strong(name),), value, total) for name, value in sums.items()]
    return Table([label("part"), Column("seconds", digits=Digits(3)), Column("share", digits=Digits(3))], body)


def _part(name: str | tuple[Strong], seconds: float, total: float) -> list[Cell]:
    return [name, Number(seconds), Number(100 * seconds / total, unit="%")]
