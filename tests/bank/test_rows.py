"""Looking up single styles of a bank: by row, by key, by group; their average and their outliers."""

from __future__ import annotations

import pickle  # noqa: TID251 - banks go to processes by it
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.bank.making import LeftOut
from recolorist.errors import OptionError

Images = NDArray[np.uint8]
BLANK = np.full((12, 14, 3), 240, np.uint8)


class TestOneStyle:
    def test_moments_are_those_of_the_image_in_unit_range(self, tiles: Images) -> None:
        bank = rc.StyleBank.build(tiles)
        for row, tile in enumerate(tiles):
            own, exact = bank.moments(row), rc.measure(tile).rescaled(1.0)
            assert own.count == exact.count
            assert own.data_range == 1.0
            np.testing.assert_allclose(own.mean, exact.mean, rtol=1e-15)
            np.testing.assert_allclose(own.cov, exact.cov, rtol=1e-12, atol=1e-18)

    def test_a_match_takes_them(self, tiles: Images) -> None:
        bank = rc.StyleBank.build(tiles)
        expected = rc.match(tiles[0], tiles[1])
        assert np.array_equal(rc.match(tiles[0], bank.moments(1)), expected)

    @pytest.mark.parametrize("row", [-1, -2])
    def test_negative_rows_count_from_the_end(self, bank: rc.StyleBank, row: int) -> None:
        last = len(bank) + row
        assert bank.label(row) == bank.label(last)
        assert bank.domain(row) == bank.domain(last)
        assert bank.moments(row).mean.tolist() == bank.moments(last).mean.tolist()

    def test_a_row_that_does_not_exist_is_an_index_error(self, bank: rc.StyleBank) -> None:
        for look_up in (bank.moments, bank.label, bank.domain):
            with pytest.raises(IndexError):
                look_up(len(bank))


class TestKeys:
    def test_every_key_leads_to_its_row(self, bank: rc.StyleBank) -> None:
        assert [bank.row_of(key) for key in bank.keys] == list(range(len(bank)))

    def test_an_unknown_key_has_no_row(self, bank: rc.StyleBank) -> None:
        assert bank.row_of("nobody") is None

    def test_a_blank_image_has_no_row_and_is_remembered(self, tiles: Images) -> None:
        bank = rc.StyleBank.build([tiles[0], BLANK], keys=["a", "b"], labels=["x", "y"], domains=["north", "south"])
        assert bank.keys == ("a",)
        assert bank.row_of("b") is None
        assert bank.find_left_out("b") == LeftOut("b", "y", "south")

    def test_of_other_images_nothing_is_known(self, bank: rc.StyleBank) -> None:
        assert bank.find_left_out("nobody") == LeftOut("nobody", None, None)

    def test_looking_up_leaves_the_pickle_as_it_is(self, bank: rc.StyleBank) -> None:
        before = pickle.dumps(bank)
        bank.row_of(bank.keys[0])
        bank.groups("label")
        bank.find_left_out("nobody")
        assert pickle.dumps(bank) == before
        again: Any = pickle.loads(before)  # noqa: S301 - our own
        assert again.row_of(bank.keys[1]) == 1
        assert again.to_json() == bank.to_json()


class TestGroups:
    def test_they_are_kept_once_made(self, bank: rc.StyleBank) -> None:
        assert bank.groups("domain") is bank.groups("domain")
        assert bank.groups("domain") is not bank.groups("label")

    def test_another_name_is_refused(self, bank: rc.StyleBank) -> None:
        with pytest.raises(OptionError, match="by='colour' is unknown; choose from 'domain', 'label'"):
            bank.groups("colour")


class TestAverage:
    def test_of_a_domain_is_that_of_its_subset(self, bank: rc.StyleBank) -> None:
        for domain in bank.domains:
            average, subset = bank.average(domain), bank.subset(domain=domain).average()
            assert average.count == subset.count
            assert average.mean.tolist() == subset.mean.tolist()
            assert average.cov.tolist() == subset.cov.tolist()

    def test_is_symmetric_to_the_last_bit(self, bank: rc.StyleBank) -> None:
        cov = bank.average().cov
        assert cov.tolist() == cov.T.tolist()

    def test_of_an_unknown_domain_is_refused(self, bank: rc.StyleBank) -> None:
        with pytest.raises(OptionError, match="nowhere"):
            bank.average("nowhere")


class TestOutliers:
    def test_are_the_rows_far_from_the_median(self) -> None:
        mean = np.full((9, 1), 0.5) + 0.001 * np.arange(9)[:, None]
        mean[4] = 0.9
        bank = rc.StyleBank(mean, np.full((9, 1, 1), 0.01), np.full(9, 100), [str(i) for i in range(9)])
        assert bank.outliers().tolist() == [4]
        assert bank.outliers(1000.0).tolist() == []


class TestSplits:
    @pytest.mark.parametrize("split", ["train", "training", None])
    def test_training_styles_are_taken(self, tiles: Images, split: str | None) -> None:
        rc.StyleBank.build(tiles, split=split).refuse_other_splits()

    def test_others_only_if_that_is_meant(self, tiles: Images) -> None:
        bank = rc.StyleBank.build(tiles, split="test")
        with pytest.raises(OptionError, match="made from the 'test' split, and training with it would leak"):
            bank.refuse_other_splits()
        bank.refuse_other_splits(allow=True)
