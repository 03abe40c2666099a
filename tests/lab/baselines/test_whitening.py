"""Whitening and colouring: the style's mean and covariance exactly, and nothing strange where a covariance is singular."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import whitening
from recolorist_lab.baselines.whitening import _labels_at, moments, root, usable_labels, wct, wct_regions

Kind: TypeAlias = Callable[[Tensor], Tensor]


def features(*shape: int, seed: int = 0, mean: float = 3.0) -> Tensor:
    """Correlated features with a mean."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(shape[1], shape[1], generator=generator)
    return torch.einsum("ij,bj...->bi...", mixing, torch.randn(*shape, generator=generator)) + mean


def covariance(x: Tensor) -> Tensor:
    return moments(x.flatten(2))[1]


# ---- moments and roots ------------------------------------------------------------------------------------------------------


def test_moments_are_numpys() -> None:
    x = features(2, 5, 7, 9)
    mean, spread = moments(x.flatten(2))
    for sample in range(2):
        columns = x[sample].flatten(1).double().numpy()
        np.testing.assert_allclose(mean[sample, :, 0], columns.mean(1), rtol=1e-12)
        np.testing.assert_allclose(spread[sample], np.cov(columns), rtol=1e-10)


def test_moments_do_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = features(2, 4, 11, 13), features(2, 4, 6, 5, seed=1)
    whole, result = moments(x.flatten(2)), wct(x, y)
    monkeypatch.setattr(whitening, "_COLUMNS", 10)
    for a, b in zip(whole, moments(x.flatten(2)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(wct(x, y), result)


def test_a_large_mean_does_not_drown_the_covariance() -> None:
    x = features(1, 3, 20, 20, mean=1e4)
    exact = covariance(x.double() - 1e4)
    torch.testing.assert_close(covariance(x), exact, rtol=1e-6, atol=1e-6)


def test_roots_are_scipys_and_undo_each_other() -> None:
    matrix = covariance(features(1, 6, 9, 9))[0]
    np.testing.assert_allclose(root(matrix), sqrtm(matrix.numpy()).real, atol=1e-10)
    torch.testing.assert_close(root(matrix, inverse=True) @ root(matrix), torch.eye(6, dtype=torch.float64))


def test_the_root_leaves_out_what_is_nought() -> None:
    matrix = torch.diag(torch.tensor([9.0, 1e-6, 0.0, -1e-9], dtype=torch.float64))
    assert torch.equal(root(matrix), torch.diag(torch.tensor([3.0, 0.0, 0.0, 0.0], dtype=torch.float64)))
    torch.testing.assert_close(root(matrix, inverse=True), torch.diag(torch.tensor([1 / 3, 0.0, 0.0, 0.0], dtype=torch.float64)))


def test_the_floor_rises_with_the_largest_variance() -> None:
    """1e20 · eps · 2 is 4e4, so 1e3 is rounding beside 1e20, whatever the floor."""
    matrix = torch.diag(torch.tensor([1e20, 1e3], dtype=torch.float64))
    assert root(matrix)[1, 1] == 0


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 2.0, 5.0), (1.0, 1.0 + 1e-9, 3.0)])
def test_gradients_of_roots_where_eigenvalues_are_equal(values: tuple[float, ...], inverse: bool) -> None:
    """Torch's own derivative of eigenvectors is infinite there."""
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
    matrix = (turn @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ turn.T).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: root((x + x.T) / 2, inverse=inverse), (matrix,))


# ---- the transform ----------------------------------------------------------------------------------------------------------


def test_exact_wct_has_the_styles_moments() -> None:
    content, style = features(2, 8, 12, 15), features(2, 8, 9, 20, seed=1, mean=-1.0)
    spread = covariance(content)
    white = root(spread, inverse=True) @ spread @ root(spread, inverse=True)
    torch.testing.assert_close(white, torch.eye(8, dtype=torch.float64).expand(2, 8, 8), atol=1e-3, rtol=0)
    out = wct(content, style)
    assert out.dtype == content.dtype
    torch.testing.assert_close(covariance(out), covariance(style), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(out.mean((2, 3)), style.mean((2, 3)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_regularised_wct_is_the_closed_form(alpha: float) -> None:
    content, style = features(1, 5, 8, 8), features(1, 5, 7, 9, seed=1)
    c, s = content[0].flatten(1).double().numpy(), style[0].flatten(1).double().numpy()
    whitened = np.linalg.inv(sqrtm(np.cov(c) + np.eye(5)).real) @ (c - c.mean(1, keepdims=True))
    coloured = sqrtm(np.cov(s) + np.eye(5)).real @ whitened + s.mean(1, keepdims=True)
    wanted = alpha * np.clip(coloured, c.min(), c.max()) + (1 - alpha) * c
    out = wct(content, style, ridge=1.0, clamp=True, alpha=alpha)
    np.testing.assert_allclose(out[0].flatten(1), wanted, atol=1e-4)


def test_the_clamp_is_each_samples_own() -> None:
    content = torch.cat([features(1, 4, 6, 6), 10 * features(1, 4, 6, 6, seed=2)])
    style = 20 * features(2, 4, 6, 6, seed=1)
    out = wct(content, style, clamp=True)
    for mine, theirs in zip(out, content, strict=True):
        assert mine.min() == theirs.min()
        assert mine.max() == theirs.max()
    assert wct(content, style)[0].max() > content[0].max()


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_style_of_itself_changes_nothing(ridge: float) -> None:
    x = features(2, 6, 10, 10)
    torch.testing.assert_close(wct(x, x, ridge=ridge), x, atol=1e-5, rtol=1e-5)
    assert torch.equal(wct(x, features(2, 6, 4, 4, seed=1), ridge=ridge, alpha=0.0), x)


def test_a_batch_is_a_loop() -> None:
    content, style = features(3, 5, 6, 8), features(3, 5, 9, 4, seed=1)
    single = torch.cat([wct(content[i : i + 1], style[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(wct(content, style), single)


# ---- singular covariances ---------------------------------------------------------------------------------------------------


def _grey(x: Tensor) -> Tensor:
    return x[:, :1].expand_as(x).contiguous()


def _flat(x: Tensor) -> Tensor:
    return torch.full_like(x, 2.5)


def _half_dead(x: Tensor) -> Tensor:
    dead = x.clone()
    dead[:, ::2] = 0
    return dead


def _few(x: Tensor) -> Tensor:
    return x[..., :1, :3]


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("content_kind", [_grey, _flat, _half_dead, _few])
@pytest.mark.parametrize("style_kind", [_grey, _flat, _half_dead, _few])
def test_singular_covariances(content_kind: Kind, style_kind: Kind, ridge: float) -> None:
    """Finite, never louder than the style allows, and with the style's mean."""
    content, style = content_kind(features(2, 6, 9, 9)), style_kind(features(2, 6, 8, 7, seed=1))
    out = wct(content, style, ridge=ridge)
    assert out.isfinite().all()
    torch.testing.assert_close(out.mean((2, 3)), style.mean((2, 3)), atol=1e-4, rtol=1e-4)
    if not ridge:
        loudest = torch.linalg.eigvalsh(covariance(style))[:, -1]
        assert (torch.linalg.eigvalsh(covariance(out))[:, -1] <= loudest * (1 + 1e-4) + 1e-6).all()


def test_singular_styles_are_still_met_exactly() -> None:
    content, style = features(1, 6, 9, 9), _half_dead(features(1, 6, 8, 7, seed=1))
    torch.testing.assert_close(covariance(wct(content, style)), covariance(style), rtol=1e-3, atol=1e-4)


def test_one_position_takes_the_styles_mean() -> None:
    style = features(1, 3, 5, 5)
    torch.testing.assert_close(wct(torch.ones(1, 3, 1, 1), style)[..., 0, 0], style.mean((2, 3)))


def test_gradients_through_singular_covariances() -> None:
    """Two sources in four channels: the noughts stay nought while the sources move, and while the plane they span turns."""
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(4, 2, dtype=torch.float64, generator=generator).requires_grad_()
    sources = torch.randn(1, 2, 12, dtype=torch.float64, generator=generator).requires_grad_()
    style = torch.randn(1, 4, 9, dtype=torch.float64, generator=generator).requires_grad_()
    assert torch.autograd.gradcheck(lambda m, x, y: wct(m @ x, y), (mixing, sources, style))
    flat = torch.ones(1, 4, 9, requires_grad=True)
    wct(flat, flat.detach()).sum().backward()
    assert flat.grad is not None
    assert flat.grad.isfinite().all()


# ---- regions ----------------------------------------------------------------------------------------------------------------


def test_one_label_is_the_global_transform() -> None:
    content, style = features(2, 4, 8, 10), features(2, 4, 6, 6, seed=1)
    labels = torch.zeros(2, 16, 20, dtype=torch.long), torch.zeros(2, 12, 12, dtype=torch.long)
    torch.testing.assert_close(wct_regions(content, style, *labels, ridge=1.0), wct(content, style, ridge=1.0))


def test_each_region_is_transformed_alone() -> None:
    content, style = features(1, 4, 8, 10), features(1, 4, 6, 6, seed=1)
    here, there = torch.zeros(1, 8, 10, dtype=torch.long), torch.zeros(1, 6, 6, dtype=torch.long)
    here[..., 4:], there[:, 3:] = 7, 7
    out = wct_regions(content, style, here, there, clamp=True)
    for label in (0, 7):
        chosen, wanted = here[0] == label, there[0] == label
        alone = wct(content[:, :, chosen], style[:, :, wanted], clamp=True)
        torch.testing.assert_close(out[:, :, chosen], alone)


def test_small_or_lone_regions_are_left_alone() -> None:
    content, style = features(1, 4, 8, 10), features(1, 4, 6, 6, seed=1)
    here, there = torch.zeros(1, 8, 10, dtype=torch.long), torch.zeros(1, 6, 6, dtype=torch.long)
    here[0, 0, :5] = 1  # five pixels, where the style has plenty
    there[0, :3] = 1
    here[0, 7] = 2  # not in the style at all
    out = wct_regions(content, style, here, there)
    assert torch.equal(out[:, :, here[0] > 0], content[:, :, here[0] > 0])
    assert not torch.isclose(out[:, :, here[0] == 0], content[:, :, here[0] == 0]).any()


def test_a_region_that_vanishes_at_a_coarse_level_is_left_alone() -> None:
    here = torch.zeros(1, 32, 32, dtype=torch.long)
    here[0, 0:4, 0:4] = 1  # 16 pixels, and none at the centre of a cell of 8 x 8
    there = torch.zeros(1, 32, 32, dtype=torch.long)
    there[0, :16] = 1
    content = features(1, 4, 4, 4)
    torch.testing.assert_close(wct_regions(content, content + 1, here, here), content + 1)
    out = wct_regions(content, content + 1, there, here)
    assert torch.equal(out[:, :, :2], content[:, :, :2])
    assert out.isfinite().all()


def test_which_labels_are_usable() -> None:
    def labels(**counts: int) -> Tensor:
        return torch.cat([torch.full((count,), int(name[1:])) for name, count in counts.items()])

    assert usable_labels(labels(_0=11, _1=10, _2=50), labels(_0=1099, _1=99, _3=50)) == (0,)
    assert usable_labels(labels(_0=11), labels(_0=1100)) == ()
    assert usable_labels(labels(_0=1100), labels(_0=11)) == ()


def test_other_numbers_of_samples_or_channels_are_refused() -> None:
    with pytest.raises(OptionError, match="accepted"):
        wct(torch.zeros(2, 3, 4), torch.zeros(1, 3, 4))
    with pytest.raises(OptionError, match="accepted"):
        wct(torch.zeros(2, 3, 4), torch.zeros(2, 4, 4))


@pytest.mark.parametrize("side", [2, 3, 5, 6])
def test_labels_are_sampled_at_the_centre_of_a_cell_as_pil_does(side: int) -> None:
    from PIL import Image

    labels = np.arange(12 * 10, dtype=np.uint8).reshape(12, 10)
    wanted = np.asarray(Image.fromarray(labels).resize((side, side + 1), Image.Resampling.NEAREST))
    found = _labels_at(torch.from_numpy(labels).long(), torch.zeros(1, 1, side + 1, side))
    np.testing.assert_array_equal(found.reshape(side + 1, side), wanted)
