"""Statistics and losses against NumPy and against their algebra."""

from __future__ import annotations

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.baselines import losses
from recolorist_lab.baselines.statistics import mean_std


def features(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


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
