"""Measure, plan and apply in torch operations, against the core."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch

import recolorist as rc
from recolorist.core.spaces import SPACES
from recolorist.errors import ImageError
from recolorist.torch import formulas
from recolorist.torch.formulas import BatchMoments
from recolorist.torch.parameters import Parameters

TILES = np.random.default_rng(9).integers(0, 256, (5, 8, 11, 3), dtype=np.uint8)
BATCH = torch.from_numpy(TILES).permute(0, 3, 1, 2)


@pytest.mark.parametrize("cross", [False, True])
def test_bytes_are_measured_exactly(cross: bool) -> None:
    found = formulas.measure(BATCH, cross=cross)
    for i, tile in enumerate(TILES):
        exact = rc.measure(tile)
        np.testing.assert_array_equal(found.mean[i].numpy(), exact.mean)
        expected = exact.cov if cross else np.diag(exact.cov.diagonal())
        np.testing.assert_array_equal(found.cov[i].numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats_are_measured_in_float64(dtype: torch.dtype) -> None:
    batch = (BATCH.double() / 255).to(dtype)
    found = formulas.measure(batch, cross=True)
    for i in range(len(TILES)):
        exact = rc.measure(batch[i].permute(1, 2, 0).numpy())
        np.testing.assert_allclose(found.mean[i].numpy(), exact.mean, rtol=1e-12)
        np.testing.assert_allclose(found.cov[i].numpy(), exact.cov, rtol=1e-10, atol=1e-15)


def test_a_flat_channel_has_no_variance() -> None:
    batch = torch.full((1, 1, 7, 9), 0.1, dtype=torch.float32)
    assert formulas.measure(batch, cross=True).cov.item() == 0.0


def test_images_too_large_for_exact_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "MOST_PIXELS", 10)
    with pytest.raises(ImageError, match="too large for exact sums"):
        formulas.measure(BATCH, cross=False)


@pytest.mark.parametrize("space", [name for name, each in SPACES.items() if each.is_linear])
@pytest.mark.parametrize("strength", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("max_gain", [10.0, 0.5])
def test_maps_are_those_of_plan(space: str, strength: float, max_gain: float) -> None:
    basis = None if space == "rgb" else formulas.mixing_tensors(SPACES[space].basis)  # type: ignore[arg-type]
    content = formulas.measure(BATCH, cross=True)
    source = torch.tensor([1, 2, 3, 4, 0])
    gain, offset = formulas.decide(content, content.rows(source), torch.full((5,), strength).double(), max_gain, basis)
    for i in range(5):
        plan = rc.plan(rc.measure(TILES[i]), rc.measure(TILES[source[i]]), space=space, strength=strength, max_gain=max_gain)
        matrix = torch.diag(gain[i]) if basis is None else gain[i]
        np.testing.assert_allclose(matrix.numpy(), plan.matrix, rtol=1e-6, atol=1e-7)  # strength came as float32
        np.testing.assert_allclose(offset[i].numpy(), plan.offset, rtol=1e-5, atol=1e-4)


def test_flat_images_take_the_mean_and_are_not_amplified() -> None:
    flat, style = (BatchMoments(torch.full((1, 3), mean).double(), torch.zeros(1, 3, 3).double()) for mean in (9.0, 70.0))
    gain, offset = formulas.decide(flat, style, torch.ones(1).double(), 10.0, None)
    assert (gain.tolist(), offset.tolist()) == ([[0.0] * 3], [[70.0] * 3])


def test_moments_in_other_units() -> None:
    scaled = formulas.measure(BATCH, cross=True).scale(1 / 255)
    np.testing.assert_allclose(scaled.cov[0].numpy(), rc.measure(TILES[0]).rescaled(1.0).cov, rtol=1e-12)


class TestApply:
    maps = Parameters(
        torch.tensor([[1.5] * 3] * 5).double(),
        torch.tensor([[-20.0] * 3] * 5).double(),
        torch.tensor([True, False, True, True, False]),
        torch.full((5,), 255.0).double(),
    )

    def test_bytes_are_rounded_half_to_even_and_clipped(self) -> None:
        changed = formulas.apply(BATCH, self.maps, 255.0)
        expected = np.rint(np.clip(TILES * 1.5 - 20.0, 0, 255)).astype(np.uint8)
        expected[[1, 4]] = TILES[[1, 4]]
        np.testing.assert_array_equal(changed.permute(0, 2, 3, 1).numpy(), expected)

    def test_a_diagonal_matrix_gives_the_same(self) -> None:
        matrices = self.maps._replace(gain=torch.diag_embed(self.maps.gain))
        assert torch.equal(formulas.apply(BATCH, matrices, 255.0), formulas.apply(BATCH, self.maps, 255.0))

    def test_floats_of_another_range_get_the_same_map(self) -> None:
        changed = formulas.apply(BATCH.double() / 255, self.maps, 1.0)
        expected = np.clip(TILES * 1.5 - 20.0, 0, 255)[0] / 255
        np.testing.assert_allclose(changed[0].permute(1, 2, 0).numpy(), expected, rtol=1e-12, atol=1e-15)

    def test_gradients_are_finite_for_flat_images(self) -> None:
        batch = torch.full((1, 3, 4, 4), 0.5, dtype=torch.float64, requires_grad=True)
        content = formulas.measure(batch, cross=False)
        style = BatchMoments(torch.full((1, 3), 0.2).double(), torch.eye(3).double()[None] * 0.01)
        gain, offset = formulas.decide(content, style, torch.ones(1).double(), 10.0, None)
        maps = Parameters(gain, offset, torch.tensor([True]), torch.ones(1).double())
        formulas.apply(batch, maps, 1.0).sum().backward()  # type: ignore[no-untyped-call]
        assert batch.grad is not None
        assert torch.isfinite(batch.grad).all()
