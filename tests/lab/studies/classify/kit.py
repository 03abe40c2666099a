"""Invented rows of classification."""

from __future__ import annotations

from typing import Any


def row(method: str, dataset: str, seed: int, value: float, **more: Any) -> dict[str, Any]:
    several = {"result.test.exact_match": 0.1, "result.test.accuracy": value} if dataset == "chestmnist" else {}
    balanced = 0.5 if dataset == "chestmnist" else value
    return {
        "grid": "augmentations",
        "algorithm": "plain",
        "augmentation": method,
        "dataset": dataset,
        "seed": seed,
        "result.test.balanced_accuracy": balanced,
        **several,
        **more,
    }


def swept(datasets: list[str], seeds: int = 3) -> list[dict[str, Any]]:
    return [
        row("colorist", dataset, seed, 0.5 + 0.1 * p + 0.01 * seed, probability=p, grid="probability")
        for dataset in datasets
        for p in (0.0, 0.3, 1.0)
        for seed in range(seeds)
    ]
