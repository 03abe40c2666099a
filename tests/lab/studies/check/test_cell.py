"""Matching synthetic tissue to the other scanner, where the truth is known."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.check.cell import TransferCheck, run
from tests.lab.studies.transfer.kit import Context

SMALL: dict[str, Any] = {"space": "rgb", "method": "mean_std", "pairs": 2, "size": 32}


def test_matching_comes_nearer_to_the_other_scanner() -> None:
    result: Any = run(TransferCheck(**SMALL), Context())
    assert result["error_after"] < result["error_before"]
    assert result["pairs_made_worse"] < 2
    assert 0 <= result["clipped"] < 0.1


def test_the_same_seed_gives_the_same_and_another_gives_another() -> None:
    first, again, other = (run(TransferCheck(**SMALL, seed=seed), Context()) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("change", "message"),
    [({"space": "rbg"}, "did you mean 'rgb'"), ({"method": "mean"}, "mean_std"), ({"pairs": 0}, "at least one pair")],
)
def test_wrong_options_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        TransferCheck(**{**SMALL, **change})
