"""KID against torchmetrics, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.metrics import kid
from recolorist_lab.metrics.kernel import kid_of_subsets
from tests.lab.metrics.features import drawn


class TestKid:
    def test_every_subset_is_that_of_torchmetrics(self) -> None:
        from torchmetrics.image.kid import poly_mmd

        a, b = drawn(1, 30, 16), drawn(2, 40, 16, shift=0.2)
        rng = np.random.default_rng(0)
        chosen = [np.zeros((9, len(one))) for one in (a, b)]
        expected = []
        for row in range(9):
            places = [rng.permutation(len(one))[:12] for one in (a, b)]
            for choice, place in zip(chosen, places, strict=True):
                choice[row, place] = 1
            expected.append(float(poly_mmd(torch.from_numpy(a[places[0]]), torch.from_numpy(b[places[1]]))))
        assert kid_of_subsets(a, b, chosen[0], chosen[1]) == pytest.approx(np.array(expected), rel=1e-10, abs=1e-12)

    def test_it_is_that_of_clean_fid(self) -> None:
        theirs = pytest.importorskip("cleanfid.fid", reason="needs clean-fid, which no extra installs")
        a, b = drawn(1, 400, 64), drawn(2, 400, 64, shift=0.3, scale=1.2)
        everything = np.ones((1, 400))
        expected = theirs.kernel_distance(a, b, num_subsets=1, max_subset_size=400)
        assert kid_of_subsets(a, b, everything, everything) == pytest.approx([expected], rel=1e-9)

    def test_large_sets_are_taken_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        a, b = drawn(1, 30, 16), drawn(2, 40, 16, shift=0.2)
        before = kid(a, b)
        monkeypatch.setattr("recolorist_lab.metrics.kernel._ROWS", 7)
        assert kid(a, b).mean == pytest.approx(before.mean, rel=1e-12)

    def test_the_same_seed_gives_the_same_and_another_another(self) -> None:
        a, b = drawn(1, 30, 16), drawn(2, 30, 16)
        assert kid(a, b) == kid(a, b)
        assert kid(a, b) != kid(a, b, seed=1)

    def test_subsets_are_halves_and_never_the_whole(self) -> None:
        """Of the whole every subset is the same, and an interval would have no width."""
        a, b = drawn(1, 30, 16), drawn(2, 21, 16)
        assert kid(a, b).subset_size == 10
        with pytest.raises(OptionError, match=r"100 subsets of 21 from 30 and 21 images .* of fewer than there are"):
            kid(a, b, subset_size=21)
        with pytest.raises(OptionError, match="subsets of 1 from 3"):
            kid(a[:3], b)
        with pytest.raises(OptionError, match="1 subsets"):
            kid(a, b, subsets=1)

    def test_it_is_unbiased(self) -> None:
        """Of one distribution it is nothing on average, however few images; FID is not."""
        values = [kid(*np.random.default_rng(seed).normal(size=(2, 20, 8)), subsets=20).mean for seed in range(200)]
        assert abs(np.mean(values)) < 3 * np.std(values) / math.sqrt(200)

    @pytest.mark.parametrize("size", [None, 15])
    def test_the_interval_holds_the_truth_as_often_as_it_says(self, size: int | None) -> None:
        rng = np.random.default_rng(1)
        many = rng.normal(size=(2, 2500, 4)) + np.array([0.0, 0.7])[:, None, None]
        ones = np.ones((1, 2500))
        truth = float(kid_of_subsets(many[0], many[1], ones, ones)[0])
        found = []
        for seed in range(100):
            a, b = np.random.default_rng([2, seed]).normal(size=(2, 60, 4)) + np.array([0.0, 0.7])[:, None, None]
            found.append(kid(a, b, subset_size=size))
        inside = np.mean([one.low <= truth <= one.high for one in found])
        assert inside >= 0.885  # 0.95 less 3 standard errors of 100 trials
        error = np.std([one.mean for one in found])
        assert np.mean([(one.high - one.low) / 2 for one in found]) == pytest.approx(1.96 * error, rel=0.25)
