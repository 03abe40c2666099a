"""The page of the colour-space study: its tables by their marks, from the rows of all its grids."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from recolorist.core.spaces import SPACES
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.pages import markdown
from recolorist_lab.runs.config import Json
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces import table as spaces_table
from recolorist_lab.studies.spaces.table import ORDER, Scores

__all__ = ["cost", "cost_table", "detail", "scores_of", "speed", "tables"]

Row: TypeAlias = Mapping[str, Json]

_CLIP_THEMSELVES: Final = ("lab", "lch", "luv", "hsv", "hed")  # their way back to RGB never leaves the range

#: Parts of an evaluation that run a network.
NETWORKS: Final = ("lpips", "features_of_outputs", "features_of_styles")


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Every table of the page, by its mark."""
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


def scores_of(rows: Sequence[Row], family: str) -> Scores:
    """The results of the grids whose name is this, or begins with it and a hyphen."""
    found = Scores.of(row for row in rows if str(row["grid"]).partition("-")[0] == family)
    spaces_table.assert_algebra(found)
    return found


#: Metrics of the detailed tables, with their digits and by what they are multiplied.
_DETAILS: Final = {
    "lpips": ("LPIPS", 3, 1),
    "ssim": ("SSIM", 3, 1),
    "ssim_luminance": ("luminance SSIM", 3, 1),
    "gradient_similarity": ("gradient similarity", 3, 1),
    "wasserstein": ("W", 4, 1),
    "fid": ("FID", 1, 1),
    "kid": ("KID × 1000", 1, 1000),
    "artfid": ("ArtFID", 1, 1),
}


def detail(scores: Scores, dataset: str) -> str:
    """Every metric of mean–std matching on one dataset: mean over seeds ± their deviation."""
    rows = []
    for space in scores.spaces:
        mine = [row for key, row in scores.cells.items() if key[:3] == (dataset, space, "mean_std")]
        clipped = "in the conversion" if space in _CLIP_THEMSELVES else f"{_over_seeds(mine, 'clipped', 2, 100)} %"
        cells = [_over_seeds(mine, name, digits, factor) for name, (_, digits, factor) in _DETAILS.items()]
        rows.append([paper.TITLES[space], *cells, clipped])
    return markdown(["space", *(title for title, _, _ in _DETAILS.values()), "clipped"], rows)


def _over_seeds(rows: Sequence[Row], name: str, digits: int, factor: int) -> str:
    values = [factor * float(str(row[f"result.{name}"])) for row in rows]
    text = f"{statistics.fmean(values):.{digits}f}"
    return f"{text} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else text


def cost(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, float]]]:
    """Milliseconds of a transfer by space and method: median and quartiles."""
    row = next(row for row in rows if row["grid"] == "cost")
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in row.items():
        parts = name.split(".")
        if parts[:2] == ["result", "ms"]:
            found.setdefault(parts[2], {}).setdefault(parts[3], {})[parts[4]] = float(str(value))
    return found


def cost_table(rows: Sequence[Row]) -> str:
    """The same as a table, with ratios to RGB mean–std."""
    found = cost(rows)
    base = found["rgb"]["mean_std"]["median"]
    methods = list(found["rgb"])
    body = []
    for space in [space for space in ORDER if space in found]:
        each = found[space]["mean_std"]
        quartiles = f"{each['low']:.3f} – {each['high']:.3f}"
        others = [f"{found[space][method]['median']:.3f}" for method in methods if method != "mean_std"]
        kind = "linear" if SPACES[space].is_linear else "not linear"
        body.append([paper.TITLES[space], kind, f"{each['median']:.3f}", quartiles, f"{each['median'] / base:.1f}", *others])
    head = ["space", "", "mean_std, ms", "quartiles", "× RGB", *(f"{method}, ms" for method in methods if method != "mean_std")]
    return markdown(head, body, left=2)


def speed(rows: Sequence[Row]) -> str:
    """Where the time of the paper's 800 pairs goes."""
    row = next(row for row in rows if row["grid"] == "speed")
    prefix = "result.time.parts."
    whole = float(str(row["result.time.whole"]))
    parts = {name.removeprefix(prefix): float(str(value)) for name, value in row.items() if name.startswith(prefix)}
    networks = {name: parts.pop(name) for name in NETWORKS if name in parts}
    parts |= {"transform": float(str(row["result.time.transform"])), "audit": float(str(row["result.time.audit"]))}
    parts["reading images"] = float(str(row["result.time.images"]))
    every = sorted([*networks.items(), *parts.items()], key=lambda item: -item[1])
    body = [_part(name.replace("_", " "), value, whole) for name, value in every]
    body.append(_part("**networks together**", sum(networks.values()), whole))
    body.append(_part("**outside the networks**", whole - sum(networks.values()), whole))
    body.append(_part("**whole**", whole, whole))
    return markdown(["part", "seconds", "share"], body)


def _part(name: str, seconds: float, whole: float) -> list[str]:
    return [name, f"{seconds:.3f}", f"{100 * seconds / whole:.3f} %"]
