"""Sizes, imbalance and entropy beside the paper's."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from recolorist_lab.data.cards import Card, Expected
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.registry import card_of
from recolorist_lab.data.statistics import differences, entropy, imbalance, summary
from recolorist_lab.data.synthetic import Recipe, make


@pytest.fixture
def manifest() -> Manifest:
    return make(Recipe(hospitals=3, tiles=4, size=8)).manifest


@pytest.fixture
def card(manifest: Manifest) -> Card:
    expected = Expected(4, 4, 4, 1.0, 1.0, (("train", (1, 1, 1, 1)),))
    return replace(card_of("pathmnist"), classes=manifest.facts.classes, expected=expected, pixels=8)


def test_the_papers_own_counts() -> None:
    for name in ("ddi", "bone_marrow", "chestmnist"):
        expected = card_of(name).expected
        counts = expected.classes("train")
        assert counts is not None
        assert imbalance(counts) == pytest.approx(expected.ir, abs=0.0051)
        assert entropy(counts) == pytest.approx(expected.entropy, abs=0.000051)


def test_empty_classes() -> None:
    assert imbalance([3, 0]) == math.inf
    assert entropy([3, 0]) == 0.0
    assert entropy([]) == 0.0


def test_agreement(manifest: Manifest, card: Card) -> None:
    assert differences(manifest, card) == ()
    assert summary(manifest, card).agrees is True
    assert summary(manifest).agrees is None
    assert summary(manifest.with_facts(complete=False), card).agrees is False


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"expected": Expected(4, 5, 4, 1.0, 1.0)}, "val has 4 images instead of 5"),
        ({"expected": Expected(4, 4, 4, 1.0, 1.0, (("train", (2, 0, 1, 1)),))}, "train has 1 of 'round' instead of 2"),
        ({"expected": Expected(4, 4, 4, 1.5, 1.0)}, "IR is 1.00 and H 1.0000 instead of 1.50 and 1.0000"),
        ({"pixels": 28}, "12 images are 8x8x3 instead of 28x28x3"),
        ({"colour": "Gray"}, "12 images are 8x8x3 instead of 8x8x1"),
    ],
)
def test_differences_are_said(changes: dict[str, object], sentence: str, manifest: Manifest, card: Card) -> None:
    assert sentence in differences(manifest, replace(card, **changes))  # type: ignore[arg-type]
