"""Statistics and losses against NumPy and against their algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recolorist.errors import ImageError, OptionError
from recolorist_lab.baselines import losses
from recolorist_lab.baselines.colour import coral
from recolorist_lab.baselines.statistics import adain, mean_std, normalised
from tests.lab.baselines import kit


def features(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class TestStatistics:
    def test_against_numpy(self) -> None:
        x = features(2, 5, 7, 9) * 3 + 1
        mean, std = mean_std(x)
        array = x.numpy().astype(np.float64)
        assert np.allclose(mean.numpy()[..., 0, 0], array.mean((2, 3)), atol=1e-6)
        assert np.allclose(std.numpy()[..., 0, 0], np.sqrt(array.var((2, 3), ddof=1) + 1e-5), atol=1e-5)

    def test_normalised(self) -> None:
        x = normalised(features(2, 5, 8, 9) * 4 - 2)
        assert float(x.mean((2, 3)).abs().max()) < 1e-6
        assert float((x.std((2, 3)) - 1).abs().max()) < 1e-4

    def test_a_constant_channel_has_a_finite_gradient(self) -> None:
        x = torch.ones(1, 2, 4, 4, requires_grad=True)
        mean_std(x)[1].sum().backward()
        assert x.grad is not None
        assert bool(x.grad.isfinite().all())
        assert float(mean_std(x.detach())[1].max()) == pytest.approx(0.00316, abs=1e-5)

    def test_one_position_has_no_variance(self) -> None:
        with pytest.raises(ImageError, match="no variance"):
            mean_std(features(1, 2, 1, 1))

    def test_half_precision_is_widened(self) -> None:
        assert mean_std(features(1, 2, 4, 4).half())[0].dtype == torch.float32
        assert mean_std(features(1, 2, 4, 4).double())[0].dtype == torch.float64


class TestMoments:
    def test_algebra(self) -> None:
        x = features(2, 3, 6, 6)
        assert float(losses.moment_loss(x, x)) == 0
        assert float(losses.moment_loss(x, x + 1.5)) == pytest.approx(2.25, rel=1e-5)

    def test_only_mean_and_deviation_count(self) -> None:
        x, y = features(2, 3, 6, 6), features(2, 3, 6, 6, seed=1)
        shuffled = y.flatten(2)[..., torch.randperm(36, generator=torch.Generator().manual_seed(2))].reshape(y.shape)
        assert float(losses.moment_loss(x, y)) == pytest.approx(float(losses.moment_loss(x, shuffled)), rel=1e-5)
        a = 1.7
        mean, std = mean_std(x)
        wanted = ((a - 1) ** 2) * (mean.square().mean() + std.square().mean())
        assert float(losses.moment_loss(x, a * x)) == pytest.approx(float(wanted), rel=1e-3)

    def test_taps_are_added(self) -> None:
        x, y = features(1, 3, 6, 6), features(1, 3, 6, 6, seed=1)
        assert float(losses.style_loss([x, x], [y, y])) == pytest.approx(2 * float(losses.moment_loss(x, y)), rel=1e-6)
        assert float(losses.feature_loss([x, x], [y, y])) == pytest.approx(2 * float(((x - y) ** 2).mean()), rel=1e-6)

    @pytest.mark.parametrize("loss", [losses.style_loss, losses.feature_loss, losses.content_loss])
    def test_taps_must_pair(self, loss: object) -> None:
        x = features(1, 3, 6, 6)
        assert callable(loss)
        for wrong in (([x], [x, x]), ([], [])):
            with pytest.raises(OptionError, match="taps"):
                loss(*wrong)


class TestContent:
    def test_blind_to_scale_and_offset(self) -> None:
        x = features(2, 3, 6, 6)
        assert float(losses.content_loss([x], [2.5 * x + 3])) < 1e-8
        assert float(losses.content_loss([x], [-x])) == pytest.approx(4 * 35 / 36, rel=1e-3)

    def test_identity(self) -> None:
        x, y = features(1, 3, 4, 4), features(1, 3, 4, 4, seed=1)
        pixels, deep = losses.identity_loss((x, y), ([x, y], [y, y]))
        assert float(pixels) == pytest.approx(float((x - y).square().mean()), rel=1e-6)
        assert float(deep) == pytest.approx(float((x - y).square().mean()), rel=1e-6)


class TestAdaIN:
    def test_takes_the_statistics_over(self) -> None:
        x, y = features(2, 8, 32, 32), features(2, 8, 24, 40, seed=1) * 1.3 + 0.7
        out = adain(x, y)
        for got, wanted, tolerance in zip(mean_std(out), mean_std(y), (1e-5, 1e-4), strict=True):
            assert float((got - wanted).abs().max()) < tolerance

    def test_invariances(self) -> None:
        x, y = features(2, 8, 12, 12), features(2, 8, 12, 12, seed=1)
        assert float((adain(x, x) - x).abs().max()) < 1e-5
        assert float((adain(2 * x + 5, y) - adain(x, y)).abs().max()) < 1e-3
        order = torch.randperm(144, generator=torch.Generator().manual_seed(0))
        shuffled = y.flatten(2)[..., order].reshape(y.shape)
        assert float((adain(x, shuffled) - adain(x, y)).abs().max()) < 1e-5


class TestCoral:
    def test_takes_the_colours_over(self) -> None:
        content, style = kit.tiles(2, 32), kit.tiles(2, (40, 28), seed=1)
        out = coral(style, content)
        assert out.shape == style.shape
        assert torch.allclose(out.mean((2, 3)), content.mean((2, 3)), atol=1e-6)
        assert torch.allclose(out.std((2, 3)), content.std((2, 3)), atol=1e-3)
        assert float((coral(content, content) - content).abs().max()) < 1e-3

    def test_against_the_formula(self) -> None:
        content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)

        def root(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            left, values, right = np.linalg.svd(matrix)
            return left @ np.diag(np.sqrt(values)) @ right

        flat = {name: value[0].double().numpy().reshape(3, -1) for name, value in (("c", content), ("s", style))}
        mean = {name: value.mean(1, keepdims=True) for name, value in flat.items()}
        std = {name: value.std(1, ddof=1, keepdims=True) for name, value in flat.items()}
        unit = {name: (flat[name] - mean[name]) / std[name] for name in flat}
        scatter = {name: value @ value.T + np.eye(3) for name, value in unit.items()}
        wanted = root(scatter["c"]) @ np.linalg.inv(root(scatter["s"])) @ unit["s"] * std["c"] + mean["c"]
        assert np.allclose(coral(style, content).numpy().reshape(3, -1), wanted, atol=1e-5)

    def test_flat_and_grey_images_stay_finite(self) -> None:
        flat = torch.full((1, 3, 8, 8), 0.4)
        image = kit.tiles(1, 8)
        grey = image[:, :1].expand(-1, 3, -1, -1)
        for content, style in ((flat, image), (image, flat), (grey, image), (image, grey), (flat, flat)):
            assert bool(coral(style, content).isfinite().all())
        assert torch.allclose(coral(image, flat), flat, atol=1e-6)
