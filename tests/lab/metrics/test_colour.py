"""The Wasserstein distance: exact, the same from histograms, and what the self-checks of the protocol demand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import recolorist
from recolorist_lab.metrics import wasserstein, wasserstein_levels
from tests.lab.metrics.pictures import Image, noisy, scene, unit

CLOSE = 1e-14  # means of some thousand float64 numbers in [0, 1]


def reference(a: Image, b: Image) -> float:
    return float(np.mean([wasserstein_distance(a[..., c].ravel() / 255, b[..., c].ravel() / 255) for c in range(3)]))


class TestValues:
    @pytest.mark.parametrize("seed", range(3))
    def test_both_forms_are_that_of_scipy(self, seed: int) -> None:
        a, b = scene(seed), noisy(scene(seed + 10), 15)
        assert float(wasserstein(unit(a), unit(b))) == pytest.approx(reference(a, b), abs=1e-13)
        assert wasserstein_levels(a, b) == pytest.approx(reference(a, b), abs=1e-13)

    @given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.integers(1, 256))
    def test_the_two_forms_are_equal(self, seed: int, height: int, width: int, high: int) -> None:
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, high, (2, height, width, 3), np.uint8)
        assert wasserstein_levels(a, b) == pytest.approx(float(wasserstein(unit(a), unit(b))), abs=CLOSE)

    def test_constants_are_as_far_apart_as_they_are(self) -> None:
        a, b = torch.full((1, 3, 5, 4), 0.3, dtype=torch.float64), torch.full((1, 3, 5, 4), 0.9, dtype=torch.float64)
        assert float(wasserstein(a, b)) == pytest.approx(0.6, abs=CLOSE)
        assert wasserstein_levels(np.full((5, 4, 3), 30, np.uint8), np.full((5, 4, 3), 90, np.uint8)) == 60 / 255

    def test_a_shift_without_clipping_is_the_distance(self) -> None:
        a = scene(1) // 2
        assert wasserstein_levels(a, a + 20) == pytest.approx(20 / 255, abs=CLOSE)

    def test_where_pixels_lie_does_not_matter(self) -> None:
        a = scene(1)
        moved = a.reshape(-1, 3)[np.random.default_rng(0).permutation(a.shape[0] * a.shape[1])].reshape(a.shape)
        assert wasserstein_levels(a, moved) == 0
        assert float(wasserstein(unit(a), unit(moved))) == 0

    def test_each_channel_counts_for_a_third(self) -> None:
        a = np.zeros((4, 5, 3), np.uint8)
        b = a.copy()
        b[..., 1] = 255
        assert wasserstein_levels(a, b) == pytest.approx(1 / 3, abs=CLOSE)

    def test_sizes_may_differ_for_histograms(self) -> None:
        a = scene(1)
        assert wasserstein_levels(a, np.concatenate([a, a])) == pytest.approx(0, abs=CLOSE)
        assert wasserstein_levels(a, np.concatenate([a, a, scene(2)[:5]])) > 0.001


class TestProtocol:
    def test_rounding_to_a_png_changes_it_by_less_than_a_level(self) -> None:
        a, b = unit(scene(1)) * 0.73 + 0.11, unit(scene(2)) * 0.61 + 0.2
        stored = [torch.round(one * 255) / 255 for one in (a, b)]
        assert abs(float(wasserstein(a, b)) - float(wasserstein(*stored))) < 1 / 255

    def test_matching_brings_it_down_and_exact_matching_to_nothing(self) -> None:
        content, style = scene(1), scene(2)
        before = wasserstein_levels(content, style)
        matched = wasserstein_levels(recolorist.match(content, style), style)
        exact = wasserstein_levels(recolorist.match(content, style, method="exact_histogram"), style)
        assert exact < 1e-12 < matched < before / 2
