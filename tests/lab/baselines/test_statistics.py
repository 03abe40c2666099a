"""Channel statistics of feature maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recolorist.errors import ImageError
from recolorist_lab.baselines.statistics import adain, mean_std, normalised


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
