"""Each of the nineteen datasets, as a fake in its true layout: fetch, index, load, stats; through a server of our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recolorist_lab.assets.download import Link
from recolorist_lab.assets.fetch import fetch, instructions
from recolorist_lab.data.cards import Expected
from recolorist_lab.data.describe import stats_rows
from recolorist_lab.data.index import CountError, check, index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import COLUMNS, Manifest
from recolorist_lab.data.registry import CARDS
from recolorist_lab.data.statistics import summary
from tests.lab.fakes.all import fake
from tests.lab.fakes.parts import Fake
from tests.lab.server import Server

LaidOut = Callable[[str], tuple[Fake, Path]]
NINETEEN = pytest.mark.parametrize("key", CARDS)


def test_there_are_nineteen() -> None:
    assert len(CARDS) == 19


@NINETEEN
def test_from_server_to_table(key: str, tmp_path: Path, server: Server, link: Link) -> None:
    one = fake(key)
    server.serve(one.served)
    done = fetch(one.card, tmp_path, link=link)
    assert set(done.files) == {file.name for file in one.card.files}
    one.lay_out(tmp_path)

    manifest = index(one.card, tmp_path)
    path = manifest.write(tmp_path / f"{key}.parquet")
    assert manifest.facts.complete
    assert manifest.facts.differences == ()
    assert set(one.broken) == {left.path for left in manifest.facts.excluded if left.reason.startswith("cannot be opened")}
    assert {split: manifest.sizes()[split] for split in ("train", "val", "test")} == one.card.expected.sizes
    assert all(manifest.class_counts(split) == one.card.expected.classes(split) for split in ("train", "val", "test"))
    assert set(manifest.column("domain")) <= set(one.card.domains)
    assert check(manifest, tmp_path, one.card) == []

    for split in ("train", "val", "test"):
        samples = Samples(path, split, size=20)
        assert len(samples) == one.card.expected.sizes[split]
        for sample in (samples[0], samples[-1]):
            assert sample.image.shape == (20, 20, 3)
            assert sample.image.dtype == np.uint8
            assert sample.image.std() > 10

    line = summary(Manifest.read(path), one.card)
    assert line.agrees is True
    assert stats_rows([line])[1][-1] == "agrees"


@NINETEEN
def test_one_image_too_few_is_refused(key: str, laid_out: LaidOut) -> None:
    one, root = laid_out(key)
    want = one.card.expected
    for split in ("train", "val", "test"):
        sizes = {**want.sizes, split: want.sizes[split] + 1}
        expected = Expected(sizes["train"], sizes["val"], sizes["test"], want.ir, want.entropy, want.per_class)
        more = replace(one.card, expected=expected)
        with pytest.raises(CountError, match=rf"{split} has [\d,]+ images instead of .*--allow-different"):
            index(more, root)


@NINETEEN
def test_the_real_card_refuses_the_fake(key: str, laid_out: LaidOut, tmp_path: Path) -> None:
    """The override writes it all the same, and says so in the manifest itself."""
    _, root = laid_out(key)
    with pytest.raises(CountError, match=r"differs from its card: .*train has"):
        index(CARDS[key], root)
    manifest = index(CARDS[key], root, allow_different=True)
    again = Manifest.read(manifest.write(tmp_path / "m.parquet"))
    assert not again.facts.complete
    assert any("images instead of" in difference for difference in again.facts.differences)
    assert summary(again, CARDS[key]).agrees is False


@NINETEEN
def test_one_schema_for_all(key: str, laid_out: LaidOut) -> None:
    one, root = laid_out(key)
    manifest = index(one.card, root)
    assert tuple(manifest.table.column_names) == COLUMNS
    kinds = {field.name: str(field.type) for field in manifest.table.schema}
    assert kinds["row"] == "int64"
    assert kinds["label"] == "string"
    assert all(not Path(path).is_absolute() for path in manifest.column("path"))
    assert manifest.fingerprint() == index(one.card, root).fingerprint()


@NINETEEN
def test_missing_data_name_what_is_missing_and_what_to_do(key: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"was not found; `recolorist-lab data fetch {key} --root"):
        index(CARDS[key], tmp_path)


@NINETEEN
def test_what_cannot_be_downloaded_is_explained(key: str, tmp_path: Path) -> None:
    by_hand = [source for source in CARDS[key].sources if source.request]
    assert all(source.complete for source in CARDS[key].sources if source not in by_hand)
    for source in by_hand:
        text = instructions(source, tmp_path)
        assert source.page in text
        assert source.licence in text
        assert all(line in text for line in source.layout)
        assert "  1. " in text
        assert "FOLDER" not in text


def test_class_counts_count_even_where_totals_agree(tmp_path: Path) -> None:
    one = fake("ddi")
    one.lay_out(tmp_path)
    want = one.card.expected
    benign, malignant = want.classes("val") or (0, 0)
    swapped = (("train", want.classes("train") or ()), ("val", (benign - 1, malignant + 1)), ("test", want.classes("test") or ()))
    other = Expected(want.train, want.val, want.test, want.ir, want.entropy, swapped)
    with pytest.raises(CountError, match=r"val has \d+ of 'benign' instead of \d+"):
        index(replace(one.card, expected=other), tmp_path)


def test_imbalance_and_entropy_count_where_classes_are_not_known(tmp_path: Path) -> None:
    one = fake("epistr")
    one.lay_out(tmp_path)
    want = one.card.expected
    with pytest.raises(CountError, match=r"IR is 1\.40 and H .* instead of 1\.42"):
        index(replace(one.card, expected=Expected(want.train, want.val, want.test, 1.42, want.entropy)), tmp_path)
