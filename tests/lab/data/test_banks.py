"""Styles come from the training split alone, on all nineteen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import recolorist as rc
from recolorist_lab.data.banks import style_bank
from recolorist_lab.data.index import index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.registry import CARDS
from recolorist_lab.data.synthetic import Recipe, make
from tests.lab.fakes.parts import Fake

LaidOut = Callable[[str], tuple[Fake, Path]]


@pytest.mark.parametrize("key", CARDS)
def test_only_the_training_split_may_be_trained_with(key: str, laid_out: LaidOut) -> None:
    one, root = laid_out(key)
    manifest = index(one.card, root)
    banks = {split: style_bank(Samples(manifest, split, root=root, size=8)) for split in ("train", "val", "test")}
    assert {split: len(bank) for split, bank in banks.items()} == one.card.expected.sizes
    assert {bank.split for bank in banks.values()} == {"train", "val", "test"}
    assert all(bank.name == f"{key}@{manifest.fingerprint()[:16]}" for bank in banks.values())
    rc.Colorist(banks["train"])
    for split in ("val", "test"):
        with pytest.raises(rc.RecoloristError, match=f"made from the '{split}' split"):
            rc.Colorist(banks[split])


def test_styles_carry_label_domain_and_key(laid_out: LaidOut) -> None:
    one, root = laid_out("retina")
    samples = Samples(index(one.card, root), "train", root=root, size=12)
    bank = style_bank(samples)
    for row, sample in enumerate(samples):
        assert bank.domain(row) == sample.domain
        assert bank.label(row) == one.card.classes[int(str(sample.label))]
        assert bank.row_of(sample.key) == row


def test_what_is_measured_is_what_is_loaded() -> None:
    samples = make(Recipe(hospitals=3, tiles=4, size=16)).samples("train")
    bank = style_bank(samples)
    for row, sample in enumerate(samples):
        assert np.allclose(bank.moments(row).mean * (255 / bank.moments(row).data_range), rc.measure(sample.image).mean)


def test_borders_are_not_styles(laid_out: LaidOut) -> None:
    one, root = laid_out("retina")
    manifest = index(one.card, root)
    boxed = style_bank(Samples(manifest, "test", root=root, size=16, resize="letterbox"))
    squashed = style_bank(Samples(manifest, "test", root=root, size=16))
    assert np.abs(boxed.mean / squashed.mean - 1).max() < 0.1
    assert boxed.preprocessing == "letterbox to 16 pixels, bilinear"
