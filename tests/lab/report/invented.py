"""A ledger of invented results: round numbers, so that the tables can be worked out by hand. Nothing here was measured."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recolorist_lab.data.registry import CARDS
from recolorist_lab.runs import cell as cells
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Study, load
from recolorist_lab.studies.properties import cell as properties
from recolorist_lab.studies.transfer import cell as transfer

SEEDS = (1, 2)
SPACES = ("rgb", "lab", "ycbcr", "ypbpr", "yuv", "ydbdr")
METHODS = ("mean_std", "histogram", "exact_histogram", "covariance")
DATASETS = ("synthetic:tiles=4", "synthetic:tiles=4,seed=1")
NINETEEN = list(CARDS)

STUDIES = {
    "spaces": f"""
[[grid]]
name = "spaces"
kind = "spaces"
set = {{ pairs = 10, size = 64 }}
axes = {{ dataset = {list(DATASETS)}, method = {list(METHODS)}, space = {list(SPACES)}, seed = {list(SEEDS)} }}

[[grid]]
name = "cost"
kind = "transfer_cost"
set = {{ pairs = 2, rounds = 3, size = 64, spaces = ["rgb", "lab"], methods = ["mean_std"], dataset = "synthetic:tiles=4" }}
""",
    "properties": """
[[grid]]
name = "paper"
kind = "properties"
set = { dataset = "synthetic:tiles=4", eps_mode = "paper", pairs = 4, size = 64 }
axes.seed = [1, 2]

[[grid]]
name = "gain"
kind = "properties"
set = { dataset = "synthetic:tiles=4", pairs = 4, size = 64, seed = 1 }
axes.max_gain = [2.0, 1e9]

[[grid]]
name = "clip"
kind = "properties"
set = { dataset = "synthetic:tiles=4", pairs = 4, size = 64, seed = 1 }
axes.max_clip = [0.0, 0.05]

[[grid]]
name = "space"
kind = "properties"
set = { dataset = "synthetic:tiles=4", pairs = 4, size = 64, seed = 1 }
axes.space = ["lab"]
""",
    "classify": f"""
[[grid]]
name = "augmentations"
kind = "classify"
axes = {{ augmentation = ["none", "colorist"], dataset = {NINETEEN}, seed = {list(SEEDS)} }}

[[grid]]
name = "hospitals"
kind = "classify"
set = {{ dataset = "synthetic:hospitals=3,tiles=4,size=16", source_share = 0.2, validation = "train", size = 16 }}
axes = {{ augmentation = ["none", "colorist"], seed = {list(SEEDS)} }}
""",
    "probability": f"""
[[grid]]
name = "probability"
kind = "classify"
set = {{ augmentation = "colorist" }}
axes = {{ probability = [0.0, 0.3, 1.0], dataset = {NINETEEN}, seed = [1] }}
""",
    "transfer": f"""
[[grid]]
name = "train"
kind = "transfer_train"
set = {{ method = "adain", iterations = 6, dataset = "synthetic:tiles=4" }}
axes.seed = {list(SEEDS)}

[[grid]]
name = "baselines"
kind = "transfer"
needs = [{{ grid = "train", on = ["method", "seed"] }}]
set = {{ method = "adain", pairs = 10, dataset = "synthetic:tiles=4" }}
axes.seed = {list(SEEDS)}

[[grid]]
name = "colorist"
kind = "transfer"
set = {{ method = "colorist", pairs = 10, dataset = "synthetic:tiles=4" }}
axes.seed = {list(SEEDS)}
""",
    "runtime": """
[[grid]]
name = "latency"
kind = "runtime"
axes.method = ["adain", "modflows", "colorist", "colorist_bank"]

[[grid]]
name = "growth"
kind = "runtime"
axes = { method = ["adain", "colorist"], size = [64, 128] }
""",
    "check": """
[[grid]]
kind = "transfer_check"
set = { space = "rgb", method = "mean_std" }
axes.seed = [0, 1]
""",
}


def studies(folder: Path, names: tuple[str, ...] = tuple(STUDIES)) -> list[Study]:
    """The studies, written to disk as people would."""
    for name in names:
        (folder / f"{name}.toml").write_text(f'name = "{name}"\n{STUDIES[name]}', "utf-8")
    return [load(folder / f"{name}.toml") for name in names]


def fill(ledger: Ledger, study: Study) -> None:
    """Publish an invented result for every cell."""
    for cell in study.cells:
        publish(ledger, cell)


def publish(ledger: Ledger, cell: Cell) -> None:
    result, files = RESULTS[cell.kind](cell.config)
    ledger.folder(cell).mkdir(parents=True)
    kept = {name: ledger.keep(cell, name, data) for name, data in files.items()}
    timings = {"started": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "attempt": 0, "resumed_from": None}
    ledger.publish(cell, {**cells._describe_cell(cell), "result": result, "files": kept, "timings": timings})


Invented = tuple[dict[str, Any], dict[str, bytes]]


def _spaces(config: Any) -> Invented:
    """Worse from space to space and from method to method, but that YCbCr, YPbPr and YUV must agree; no two steps are equal."""
    place = {"rgb": 0, "lab": 1}.get(config.space, 2) + (3 if config.space == "ydbdr" else 0)
    method, dataset = METHODS.index(config.method), DATASETS.index(config.dataset)
    fid = 20.0 + 10 * dataset + place * (1 + dataset) + (30 + 3 * dataset) * method + config.seed
    lpips = 0.1 + 0.01 * place
    return {
        "images": 4,
        "repeats": True,
        "pairs": config.pairs,
        "lpips": lpips,
        "ssim": 0.8 - 0.01 * place,
        "fid": fid,
        "wasserstein": 0.04 + 0.001 * place,
        "artfid": (1 + lpips) * (1 + fid),
    }, {}


def _cost(_: Any) -> Invented:
    def values(median: float) -> dict[str, float]:
        return {"median": median, "low": median - 0.01, "high": median + 0.01}

    return {"memcpy": values(0.02), "ms": {"rgb": {"mean_std": values(0.05)}, "lab": {"mean_std": values(5.0)}}}, {}


def _properties(config: Any) -> Invented:
    held = config.max_clip < 1
    values = {
        "images": 4, "repeats": True, "pairs": 4, "pearson_before_min": 1.0, "pearson_after_mean": 0.99,
        "pearson_after_min": 0.95,
        "pearson_after_interval": [0.98, 1.0], "pearson_written_mean": 0.9895,
        "clipped_values": 0.02, "clipped_interval": [0.01, 0.03],
        "clipped_levels": 0.0 if held else 0.015, "clipped_pixels": 0.04, "unclipped_instances": 0.5,
        "unclipped_instances_levels": 0.75, "pooled_after": 0.9, "strength_mean": 0.5 if held else 1.0, "pairs_gain_capped": 1,
    }  # fmt: skip
    head = "pair,channel,gain,clipped,clipped_levels,before,after,written"
    lines = [
        f"{pair},{channel},1.5,{0.01 * (channel + 1)},0.01,1.0,{0.99 - 0.01 * pair},0.98"
        for pair in range(4)
        for channel in range(3)
    ]
    return values, {properties.FILE: "\n".join([head, *lines, ""]).encode()}


def _classify(config: Any) -> Invented:
    """0.5 without, 0.6 with Colorist, a hundredth more for the second seed; as a function of p, 0.5 + p / 10."""
    value = 0.5 if config.augmentation == "none" else 0.6
    value = (value if config.probability is None else 0.5 + config.probability / 10) + 0.01 * (config.seed - 1)
    scored: dict[str, Any] = {"balanced_accuracy": value, "accuracy": value + 0.1}
    scored |= {"exact_match": 0.3} if config.dataset == "chestmnist" else {}
    more = {"source": {"balanced_accuracy": 0.95}, "val_split": {"balanced_accuracy": value - 0.1}} if config.source_share else {}
    return {"images": {"train": 20, "val": 5, "test": 40}, "epochs": 3, "test": scored, **more}, {}


def _train(_: Any) -> Invented:
    return {
        "steps": 6,
        "batch": 8,
        "crop_size": 256,
        "images": 4,
        "loss": {"content": 1.5, "style": 0.25},
        "seconds_per_step": 0.5,
    }, {}


def _transfer(config: Any) -> Invented:
    own = config.method == "colorist"
    fid = (30.0 if own else 70.0) + 2 * (config.seed - 1)
    values = {
        "native": 224 if own else 256, "weights": "none" if own else "trained", "images": 4, "repeats": True,
        "pairs": config.pairs, "lpips": 0.1, "ssim": 0.85 if own else 0.55, "fid": fid, "wasserstein": 0.04,
        "artfid": 1.1 * (1 + fid), "transform_ms": 0.05 if own else 150.0,
    }  # fmt: skip
    ramp = np.arange(4 * 3 * 8 * 8 * 3, dtype=np.uint32).reshape(4, 3, 8, 8, 3) % 251
    target = io.BytesIO()
    np.savez_compressed(target, shown=ramp.astype(np.uint8))
    return values, {transfer.SHOWN: target.getvalue()}


def _runtime(config: Any) -> Invented:
    base = {"adain": 200.0, "modflows": 9000.0, "colorist": 0.05, "colorist_bank": 0.03}[config.method]
    side = config.size or {"modflows": 512}.get(config.method, 256)
    mean = base * (side / 256) ** 2 if config.size else base
    times = {f"{name}_ms": mean for name in ("mean", "p50", "p90", "p95", "p99")}
    more = {"cpu_seconds": mean / 500, "energy_mwh": mean / 100, "energy_source": "modelled"}
    return {"side": side, "iterations": 1000, "images": 1000, "throughput_it_s": 1000 / mean, **times, **more}, {}


def _check(config: Any) -> Invented:
    return {"error_before": 20.0 + config.seed, "error_after": 10.0, "clipped": 0.001, "pairs_made_worse": 0}, {}


RESULTS: dict[str, Callable[[Any], Invented]] = {
    "spaces": _spaces,
    "transfer_cost": _cost,
    "properties": _properties,
    "classify": _classify,
    "transfer_train": _train,
    "transfer": _transfer,
    "runtime": _runtime,
    "transfer_check": _check,
}
