"""Drift tests of other packages on the features that `drift.py` wrote: `python -m benchmarks.claims.drift_peers FEATURES OUT`.

Runs in an environment of its own with `alibi-detect` and `evidently`, whose NumPy differs from ours. The trials are those
of `drift.py`: the same halves and groups. Alibi Detect's Kolmogorov-Smirnov detector is used at the level 0.001; Evidently's data
drift preset with its defaults, which say drift if half of the columns drifted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.halves import halves

__all__ = ["measure"]

Array = NDArray[np.float64]
ALPHA: Final = 0.001
TRIALS: Final = 20


def measure(file: Path) -> dict[str, Any]:
    """Return rates of alarms by set, change, size and package."""
    stored = dict(np.load(file))
    rows = []
    for key, new in stored.items():
        name, _, change = key.partition("|")
        if change == "units":
            continue
        units, usual = stored[f"{name}|units"], stored[f"{name}|none"]
        for size in (20, 200):
            alarms: dict[str, list[bool]] = {"alibi-detect KSDrift": [], "evidently DataDriftPreset": []}
            for seed in range(TRIALS):
                first, second = halves(units, seed)
                if len(new) != len(units):
                    second = np.random.default_rng(seed).permutation(len(new))
                group = new[second[:size]]
                alarms["alibi-detect KSDrift"].append(_alibi(usual[first], group))
                alarms["evidently DataDriftPreset"].append(_evidently(usual[first], group))
            rates = {test: round(float(np.mean(each)), 4) for test, each in alarms.items()}
            rows.append({"set": name, "change": change, "images": len(group), **rates})
            print(rows[-1], flush=True)
    packages = {each: importlib.metadata.version(each) for each in ("alibi-detect", "evidently", "numpy", "scipy")}
    return {"alpha": ALPHA, "trials": TRIALS, "versions": packages, "rows": rows}


def _alibi(bank: Array, group: Array) -> bool:
    detector: Any = importlib.import_module("alibi_detect.cd").KSDrift(bank, p_val=ALPHA)
    return bool(detector.predict(group)["data"]["is_drift"])


def _evidently(bank: Array, group: Array) -> bool:
    evidently: Any = importlib.import_module("evidently")
    preset: Any = importlib.import_module("evidently.presets").DataDriftPreset()
    pandas: Any = importlib.import_module("pandas")
    columns = [f"feature {i}" for i in range(bank.shape[1])]
    frames = (pandas.DataFrame(each, columns=columns) for each in (group, bank))
    found = json.loads(evidently.Report([preset]).run(*frames).json())
    share = next(metric["value"]["share"] for metric in found["metrics"] if "DriftedColumnsCount" in str(metric))
    return bool(share >= 0.5)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(measure(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
