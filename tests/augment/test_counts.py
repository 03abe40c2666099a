"""Counting blank images."""

import warnings

import pytest

from recolorist.augment.counts import BlankCounts, BlankWarning


def count(blank: int, others: int) -> BlankCounts:
    counts = BlankCounts()
    for i in range(blank + others):
        counts.add(is_blank=i < blank)
    return counts


def test_a_few_blank_images_are_counted_in_silence() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (count(20, 80).blank, count(20, 80).images) == (20, 100)


def test_where_nearly_all_are_blank_the_range_is_doubted_once() -> None:
    with pytest.warns(BlankWarning, match=r"60 of the first 64 images are blank.*data_range=4095.*blank='match'") as caught:
        count(60, 200)
    assert len(caught) == 1
