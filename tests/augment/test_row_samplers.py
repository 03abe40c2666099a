"""Samplers that draw a row: each from the rows its name says, and never the image itself where there is another."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from recolorist import StyleBank
from recolorist.augment.samplers import SAMPLERS, Content
from recolorist.augment.streams import stream
from recolorist.errors import OptionError
from tests.augment.sampling import DOMAINS, LABELS, draws, make_bank


@pytest.fixture(scope="module")
def bank() -> StyleBank:
    return make_bank()


@pytest.mark.parametrize("name", ["uniform", "other_domain", "same_label", "other_label", "balanced_domain"])
@pytest.mark.parametrize("row", range(7))
def test_never_the_image_itself(bank: StyleBank, name: str, row: int) -> None:
    lonely = name == "same_label" and LABELS.count(LABELS[row]) == 1
    drawn = {style.row for style in draws(bank, name, Content(row=row), 200)}
    assert (row in drawn) == lonely


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("uniform", 2, {0, 1, 3, 4, 5, 6}),
        ("other_domain", 2, {0, 1, 4, 5, 6}),
        ("same_label", 2, {0, 5, 6}),
        ("other_label", 2, {1, 3, 4}),
        ("other_label", 3, {0, 1, 2, 4, 5, 6}),
    ],
)
def test_draws_from_the_right_rows_equally(bank: StyleBank, name: str, row: int, expected: set[int]) -> None:
    counts = Counter(style.row for style in draws(bank, name, Content(row=row), 3000))
    assert set(counts) == expected
    share = 3000 / len(expected)
    assert max(abs(count - share) for count in counts.values()) < 5 * share**0.5  # five standard deviations


def test_balanced_domain_gives_each_domain_its_share(bank: StyleBank) -> None:
    counts = Counter(DOMAINS[style.row] for style in draws(bank, "balanced_domain", Content(), 3000) if style.row is not None)
    assert set(counts) == {"a", "b", "c"}
    assert max(abs(count - 1000) for count in counts.values()) < 5 * 1000**0.5


def test_balanced_domain_draws_no_image_without_a_domain() -> None:
    images = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    bank = StyleBank.build(images, domains=["a", None, "b", None, "a", None], split="train")
    assert {style.row for style in draws(bank, "balanced_domain", Content(row=1), 300)} == {0, 2, 4}
    with pytest.raises(OptionError, match="the bank has none"):
        SAMPLERS["balanced_domain"](StyleBank.build(images, split="train"), stream(0), Content())


def test_an_image_alone_in_its_domain_is_not_matched_to_itself() -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
    bank = StyleBank.build(images, domains=["a", "b", "b", "c"], split="train")
    counts = Counter(style.row for style in draws(bank, "balanced_domain", Content(row=0), 3000))
    assert set(counts) == {1, 2, 3}
    assert abs(counts[3] - 1500) < 5 * 1500**0.5  # each of the two other domains half of the time
    alone = bank.subset(rows=[0])
    assert {style.row for style in draws(alone, "balanced_domain", Content(row=0), 9)} == {0}


def test_label_and_domain_may_be_given(bank: StyleBank) -> None:
    assert {style.row for style in draws(bank, "same_label", Content(label="y"))} == {1, 4}
    assert {style.row for style in draws(bank, "other_domain", Content(domain="c"))} == {0, 1, 2, 3}
    assert {style.row for style in draws(bank, "other_domain", Content(domain="unseen"))} == set(range(7))


@pytest.mark.parametrize("name", ["other_domain", "same_label", "other_label"])
def test_unknown_content_is_refused_with_advice(bank: StyleBank, name: str) -> None:
    with pytest.raises(OptionError, match="pass key="):
        SAMPLERS[name](bank, stream(0), Content())


def test_one_domain_falls_back_to_any_other_image(bank: StyleBank) -> None:
    single = bank.subset(domain="c")
    assert {style.row for style in draws(single, "other_domain", Content(row=0))} == {1, 2}
