"""Made-up rows of the shift study with known gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recolorist_lab.studies.shift.scores import Row

TARGETS = ("blood-bccd-to-acevedo20-48", "blood-acevedo20-bccd-to-zheng18_tecom-48", "breast-warm-to-cool-48")
GAIN = {"none": 0.0, "colorist": 0.10, "camera": 0.04}
#: Those that the page of confirming names.
NAMED = {
    "randaugment": 0.05,
    "colorist+randaugment": 0.06,
    "own_style(p=0.3, scale=0.5)+randaugment": 0.07,
    "own_style+randaugment": 0.08,
}


def rows(targets: tuple[str, ...] = ("a", "b", "c"), seeds: int = 2, gains: Mapping[str, float] = GAIN) -> list[Row]:
    """Every method on every target and network; a base that differs between them, and a gain that does not."""
    made: list[Row] = []
    for place, target in enumerate(targets):
        for fit in ("network", "head"):
            for seed in range(seeds):
                base = 0.5 + 0.05 * place + 0.01 * seed + (0.1 if fit == "head" else 0.0)
                for augmentation, gain in gains.items():
                    row: dict[str, object] = {"dataset": target, "fit": fit, "seed": seed, "algorithm": "plain"}
                    row["augmentation"] = augmentation
                    row["result.test.balanced_accuracy"] = base + gain
                    row["result.test_harmonised.balanced_accuracy"] = base + gain + 0.02
                    row["result.source.balanced_accuracy"] = 0.9 - gain / 10
                    made.append(row)  # type: ignore[arg-type]
    return made


def gated_rows() -> list[Row]:
    """Rows whose gated images score three points more than as they are."""
    made: list[Any] = [dict(row) for row in rows(TARGETS, gains=GAIN | NAMED)]
    for row in made:
        row["result.test_gated.balanced_accuracy"] = row["result.test.balanced_accuracy"] + 0.03
        row["seconds"] = 100.0
    return made
