"""FID and ArtFID against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import sqrtm

from recolorist_lab.metrics import MetricError, RangeError, artfid, fid, kid
from recolorist_lab.metrics.frechet import Features
from tests.lab.metrics.features import drawn


def by_root(a: Features, b: Features) -> float:
    """The definition, with a root of the product of the covariances."""
    first, second = np.atleast_2d(np.cov(a.T)), np.atleast_2d(np.cov(b.T))
    root = sqrtm(first @ second)
    return float(((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(first + second - 2 * root.real))


class TestFid:
    @pytest.mark.parametrize(("m1", "s1", "m2", "s2"), [(0, 1, 0, 1), (0, 1, 3, 1), (0, 1, 0, 2.5), (-1, 0.3, 2, 4)])
    def test_of_one_feature_it_is_the_textbook_formula(self, m1: float, s1: float, m2: float, s2: float) -> None:
        shape = np.array([-1.0, 0.0, 1.0])  # mean 0, unbiased deviation 1
        expected = (m1 - m2) ** 2 + (s1 - s2) ** 2
        assert fid((m1 + s1 * shape)[:, None], (m2 + s2 * shape)[:, None]) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(("n", "m", "d"), [(40, 50, 5), (300, 200, 20), (30, 30, 29), (25, 400, 24)])
    def test_at_full_rank_it_is_the_definition(self, n: int, m: int, d: int) -> None:
        a, b = drawn(1, n, d), drawn(2, m, d, shift=0.5, scale=1.4)
        assert fid(a, b) == pytest.approx(by_root(a, b), rel=1e-6)

    @pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")
    def test_it_is_that_of_clean_fid(self) -> None:
        theirs = pytest.importorskip("cleanfid.fid", reason="needs clean-fid, which no extra installs")
        a, b = drawn(1, 400, 64), drawn(2, 400, 64, shift=0.3, scale=1.2)
        expected = theirs.frechet_distance(a.mean(0), np.cov(a, rowvar=False), b.mean(0), np.cov(b, rowvar=False))
        assert fid(a, b) == pytest.approx(expected, rel=1e-9)

    def test_more_images_than_features_take_the_short_way_to_the_same(self) -> None:
        """The triangle of a QR decomposition against the long matrices themselves."""
        a, b = drawn(1, 90, 7), drawn(2, 60, 7, shift=1.0)
        centred = [(one - one.mean(0)) / math.sqrt(len(one) - 1) for one in (a, b)]
        cross = np.linalg.svd(centred[0] @ centred[1].T, compute_uv=False).sum()
        expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + sum((one**2).sum() for one in centred) - 2 * cross
        assert fid(a, b) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("shape", [(80, 512), (600, 32), (2, 2048)])
    def test_a_set_is_at_no_distance_from_itself(self, shape: tuple[int, int]) -> None:
        a = drawn(3, *shape)
        assert abs(fid(a, a)) < 1e-12 * (a**2).sum()

    def test_of_few_images_roots_lose_what_this_form_keeps(self) -> None:
        a = drawn(3, 40, 200)
        assert abs(fid(a, a)) < 1e-10
        values = np.linalg.eigvals(np.cov(a.T) @ np.cov(a.T))
        assert abs(2 * np.trace(np.cov(a.T)) - 2 * np.sqrt(values.astype(complex)).real.sum()) > 1e-8

    def test_it_is_symmetric_and_blind_to_order(self) -> None:
        a, b = drawn(1, 50, 80), drawn(2, 60, 80, shift=0.1)
        rng = np.random.default_rng(0)
        assert fid(a, b) == pytest.approx(fid(b, a), rel=1e-12)
        assert fid(a, b) == pytest.approx(fid(rng.permutation(a), rng.permutation(b)), rel=1e-12)

    def test_a_shift_is_its_square(self) -> None:
        a = drawn(1, 50, 80)
        assert fid(a, a + 0.3) == pytest.approx(80 * 0.09, rel=1e-10)

    def test_it_is_never_much_below_nothing(self) -> None:
        assert all(fid(drawn(seed, 20, 60), drawn(seed + 100, 25, 60)) > -1e-6 for seed in range(20))

    def test_few_images_make_it_too_large(self) -> None:
        """Two samples of one distribution: the trap of comparing runs of different sizes."""
        values = [fid(*np.random.default_rng(0).normal(size=(2, n, 64))) for n in (40, 160, 640)]
        assert values == sorted(values, reverse=True)
        assert values[0] > 10 * values[2]

    @pytest.mark.parametrize(
        ("a", "b", "why"),
        [
            (np.zeros(5), np.zeros((5, 2)), r"shape \(5,\); accepted are at least two rows"),
            (np.zeros((1, 4)), np.zeros((5, 4)), "at least two rows"),
            (np.zeros((5, 4)), np.zeros((5, 3)), "4 and 3 columns; take both from one network"),
            (np.full((5, 4), np.nan), np.zeros((5, 4)), "contain NaN or infinity"),
        ],
    )
    def test_bad_features_are_refused(self, a: Features, b: Features, why: str) -> None:
        for distance in (fid, kid):
            with pytest.raises(RangeError, match=why):
                distance(a, b)

    def test_what_overflows_raises(self) -> None:
        with pytest.raises(MetricError, match="no value is reported"), np.errstate(all="ignore"):
            fid(np.array([[0.0], [1e200]]), np.array([[0.0], [1.0]]))

    def test_a_decomposition_that_fails_raises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(*_: object, **__: object) -> None:
            raise np.linalg.LinAlgError("SVD did not converge")

        monkeypatch.setattr(np.linalg, "svd", fails)
        with pytest.raises(MetricError, match="FID of 20 and 20 images: SVD did not converge; no value is reported"):
            fid(drawn(1, 20, 3), drawn(2, 20, 3))


class TestArtFid:
    def test_its_formula(self) -> None:
        assert artfid(0, 0) == 1
        assert artfid(0.1, 26) == pytest.approx(29.7, abs=1e-12)

    def test_the_mean_over_pairs_may_be_taken_before_or_after(self) -> None:
        each = np.array([0.1, 0.25, 0.31])
        assert np.mean([artfid(one, 20.5) for one in each]) == pytest.approx(artfid(float(each.mean()), 20.5), rel=1e-14)

    @pytest.mark.parametrize(("distance", "value"), [(math.nan, 1.0), (0.1, math.inf), (-0.1, 1.0), (0.1, -2.0)])
    def test_what_is_not_defined_raises(self, distance: float, value: float) -> None:
        with pytest.raises(MetricError, match="is not defined; no value is reported"):
            artfid(distance, value)
