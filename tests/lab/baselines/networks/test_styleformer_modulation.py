"""Styleformer's modulation network against its sheet: bank, composition, slicing, and what is made of the coefficients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from recolorist_lab.baselines.networks import styleformer_modulation
from recolorist_lab.baselines.networks.styleformer import Styleformer
from recolorist_lab.baselines.networks.styleformer_modulation import Bank, Modulation, applied, composed, grouped, sliced
from tests.lab.baselines import kit
from tests.lab.baselines.networks.test_styleformer import BOTH, fresh, lively


@pytest.fixture(scope="module")
def model() -> Styleformer:
    return lively(fresh()).eval().requires_grad_(requires_grad=False)


def test_groups_are_normalised() -> None:
    groups = grouped(5 + 3 * torch.randn(2, 256, 6, 9))
    assert groups.shape == (32, 16, 6, 9)
    assert groups.mean((1, 2, 3)).abs().max() < 1e-5
    assert torch.allclose(groups.std((1, 2, 3), correction=0), torch.ones(32), atol=1e-4)


def test_the_bank_is_numbered_by_group_coefficient_and_luma(model: Styleformer) -> None:
    style = torch.rand(2, 256, 8, 8)
    coeffs = model.modulation.coeffs
    seen: list[Tensor] = []
    hook = coeffs.conv_out.register_forward_hook(lambda *given: seen.append(given[2]))
    grid = coeffs(style)
    hook.remove()
    for image, group, coefficient, luma in ((0, 0, 0, 3), (1, 5, 100, 2), (1, 15, 271, 0)):
        channel = group * 1088 + coefficient * 4 + luma
        assert torch.equal(grid[image * 16 + group, coefficient, luma], seen[0][image, channel])


@BOTH
def test_the_whole_from_the_names_of_the_file(model: Styleformer, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step after the sheet, group by group, with tensors called as the official file calls them."""
    monkeypatch.setattr(model.modulation, "apply_mode", mode)
    state = model.to_official("modulation")
    content, style = torch.rand(1, 256, 12, 8), torch.rand(1, 256, 8, 8)

    def conv(maps: Tensor, name: str, stride: int = 1) -> Tensor:
        weight, bias = state[f"module.{name}.weight"], state.get(f"module.{name}.bias")
        edge = weight.shape[-1] // 2
        wide = functional.pad(maps, (edge, edge, edge, edge), mode="reflect") if edge else maps
        return functional.conv2d(wide, weight, bias, stride)

    def unit(group: Tensor) -> Tensor:
        return (group - group.mean()) / (group.var(correction=0) + 1e-5).sqrt()

    hidden = style
    for name, stride in (("splat_features.0", 2), ("splat_features.1", 2), ("local_features.0", 1), ("local_features.1", 1)):
        hidden = conv(hidden, f"coeffs.{name}.conv", stride).relu()
    bank = conv(hidden, "coeffs.conv_out.conv")
    own, other = conv(content, "fcc"), conv(style, "fcs")
    wanted = []
    for group in range(16):
        mine, theirs = (unit(maps[:, group * 16 : group * 16 + 16]) for maps in (own, other))
        query = conv(conv(mine, "att.convc1.conv", 2).relu(), "att.convc2.conv", 2)
        key = conv(conv(theirs, "att.convs1.conv", 2).relu(), "att.convs2.conv", 2)
        value = conv(bank[:, group * 1088 : group * 1088 + 1088], "att.convsr.conv")
        attention = torch.softmax(query.flatten(2)[0].T @ key.flatten(2)[0], 1)
        grid = (value.flatten(2)[0] @ attention.T).reshape(1, 272, 4, *query.shape[-2:])
        guide = conv(conv(mine, "guide.conv1.conv").relu(), "guide.conv2.conv").sigmoid()
        wanted.append(applied(sliced(grid, guide[:, 0]), mine, mode))
    out = model.modulation(content, model.modulation.bank_of(style))
    assert torch.allclose(out, torch.cat(wanted, 1), atol=1e-5)


class TestComposition:
    def test_by_the_equations(self) -> None:
        queries, keys, values = torch.randn(2, 16, 16, 6), torch.randn(2, 16, 16, 4), torch.randn(2, 16, 8, 4)
        out = composed(queries, Bank(values, keys))
        scores = torch.einsum("ngdp,ngds->ngps", queries, keys)  # not divided by a root
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        assert torch.allclose(weights.sum(-1), torch.ones(2, 16, 6), atol=1e-5)
        assert torch.allclose(out, torch.einsum("ngvs,ngps->ngvp", values, weights), atol=1e-4)

    def test_equal_keys_give_the_mean_everywhere(self, model: Styleformer) -> None:
        bank = model.modulation.bank_of(torch.rand(1, 256, 8, 8))
        flat = Bank(bank.values, bank.keys[..., :1].expand_as(bank.keys))
        grid = composed(torch.randn(1, 16, 16, 9), flat)
        assert torch.allclose(grid, bank.values.mean(-1, keepdim=True).expand_as(grid), atol=1e-5)

    def test_one_bank_serves_many_contents(self, model: Styleformer) -> None:
        contents, style = torch.rand(3, 256, 8, 12), torch.rand(1, 256, 8, 8)
        bank = model.modulation.bank_of(style)
        each = torch.cat([model.modulation(one[None], bank) for one in contents])
        assert torch.allclose(model.modulation(contents, bank), each, atol=1e-4)

    def test_a_shared_style_is_looked_at_once(self, model: Styleformer) -> None:
        seen: list[int] = []
        hook = model.modulation.coeffs.register_forward_pre_hook(lambda _, given: seen.append(len(given[0])))
        content, style = kit.tiles(3, 32), kit.tiles(1, 32, seed=1)
        model.stylise(content, style)
        model.stylise(content, style.repeat(3, 1, 1, 1))
        hook.remove()
        assert seen == [1, 3]


class TestSlice:
    def test_the_guide_reaches_the_upper_half_of_the_bins(self) -> None:
        luma = torch.arange(4.0).reshape(1, 1, 4, 1, 1).expand(1, 1, 4, 3, 5)
        guide = torch.rand(1, 7, 9)
        guide[0, 0, :2] = torch.tensor([0.0, 1.0])
        out = sliced(luma, guide)
        assert out[0, 0, 0, :2].tolist() == [1.5, 3.0]
        assert torch.allclose(out[:, 0], 1.5 + 1.5 * guide, atol=1e-5)

    def test_without_luma_it_is_bilinear(self) -> None:
        flat = torch.randn(2, 5, 1, 3, 4)
        wanted = functional.interpolate(flat[:, :, 0], (9, 10), mode="bilinear", align_corners=True)
        assert torch.allclose(sliced(flat.expand(2, 5, 4, 3, 4), torch.rand(2, 9, 10)), wanted, atol=1e-5)

    def test_one_position_by_hand(self) -> None:
        grid = torch.randn(1, 1, 4, 3, 3)
        guide = torch.full((1, 5, 5), 0.5)  # luma 2.25; row 1 of 5 is 0.5 of 3, column 3 is 1.5
        around = grid[0, 0, 2:, :2, 1:]
        wanted = 0.75 * around[0].mean() + 0.25 * around[1].mean()
        assert float(sliced(grid, guide)[0, 0, 1, 3]) == pytest.approx(float(wanted), abs=1e-5)


class TestApply:
    def test_identity_and_bias(self) -> None:
        maps = torch.randn(3, 16, 4, 5)
        table = torch.zeros(3, 16, 17, 4, 5)
        table[:, torch.arange(16), torch.arange(16)] = 1.0
        assert torch.equal(applied(table.flatten(1, 2), maps, "affine"), maps)
        bias = torch.randn(3, 16, 4, 5)
        table.zero_()[:, :, 16] = bias
        assert torch.equal(applied(table.flatten(1, 2), maps, "affine"), bias)

    def test_by_the_equations(self) -> None:
        maps, table = torch.randn(3, 16, 4, 5), torch.randn(3, 272, 4, 5)
        for channel in (0, 7, 15):
            start = 17 * channel
            wanted = (table[:, start : start + 16] * maps).sum(1) + table[:, start + 16]
            assert torch.allclose(applied(table, maps, "affine")[:, channel], wanted, atol=1e-5)
            official = table[:, 2 * channel] * maps.sum(1) + table[:, 2 * channel + 1]
            assert torch.allclose(applied(table, maps, "released")[:, channel], official, atol=1e-5)

    @pytest.mark.parametrize(("mode", "read"), [("affine", 272), ("released", 32)])
    def test_coefficients_that_are_read(self, mode: str, read: int) -> None:
        table = torch.randn(1, 272, 4, 5, requires_grad=True)
        applied(table, torch.randn(1, 16, 4, 5), mode).square().sum().backward()
        assert table.grad is not None
        used = table.grad.abs().sum((0, 2, 3)) > 0
        assert used[:read].all()
        assert not used[read:].any()

    @BOTH
    def test_strips_change_nothing(self, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows at once are bounded where nothing is kept for gradients; the result is that of all rows."""
        torch.manual_seed(0)
        made = Modulation(mode)
        content, style = torch.randn(2, 256, 12, 8), torch.randn(2, 256, 8, 8)
        sizes: list[int] = []
        sampled = styleformer_modulation.sampled

        def watched(grid: Tensor, places: Tensor) -> Tensor:
            out = sampled(grid, places)
            sizes.append(out.numel())
            return out

        monkeypatch.setattr(styleformer_modulation, "sampled", watched)
        whole = made(content, made.bank_of(style)).detach()
        most = 2 * 16 * styleformer_modulation.APPLY_MODES[mode] * 8 * 5
        monkeypatch.setattr(styleformer_modulation, "_AT_ONCE", most)
        with torch.no_grad():
            assert torch.allclose(made(content, made.bank_of(style)), whole, atol=1e-5)
        assert sizes[0] > most
        assert max(sizes[1:]) <= most
        assert len(sizes) == 4
