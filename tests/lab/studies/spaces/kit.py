"""Invented rows of the study of colour spaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]


QUICK = Path(__file__).parents[4] / "configs" / "spaces.quick.toml"


TINY = "synthetic:hospitals=3,tiles=6,size=48"


def row(dataset: str, space: str, method: str = "mean_std", seed: int = 0, **values: float) -> Row:
    """A row as the ledger gives it."""
    scores = {"lpips": 0.1, "ssim": 0.9, "fid": 20.0, "wasserstein": 0.03, "artfid": 23.1, **values}
    results = {f"result.{name}": value for name, value in scores.items()}
    more = {"result.pairs": 8, "result.images": 9, "result.repeats": False, "split": "train"}
    time = {"result.time.transform_ms": 0.5, "result.time.whole": 2.0, "result.time.transform_share": 0.002}
    return {"dataset": dataset, "space": space, "method": method, "seed": seed, **results, **more, **time}


def full(datasets: int = 4, methods: tuple[str, ...] = ("mean_std", "histogram", "exact_histogram", "covariance")) -> list[Row]:
    """A complete table with differences: later methods are worse, and so is every space but RGB's kin."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(datasets):
        for place, method in enumerate(methods):
            for space in ("rgb", "hed", "ycbcr", "ypbpr", "yuv", "lalphabeta"):
                noise = 0.0 if space in ("ycbcr", "ypbpr", "yuv") else rng.random()
                rows.append(row(f"d{number}", space, method, artfid=20 + number + 5 * place + noise + 9 * (space == "hed")))
    return rows
