"""Batches: equal to the core, the same by torch operations alone, with gradients, and moving with the model."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from torch import nn

import recolorist as rc
from recolorist.augment.decisions import Draw
from recolorist.augment.samplers import Style, own_style_by
from recolorist.core.kernels import KernelName
from recolorist.core.style_change import StyleChange
from recolorist.errors import ImageError, OptionError
from recolorist.torch import ColorMatch, Draws, formulas
from tests.torch.data import bank_of, tiles

LINEAR = ("rgb", "ycbcr", "yiq", "ydbdr")
BANK = bank_of(tiles(30, seed=7))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(20)


def batch(count: int = 12, seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(tiles(count, seed)).permute(0, 3, 1, 2).contiguous()


def awkward() -> torch.Tensor:
    """Flat, nearly flat, black and white images among others."""
    images = batch(8).clone()
    images[0] = 77
    images[1, 0] = 12
    images[2] = 200
    images[2, :, 0, 0] = 201
    images[3] = 0
    images[4] = 255
    return images


def by_core(images: torch.Tensor, module: ColorMatch, draws: Draws, **options: Any) -> torch.Tensor:
    """The same draws, image by image, with `recolorist.match`."""
    result = images.clone()
    pixels = images.permute(0, 2, 3, 1).numpy()
    for i in torch.nonzero(draws.applied).ravel().tolist():
        row = int(draws.source[i])
        style = BANK.moments(row) if module.has_bank else rc.measure(pixels[row])
        strength = float(draws.strength[i])
        matched = rc.match(pixels[i], style, space=module.space, strength=strength, max_gain=module.max_gain, **options)
        result[i] = torch.from_numpy(matched).permute(2, 0, 1)
    return result


def by_formulas(images: torch.Tensor, module: ColorMatch, draws: Draws) -> torch.Tensor:
    """The route of other devices and of the compiler, on the CPU."""
    return formulas.apply(images, module.measured_parameters(images, draws), module._range(images))


class TestBits:
    @pytest.mark.parametrize("space", LINEAR)
    @pytest.mark.parametrize("strength", [1.0, (0.2, 1.0)])
    @pytest.mark.parametrize("with_bank", [True, False], ids=["bank", "in the batch"])
    def test_as_the_core(self, space: str, strength: Any, with_bank: bool, kernel: KernelName) -> None:
        assert kernel
        module = ColorMatch(BANK if with_bank else None, p=0.7, space=space, strength=strength, blank="match")
        for images in (batch(), awkward()):
            draws = module.draw(len(images))
            expected = by_core(images, module, draws)
            before = images.clone()
            assert torch.equal(module(images, draws=draws), expected)
            assert torch.equal(images, before)
            assert torch.equal(by_formulas(images, module, draws), expected)

    def test_many_random_images_by_formulas(self) -> None:
        """Half a million values; a fused or reordered operation would show in some of them."""
        module = ColorMatch(BANK, p=1.0, strength=(0.1, 1.0))
        images = torch.from_numpy(tiles(64, 5, (61, 43))).permute(0, 3, 1, 2)
        draws = module.draw(64)
        assert torch.equal(by_formulas(images, module, draws), by_core(images, module, draws))

    def test_channels_last_memory(self) -> None:
        module = ColorMatch(BANK, p=1.0)
        images = batch().to(memory_format=torch.channels_last)
        draws = module.draw(len(images))
        assert torch.equal(module(images, draws=draws), by_core(images, module, draws))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("space", LINEAR)
    def test_floats(self, dtype: torch.dtype, space: str) -> None:
        module = ColorMatch(BANK, p=0.7, space=space, blank="match")
        images = awkward().to(dtype) / 255
        draws = module.draw(len(images))
        expected = by_core(images, module, draws)
        assert torch.equal(module(images, draws=draws), expected)
        error = (by_formulas(images, module, draws) - expected).abs().max()
        # means and deviations summed in another order, a few eps each, times gains of at most 10; float32 rounds that away
        assert error <= (64 if dtype == torch.float64 else 2) * torch.finfo(dtype).eps

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_floats_keep_their_dtype(self, dtype: torch.dtype) -> None:
        module = ColorMatch(BANK, p=1.0)
        images = batch().to(torch.float32) / 255
        draws = module.draw(len(images))
        result = module(images.to(dtype), draws=draws)
        assert result.dtype == dtype
        error = (result.float() - module(images, draws=draws)).abs().max()
        assert error < 24 * torch.finfo(dtype).eps  # input rounding times the gain

    def test_declared_range(self) -> None:
        module = ColorMatch(BANK, p=1.0, data_range=4095.0)
        images = batch().double() * (4095 / 255)
        draws = module.draw(len(images))
        assert torch.equal(module(images, draws=draws), by_core(images, module, draws, data_range=4095.0))

    def test_grey(self) -> None:
        grey = tiles(9)[..., :1]
        module = ColorMatch(bank_of(grey), p=1.0)
        images = torch.from_numpy(grey).permute(0, 3, 1, 2)
        draws = module.draw(9)
        assert torch.equal(by_formulas(images, module, draws), module(images, draws=draws))


class TestDraws:
    def test_share_of_a_batch(self) -> None:
        module = ColorMatch(BANK, p=0.3, mode="batch_fraction")
        for _ in range(20):
            assert int(module.draw(10).applied.sum()) == 3

    def test_coins_are_single(self) -> None:
        module = ColorMatch(BANK, p=0.3)
        chosen = int(sum(module.draw(100).applied.sum() for _ in range(200)))
        assert abs(chosen - 6000) < 5 * (20000 * 0.3 * 0.7) ** 0.5

    @pytest.mark.parametrize("p", [0.0, 1.0])
    def test_never_and_always(self, p: float) -> None:
        assert float(ColorMatch(BANK, p=p).draw(500).applied.double().mean()) == p

    def test_never_its_own_style(self) -> None:
        module = ColorMatch(BANK, p=1.0)
        own = torch.arange(len(BANK)).repeat(50)
        source = module.draw(len(own), own=own).source
        assert not (source == own).any()
        assert set(source.tolist()) == set(range(len(BANK)))

    @pytest.mark.parametrize("count", [2, 3, 7])
    def test_never_itself_in_the_batch(self, count: int) -> None:
        module = ColorMatch(None, p=1.0)
        shifts = set()
        for _ in range(100):
            source = module.draw(count).source
            assert sorted(source.tolist()) == list(range(count))
            assert not (source == torch.arange(count)).any()
            shifts.add(int(source[0]))
        assert shifts == set(range(1, count))

    def test_alone_it_stays_as_it_is(self) -> None:
        images = batch(1)
        assert torch.equal(ColorMatch(None, p=1.0)(images), images)

    def test_empty_batch(self) -> None:
        for module in (ColorMatch(None), ColorMatch(BANK)):
            assert module(batch(3)[:0]).shape == (0, *batch(1).shape[1:])

    def test_generator(self) -> None:
        results = [ColorMatch(BANK, p=0.5, generator=torch.Generator().manual_seed(3))(batch()) for _ in range(2)]
        assert torch.equal(*results)

    def test_global_seed(self) -> None:
        module = ColorMatch(BANK, p=0.5)
        torch.manual_seed(1)
        first, second = module(batch()), module(batch())
        torch.manual_seed(1)
        assert torch.equal(module(batch()), first)
        assert not torch.equal(first, second)

    def test_evaluation_changes_nothing(self) -> None:
        images = batch()
        assert torch.equal(ColorMatch(BANK, p=1.0).eval()(images), images)


class TestGradients:
    @pytest.mark.parametrize("space", ["rgb", "yiq"])
    @pytest.mark.parametrize("with_bank", [True, False], ids=["bank", "in the batch"])
    def test_are_right(self, space: str, with_bank: bool) -> None:
        images = (batch(3)[:, :, :3, :4].double() / 255 * 0.2 + 0.4).requires_grad_()  # far from clipping
        module = ColorMatch(BANK if with_bank else None, p=1.0, space=space, strength=0.3, max_gain=1e6)
        draws = module.draw(3)
        assert torch.autograd.gradcheck(lambda x: module(x, draws=draws), (images,))

    def test_are_finite_for_flat_images(self) -> None:
        images = (awkward().double() / 255).requires_grad_()
        module = ColorMatch(BANK, p=1.0)
        module(images).sum().backward()
        assert images.grad is not None
        assert bool(images.grad.isfinite().all())

    def test_pass_unchanged_where_nothing_is_applied(self) -> None:
        images = (batch(3).double() / 255).requires_grad_()
        ColorMatch(BANK, p=0.0)(images).sum().backward()
        assert images.grad is not None
        assert bool((images.grad == 1).all())


class TestModule:
    def test_state_goes_with_the_model(self) -> None:
        model = nn.Sequential(ColorMatch(BANK, p=1.0))
        assert set(model.state_dict()) == {"0.bank_mean", "0.bank_cov"}
        other = nn.Sequential(ColorMatch(bank_of(tiles(30, seed=8)), p=1.0))
        other.load_state_dict(model.state_dict())
        modules: list[Any] = [model[0], other[0]]
        draws = modules[0].draw(12)
        assert torch.equal(modules[1](batch(), draws=draws), modules[0](batch(), draws=draws))

    def test_bank_stays_exact_in_a_half_model(self) -> None:
        model: Any = nn.Sequential(ColorMatch(BANK), nn.Linear(2, 2)).half()
        assert model[1].weight.dtype == torch.float16
        assert model[0].bank_mean.dtype == torch.float64
        assert np.array_equal(model[0].bank_mean.numpy(), BANK.mean)

    def test_moves_between_devices(self) -> None:
        module = ColorMatch(BANK).to("meta")
        assert module.bank_mean.device.type == module._rows.device.type == "meta"

    def test_nothing_waits_for_the_device(self) -> None:
        """Tensors without values cannot be asked for one: what runs on them asks for none."""
        images = batch().to("meta")
        for module in (ColorMatch(BANK, space="yiq").to("meta"), ColorMatch(None, mode="batch_fraction").to("meta")):
            assert module(images).shape == images.shape
            assert module(images.float()).dtype == torch.float32

    def test_copies(self) -> None:
        module = ColorMatch(BANK, p=1.0)
        draws = module.draw(12)
        assert torch.equal(copy.deepcopy(module)(batch(), draws=draws), module(batch(), draws=draws))
        assert "30 styles, p=1" in repr(module)

    def test_traces_without_breaks(self) -> None:
        """One graph, checked by the tracer of torch.compile without a compiler behind it."""
        module = ColorMatch(BANK, p=1.0)
        draws = module.draw(12)
        traced = torch.compile(module, fullgraph=True, backend="eager")
        assert torch.equal(traced(batch(), draws=draws), module(batch(), draws=draws))
        assert traced(batch()).shape == batch().shape

    @pytest.mark.parametrize("bank", [BANK, None], ids=["bank", "batch"])
    def test_one_graph_takes_batches_of_several_sizes(self, bank: rc.StyleBank | None) -> None:
        """The last batch of an epoch is smaller; from the second size on, the tracer takes the size for a symbol."""
        torch._dynamo.reset()
        traced = torch.compile(ColorMatch(bank, p=1.0), fullgraph=True, backend="eager")
        for count in (12, 7, 5):
            assert traced(batch()[:count]).shape == batch()[:count].shape

    @pytest.mark.skipif("RECOLORIST_SLOW" not in os.environ, reason="compiles C++ for half a minute; RECOLORIST_SLOW=1 runs it")
    @pytest.mark.filterwarnings("ignore")  # the compiler's own
    def test_compiled(self) -> None:
        module = ColorMatch(BANK, p=1.0)
        draws = module.draw(12)
        assert torch.equal(torch.compile(module, fullgraph=True)(batch(), draws=draws), module(batch(), draws=draws))


class TestRefusals:
    @pytest.mark.parametrize("options", [{"method": "covariance"}, {"method": "histogram"}, {"space": "lab"}], ids=str)
    def test_what_is_not_supported(self, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError, match="ParameterCollate"):
            ColorMatch(BANK, **options)

    def test_bank_of_another_split(self) -> None:
        with pytest.raises(OptionError, match="leak"):
            ColorMatch(rc.StyleBank.build(tiles(3), split="test"))

    def test_bank_of_another_space(self) -> None:
        with pytest.raises(OptionError, match="rgb"):
            ColorMatch(bank_of(tiles(3), space="lab"))

    @pytest.mark.parametrize(
        "images",
        [torch.zeros(3, 4, 5), torch.zeros(2, 3, 4, 5, dtype=torch.int32), torch.zeros(2, 1, 4, 5), torch.zeros(2, 4, 5, 3)],
        ids=["one image", "int32", "grey", "channels last"],
    )
    def test_other_batches(self, images: torch.Tensor) -> None:
        with pytest.raises(ImageError):
            ColorMatch(BANK)(images)

    def test_floats_out_of_range(self) -> None:
        with pytest.raises(ImageError, match="range"):
            ColorMatch(BANK, p=1.0)(batch().float())

    def test_too_large_for_exact_sums(self) -> None:
        with pytest.raises(ImageError, match="too large"):
            formulas.measure(torch.zeros(1, 1, 1, 1, dtype=torch.uint8).expand(1, 1, 4000, 3000), cross=False)


class TestBlank:
    """Images with nothing in them stay as they are, by the core and by torch operations alike."""

    @pytest.mark.parametrize("space", ["rgb", "yiq"])
    @pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
    def test_glass_stays_and_the_others_change_as_before(self, space: str, dtype: torch.dtype) -> None:
        images = batch(6)
        images[2] = 243 + (images[2] % 3)
        images = images if dtype == torch.uint8 else images.float() / 255
        module = ColorMatch(BANK, p=1.0, space=space)
        draws = module.draw(6)
        result, formula = module(images, draws=draws), by_formulas(images, module, draws)
        assert torch.equal(result[2], images[2])
        assert torch.equal(formula[2], images[2])
        others = [0, 1, 3, 4, 5]
        assert torch.equal(result[others], ColorMatch(BANK, p=1.0, space=space, blank="match")(images, draws=draws)[others])
        assert not any(torch.equal(result[i], images[i]) for i in others)

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
    def test_a_blank_neighbour_is_no_style(self, dtype: torch.dtype) -> None:
        images = batch(4)
        images[2] = 243
        images = images if dtype == torch.uint8 else images.float() / 255
        module = ColorMatch(None, p=1.0)
        draws = Draws(torch.ones(4, dtype=torch.bool), torch.tensor([1, 2, 3, 0]), torch.ones(4, dtype=torch.float64))
        for result in (module(images, draws=draws), by_formulas(images, module, draws)):
            assert [torch.equal(result[i], images[i]) for i in range(4)] == [False, True, True, False]

    def test_blank_styles_of_a_bank_that_does_not_know_of_them_are_not_drawn(self) -> None:
        cov = BANK.cov.copy()
        cov[3] = 0
        old = rc.StyleBank(BANK.mean, cov, BANK.pixels, BANK.keys, split="train")
        assert len(ColorMatch(old).bank_mean) == len(BANK) - 1
        assert len(ColorMatch(old, blank="match").bank_mean) == len(BANK)


class TestOwnStyle:
    """The images' own styles, changed: equal to the core, and by torch operations alone as exact as styles of a bank."""

    @staticmethod
    def expected(images: torch.Tensor, module: ColorMatch, draws: Draws) -> torch.Tensor:
        """The same draws, image by image, by Colorist."""
        assert draws.step is not None
        assert draws.gains is not None
        colorist = rc.Colorist(BANK, space=module.space, max_gain=module.max_gain, blank=module.blank)
        result, pixels = images.clone(), images.permute(0, 2, 3, 1).numpy()
        for i in torch.nonzero(draws.applied).ravel().tolist():
            step, gains = draws.step[i].tolist(), draws.gains[i].tolist()
            change = StyleChange(tuple(step), tuple(gains), tuple(map(tuple, np.diag(gains).tolist())))
            matched = colorist.recolour(pixels[i], Draw(Style("own", None, change), float(draws.strength[i])))
            result[i] = torch.from_numpy(matched).permute(2, 0, 1)
        return result

    @pytest.mark.parametrize("space", LINEAR)
    @pytest.mark.parametrize("strength", [1.0, (0.2, 1.0)])
    def test_as_the_core(self, space: str, strength: Any) -> None:
        """Large changes, so that means and variances reach their limits too."""
        module = ColorMatch(BANK, p=0.7, space=space, strength=strength, blank="match", sampler=own_style_by(3.0))
        for images in (batch(), awkward()):
            draws = module.draw(len(images))
            expected = self.expected(images, module, draws)
            assert torch.equal(module(images, draws=draws), expected)
            assert torch.equal(by_formulas(images, module, draws), expected)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("space", LINEAR)
    def test_floats(self, dtype: torch.dtype, space: str) -> None:
        module = ColorMatch(BANK, p=0.7, space=space, blank="match", sampler="own_style")
        images = awkward().to(dtype) / 255
        draws = module.draw(len(images))
        expected = self.expected(images, module, draws)
        assert torch.equal(module(images, draws=draws), expected)
        error = (by_formulas(images, module, draws) - expected).abs().max()
        # as for styles of the bank: means and deviations summed in another order, times gains of at most 10
        assert error <= (64 if dtype == torch.float64 else 2) * torch.finfo(dtype).eps

    def test_each_image_keeps_its_own_colours_but_for_the_change(self) -> None:
        images = batch()
        module = ColorMatch(BANK, p=1.0, sampler=own_style_by(0.0, 0.0))
        assert torch.equal(module(images), images)
        assert not torch.equal(ColorMatch(BANK, p=1.0, sampler="own_style")(images), images)

    @pytest.mark.parametrize("space", ["rgb", "yiq"])
    def test_gradients(self, space: str) -> None:
        images = (batch(3)[:, :, :3, :4].double() / 255 * 0.2 + 0.4).requires_grad_()  # far from clipping
        module = ColorMatch(BANK, p=1.0, space=space, strength=0.3, max_gain=1e6, sampler="own_style")
        draws = module.draw(3)
        assert torch.autograd.gradcheck(lambda x: module(x, draws=draws), (images,))

    def test_gradients_are_finite_for_flat_images(self) -> None:
        images = (awkward().double() / 255).requires_grad_()
        ColorMatch(BANK, p=1.0, sampler="own_style", blank="match")(images).sum().backward()
        assert images.grad is not None
        assert bool(images.grad.isfinite().all())

    def test_one_graph(self) -> None:
        torch._dynamo.reset()
        module = ColorMatch(BANK, p=1.0, sampler="own_style")
        draws = module.draw(12)
        traced = torch.compile(module, fullgraph=True, backend="eager")
        assert torch.equal(traced(batch(), draws=draws), module(batch(), draws=draws))
        for count in (12, 7, 5):
            assert traced(batch()[:count]).shape == batch()[:count].shape

    def test_nothing_waits_for_the_device(self) -> None:
        images = batch().to("meta")
        assert ColorMatch(BANK, sampler="own_style").to("meta")(images).shape == images.shape

    def test_state_goes_with_the_model(self) -> None:
        module = ColorMatch(BANK, p=1.0, sampler="own_style")
        assert set(module.state_dict()) == {"bank_mean", "bank_cov", "change_root", "change_deviations"}
        other = ColorMatch(bank_of(tiles(30, seed=8) // 3), p=1.0, sampler="own_style").half()
        other.load_state_dict(module.state_dict())
        torch.manual_seed(1)
        first = module(batch())
        torch.manual_seed(1)
        assert torch.equal(other(batch()), first)
        assert "sampler='own_style'" in repr(module)

    def test_blank_images_stay(self) -> None:
        images = batch(4)
        images[2] = 243
        module = ColorMatch(BANK, p=1.0, sampler="own_style")
        draws = module.draw(4)
        for result in (module(images, draws=draws), by_formulas(images, module, draws)):
            assert [torch.equal(result[i], images[i]) for i in range(4)] == [False, False, True, False]

    def test_grey(self) -> None:
        grey = tiles(9)[..., :1]
        module = ColorMatch(bank_of(grey), p=1.0, sampler="own_style")
        images = torch.from_numpy(grey).permute(0, 3, 1, 2)
        draws = module.draw(9)
        assert torch.equal(by_formulas(images, module, draws), module(images, draws=draws))
