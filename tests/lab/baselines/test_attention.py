"""Attention over feature maps, and what the three networks built on it share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines.attention import PositionAttention, weighted


def features(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 3


@pytest.fixture(scope="module")
def block() -> PositionAttention:
    torch.manual_seed(3)
    return PositionAttention(24).requires_grad_(requires_grad=False)


def test_attention_rows_sum_to_one_over_style_positions(block: PositionAttention) -> None:
    weights = block.weights(features(2, 24, 5, 7), features(2, 24, 4, 3, seed=1))
    assert weights.shape == (2, 35, 12)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 35), atol=1e-6, rtol=0)
    assert float((weights.sum(1) - 1).abs().max()) > 0.1, "the other axis must not sum to 1 as well"


def test_a_block_is_the_published_formula_without_a_scale(block: PositionAttention) -> None:
    content, style = features(1, 24, 3, 4), features(1, 24, 2, 5, seed=1)
    x, y = (image[0].flatten(1).double().numpy() for image in (content, style))

    def conv(layer: nn.Conv2d, value: NDArray[np.float64]) -> NDArray[np.float64]:
        assert layer.bias is not None
        weighed: NDArray[np.float64] = layer.weight[:, :, 0, 0].double().numpy() @ value + layer.bias.double().numpy()[:, None]
        return weighed

    def norm(value: NDArray[np.float64]) -> NDArray[np.float64]:
        normed: NDArray[np.float64] = (value - value.mean(1, keepdims=True)) / np.sqrt(value.var(1, ddof=1, keepdims=True) + 1e-5)
        return normed

    logits = conv(block.f, norm(x)).T @ conv(block.g, norm(y))
    weights = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    wanted = conv(block.out_conv, conv(block.h, y) @ weights.T) + x
    np.testing.assert_allclose(block(content, style)[0].flatten(1).numpy(), wanted, atol=1e-5)


def test_the_order_of_style_positions_does_not_matter(block: PositionAttention) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    mixed = style.flatten(2)[..., torch.randperm(24)].reshape(style.shape)
    torch.testing.assert_close(block(content, mixed), block(content, style), atol=1e-5, rtol=0)


def test_moving_content_positions_moves_the_result_alike(block: PositionAttention) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    order = torch.randperm(35)
    moved = content.flatten(2)[..., order].reshape(content.shape)
    torch.testing.assert_close(block(moved, style).flatten(2), block(content, style).flatten(2)[..., order], atol=1e-5, rtol=0)


def test_without_its_output_convolution_a_block_returns_the_content() -> None:
    block = PositionAttention(24)
    nn.init.zeros_(block.out_conv.weight)
    nn.init.zeros_(block.out_conv.bias)  # type: ignore[arg-type]
    content = features(1, 24, 5, 7)
    assert torch.equal(block(content, features(1, 24, 4, 6, seed=1)), content)


def test_a_constant_style_is_added_whatever_the_attention(block: PositionAttention) -> None:
    content, vector = features(1, 24, 5, 7), features(1, 24, 1, 1, seed=1)
    wanted = block.out_conv(block.h(vector)) + content
    torch.testing.assert_close(block(content, vector.expand(1, 24, 3, 3)), wanted, atol=1e-5, rtol=0)


def test_logits_do_not_see_scale_and_offset_of_the_style_but_values_do(block: PositionAttention) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    torch.testing.assert_close(block.weights(content, 2.5 * style + 1), block.weights(content, style), atol=1e-3, rtol=0)
    assert float((block(content, 2.5 * style + 1) - block(content, style)).abs().max()) > 0.1


def test_attention_stays_in_single_precision_under_autocast(block: PositionAttention) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(block(content, style), block(content, style.clone()))
        found = block(content, style)
    assert torch.equal(found, block(content, style))
    assert found.dtype == torch.float32


def test_a_loss_without_a_weight_is_an_error() -> None:
    with pytest.raises(OptionError, match="same"):
        weighted({"content": torch.ones(())}, {"style": 1.0})
