"""Styles come from the training split alone, on all nineteen."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import recolorist as rc
from recolorist_lab.data import banks
from recolorist_lab.data.banks import cached_bank, style_bank
from recolorist_lab.data.index import index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.registry import CARDS
from recolorist_lab.data.synthetic import Recipe, make, write
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


class TestCache:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "data").mkdir()
        return write(Recipe(hospitals=3, tiles=4, size=8), tmp_path / "data")

    def test_one_process_measures(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two want it at once; the second waits for the first and reads what it wrote."""
        measured, inside = [], threading.Event()
        build = banks.style_bank

        def slow(samples: Samples, space: str) -> rc.StyleBank:
            measured.append(space)
            inside.set()
            other.join(0.3)  # long enough for the other to come to the lock
            return build(samples, space)

        monkeypatch.setattr(banks, "style_bank", slow)
        found: list[rc.StyleBank] = []

        def second() -> None:
            inside.wait(600)
            found.append(cached_bank(Samples(path, "train", size=8)))

        other = threading.Thread(target=second)
        other.start()
        bank = cached_bank(Samples(path, "train", size=8))
        other.join(600)
        assert measured == ["rgb"]
        assert found[0].fingerprint == bank.fingerprint

    def test_a_folder_that_is_read_only_keeps_it_in_the_cache(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
        before = sorted(path.parent.iterdir())
        path.parent.chmod(0o555)
        try:
            cached_bank(Samples(path, "train", size=8))
            assert sorted(path.parent.iterdir()) == before
            monkeypatch.setattr(banks, "style_bank", None)
            assert len(cached_bank(Samples(path, "train", size=8))) == 4
        finally:
            path.parent.chmod(0o755)

    def test_an_array_that_was_changed_in_place_is_refused(self, path: Path) -> None:
        cached_bank(Samples(path, "train", size=8))
        tiles = path.parent / "tiles.npy"
        np.save(tiles, 255 - np.load(tiles))
        os.utime(tiles, (1, 1))
        with pytest.raises(rc.errors.ImageError, match="holds other pixels than when it was indexed"):
            cached_bank(Samples(path, "train", size=8))
