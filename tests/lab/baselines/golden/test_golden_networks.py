"""Today's outputs, losses and gradients of every network against the stored ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recolorist_lab.baselines.registry import METHODS
from tests.lab.baselines.golden.cases import CASES, FILE, TOLERANCE, Case

STORED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_network_is_there() -> None:
    assert {case.method for case in CASES} == set(METHODS.built_in)
    assert list(STORED) == [case.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_numbers_are_as_stored(case: Case) -> None:
    stored, numbers = STORED[case.name], case.numbers()
    assert list(numbers) == list(stored)
    assert numbers.pop("shape") == stored["shape"]
    for name, value in numbers.items():
        assert value == pytest.approx(stored[name], rel=TOLERANCE, abs=1e-10), name


def test_no_case_is_trivial() -> None:
    for name, stored in STORED.items():
        assert stored["std"] > 1e-4, name
        assert len(set(stored["output"])) > 20, name
        assert all(value > 0 for key, value in stored.items() if key.startswith("gradient") and "normalisation" not in key), name
