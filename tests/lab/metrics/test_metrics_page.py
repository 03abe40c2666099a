"""The page about metrics: its examples run, and its tables name what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from recolorist_lab.assets.weights import WEIGHTS
from recolorist_lab.metrics import ALL, Evaluation
from recolorist_lab.metrics.evaluation import FID_BACKENDS, LPIPS_NETS, MODULES
from recolorist_lab.metrics.inception import BACKENDS
from recolorist_lab.metrics.perceptual import BACKBONES

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_its_examples_run() -> None:
    namespace: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "metrics.md", "exec"), namespace)  # noqa: S102 - our own documentation


@pytest.mark.parametrize("name", [*ALL, *BACKENDS, *BACKBONES])
def test_every_metric_and_network_is_on_it(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_its_table_names_nothing_else() -> None:
    table = PAGE.partition("## What each measures")[2].partition("Every function")[0]
    named = re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `")))
    assert set(named) <= {entry.name for entry in fields(Evaluation)}
    assert set(ALL) <= set(named)


def test_its_weights_are_those_of_the_table() -> None:
    table = PAGE.partition("## Weights")[2]
    named = re.findall(r"`(\w+)`", "\n".join(line for line in table.splitlines() if line.startswith("| ")))
    assert {BACKENDS[one].weights for one in BACKENDS} | set(BACKBONES.values()) <= set(named)
    assert set(named) - {"alex", "vgg"} <= WEIGHTS.keys()


def test_choices_are_those_of_the_modules() -> None:
    assert (tuple(BACKENDS), tuple(BACKBONES), set(MODULES)) == (FID_BACKENDS, LPIPS_NETS, set(ALL))
