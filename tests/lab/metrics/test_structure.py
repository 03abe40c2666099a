"""SSIM against scikit-image and torchmetrics, and what it must do by its definition; similarity of gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.ndimage import convolve
from skimage.metrics import structural_similarity

from recolorist_lab.metrics import gradient_similarity, ssim, ssim_luminance
from recolorist_lab.metrics.structure import ssim_levels
from tests.lab.metrics.pictures import Image, noisy, scene, unit, whole

# Both work in float64 on sums of 49 numbers in [0, 1]; the smallest divisor is c2 = 9e-4, which turns 1e-16 into 1e-13.
CLOSE = 1e-12

PAIRS: dict[str, tuple[Image, Image]] = {
    "noise": (scene(1), noisy(scene(1), 20)),
    "strangers": (scene(1), scene(2)),
    "smallest": (scene(3, (7, 7)), noisy(scene(3, (7, 7)), 9)),
    "one window high": (scene(3, (7, 40)), scene(4, (7, 40))),
    "flat": (np.full((9, 12, 3), 200, np.uint8), np.full((9, 12, 3), 190, np.uint8)),
    "black and white": (np.zeros((9, 12, 3), np.uint8), np.full((9, 12, 3), 255, np.uint8)),
    "larger": (scene(5, (120, 161)), noisy(scene(6, (120, 161)), 30)),
}


def reference(a: Image, b: Image) -> float:
    return float(structural_similarity(a / 255, b / 255, data_range=1.0, channel_axis=-1))


class TestSsim:
    @pytest.mark.parametrize("name", PAIRS)
    def test_it_is_that_of_scikit_image(self, name: str) -> None:
        a, b = PAIRS[name]
        assert float(ssim(unit(a), unit(b))) == pytest.approx(reference(a, b), abs=CLOSE)

    @pytest.mark.parametrize("name", PAIRS)
    def test_levels_give_the_same(self, name: str) -> None:
        a, b = PAIRS[name]
        assert float(ssim_levels(whole(a), whole(b))) == pytest.approx(reference(a, b), abs=CLOSE)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
    def test_lower_precision_is_computed_in_double(self, dtype: torch.dtype) -> None:
        a, b = unit(*PAIRS["noise"]).to(dtype).split(1)
        same = [np.moveaxis(one[0].double().numpy(), 0, -1) for one in (a, b)]
        assert float(ssim(a, b)) == pytest.approx(float(structural_similarity(*same, data_range=1.0, channel_axis=-1)), abs=CLOSE)

    def test_of_flat_images_only_the_luminance_term_is_left(self) -> None:
        a, b = torch.full((1, 3, 8, 8), 0.25), torch.full((1, 3, 8, 8), 0.75)
        c1 = 0.01**2
        assert float(ssim(a, b)) == pytest.approx((2 * 0.25 * 0.75 + c1) / (0.25**2 + 0.75**2 + c1), abs=CLOSE)

    def test_an_affine_change_costs_luminance_and_contrast_only(self) -> None:
        """Local correlation stays 1, so the value is the mean of the product of the two other terms."""
        a = unit(scene(1, (40, 40))) * 0.5 + 0.2
        b = a * 1.3 - 0.05
        planes = [np.asarray(one[0]) for one in (a, b)]
        values = []
        for x, y in zip(*planes, strict=True):
            windows = [np.lib.stride_tricks.sliding_window_view(one, (7, 7)).reshape(-1, 49) for one in (x, y)]
            (mx, my), (vx, vy) = [w.mean(1) for w in windows], [w.var(1, ddof=1) for w in windows]
            light = (2 * mx * my + 1e-4) / (mx**2 + my**2 + 1e-4)
            contrast = (2 * np.sqrt(vx * vy) + 9e-4) / (vx + vy + 9e-4)
            values.append((light * contrast).mean())
        assert float(ssim(a, b)) == pytest.approx(np.mean(values), abs=1e-10)  # roots of variances lose half of the digits near 0
        assert 0.9 < float(ssim(a, b)) < 1

    def test_it_falls_with_noise(self) -> None:
        values = [float(ssim(unit(scene(1)), unit(noisy(scene(1), level)))) for level in (0, 5, 20, 80)]
        assert values == sorted(values, reverse=True)
        assert values[0] == pytest.approx(1, abs=CLOSE)


class TestTorchmetricsForm:
    def test_it_is_that_library_with_the_range_said(self) -> None:
        from torchmetrics.image import StructuralSimilarityIndexMeasure

        a, b = unit(scene(1), scene(2)), unit(noisy(scene(1), 20), scene(3))
        theirs = StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none")
        assert ssim(a, b, form="torchmetrics") == pytest.approx(theirs(a, b).numpy(), abs=CLOSE)

    def test_it_does_not_depend_on_its_neighbours(self) -> None:
        """The trap: without a range, the library takes that of the batch."""
        dim, bright = unit(scene(1)) * 0.2, unit(scene(2))
        a, b = torch.cat([dim, bright]), torch.cat([dim * 0.9, bright * 0.9])
        assert float(ssim(a, b, form="torchmetrics")[0]) == float(ssim(a[:1], b[:1], form="torchmetrics"))

    def test_the_two_forms_differ(self) -> None:
        a, b = unit(scene(1)), unit(noisy(scene(1), 20))
        assert abs(float(ssim(a, b)) - float(ssim(a, b, form="torchmetrics"))) > 1e-3


class TestLuminance:
    def test_it_is_that_of_scikit_image_on_the_luma(self) -> None:
        a, b = scene(1), noisy(scene(2), 10)
        lumas = [(one / 255) @ np.array([0.299, 0.587, 0.114]) for one in (a, b)]
        assert float(ssim_luminance(unit(a), unit(b))) == pytest.approx(structural_similarity(*lumas, data_range=1.0), abs=CLOSE)

    def test_a_change_of_colour_at_equal_luma_is_not_seen(self) -> None:
        a = unit(scene(1)) * 0.5 + 0.25
        b = a.clone()
        b[:, 0] += 0.2
        b[:, 1] -= 0.2 * 0.299 / 0.587
        assert float(ssim_luminance(a, b)) == pytest.approx(1, abs=CLOSE)
        red = a[:, 0].mean()  # the luminance term of the channel means alone
        assert float(ssim(a, b)) < 1 - (1 - 2 * red * (red + 0.2) / (red**2 + (red + 0.2) ** 2)) / 4


class TestGradients:
    @pytest.mark.parametrize("size", [(6, 6), (7, 9), (37, 53), (64, 40)])
    def test_it_is_the_written_formula(self, size: tuple[int, int]) -> None:
        """Again in NumPy and SciPy, pixel by pixel."""
        a, b = scene(1, size), noisy(scene(1, size), 25)
        prewitt = np.array([[1, 0, -1], [1, 0, -1], [1, 0, -1]]) / 3
        magnitudes = []
        for image in (a, b):
            luma = (image / 255) @ np.array([0.299, 0.587, 0.114])
            rows, columns = (side // 2 for side in luma.shape)
            half = luma[: rows * 2, : columns * 2].reshape(rows, 2, columns, 2).mean(axis=(1, 3))
            magnitudes.append(np.hypot(convolve(half, prewitt), convolve(half, prewitt.T))[1:-1, 1:-1])
        g, h = magnitudes
        c = 170 / 255**2
        assert float(gradient_similarity(unit(a), unit(b))) == pytest.approx(
            ((2 * g * h + c) / (g**2 + h**2 + c)).mean(), abs=1e-12
        )

    def test_a_shift_of_brightness_is_not_seen(self) -> None:
        a = unit(scene(1)) * 0.5
        assert float(gradient_similarity(a, a + 0.3)) == pytest.approx(1, abs=1e-12)

    def test_it_falls_with_blur(self) -> None:
        a = unit(noisy(scene(1), 25))
        mean = torch.nn.functional.avg_pool2d
        values = [float(gradient_similarity(a, mean(a, k, 1, k // 2, count_include_pad=False))) for k in (1, 3, 5, 9)]
        assert values == sorted(set(values), reverse=True)
        assert values[0] == pytest.approx(1, abs=CLOSE)
