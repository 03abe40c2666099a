"""ArtFlow: the flow is its own inverse's inverse, statistics arrive, and nothing leaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.networks.artflow import ArtFlow
from recolorist_lab.baselines.networks.artflow_glow import Glow
from recolorist_lab.baselines.statistics import mean_std
from recolorist_lab.baselines.whitening import moments
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import training_tiles


def _flow_layout(channels: int) -> dict[str, tuple[int, ...]]:
    half = channels // 2
    return {
        "actnorm.loc": (1, channels, 1, 1),
        "actnorm.scale": (1, channels, 1, 1),
        "actnorm.initialized": (),
        "invconv.w_l": (channels, channels),
        "invconv.w_u": (channels, channels),
        "invconv.w_s": (channels,),
        "invconv.w_p": (channels, channels),
        "invconv.u_mask": (channels, channels),
        "invconv.l_mask": (channels, channels),
        "invconv.s_sign": (channels,),
        "invconv.l_eye": (channels, channels),
        "coupling.net.0.weight": (512, half, 3, 3),
        "coupling.net.0.bias": (512,),
        "coupling.net.2.weight": (512, 512, 1, 1),
        "coupling.net.2.bias": (512,),
        "coupling.net.4.scale": (1, half, 1, 1),
        "coupling.net.4.conv.weight": (half, 512, 3, 3),
        "coupling.net.4.conv.bias": (half,),
    }


LAYOUT = {
    f"blocks.{block}.flows.{flow}.{name}": shape
    for block, channels in enumerate((12, 48))
    for flow in range(8)
    for name, shape in _flow_layout(channels).items()
}


def lively(glow: Glow, seed: int = 0) -> Glow:
    """The flow as if trained: couplings that do something, rotations that no longer are, scales that are not one."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in glow.named_parameters():
            spread = 0.02 if "net" not in name or name.endswith("scale") else 0.01 * ("net.4" in name)
            value.add_(spread * torch.randn(value.shape, generator=generator, dtype=value.dtype))
    return glow


def model_of(**options: Any) -> ArtFlow:
    made = build("artflow", encoder="random", **options)
    assert isinstance(made, ArtFlow)
    lively(made.glow)
    return made.eval()


@pytest.fixture(scope="module")
def model() -> ArtFlow:
    return model_of().requires_grad_(requires_grad=False)


@pytest.fixture(scope="module")
def whitening_model() -> ArtFlow:
    return model_of(operator="wct").requires_grad_(requires_grad=False)


def fresh(seed: int) -> Baseline:
    return build("artflow", encoder="random", seed=seed)


# ---- counts and layout ------------------------------------------------------------------------------------------------------


def test_counts_and_layout() -> None:
    with torch.device("meta"):
        made = build("artflow", encoder="random")
    assert isinstance(made, ArtFlow)
    kit.check_counts(made, {"glow": 6_463_616, "encoder": 3_505_740})
    assert [sum(value.numel() for value in block.parameters()) for block in made.glow.blocks] == [2_550_400, 3_913_216]
    assert sum(value.numel() for value in made.glow.buffers()) == 78_832
    assert len(LAYOUT) == 288
    found = {name: tuple(value.shape) for name, value in made.to_official("glow").items()}
    assert found == LAYOUT
    assert made.glow.state_dict()["blocks.0.flows.0.actnorm.initialized"].dtype == torch.uint8


def test_shapes_at_full_size() -> None:
    with torch.device("meta"):
        glow = Glow()
        latent = glow(torch.zeros(2, 3, 256, 256))
        assert latent.shape == (2, 48, 64, 64)
        assert glow.reverse(latent).shape == (2, 3, 256, 256)


def test_official_files(tmp_path: Path) -> None:
    def wrap(_: str, state: dict[str, Tensor]) -> object:
        return {
            "iter": 159_999,
            "state_dict": state,
            "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": []},
        }

    kit.check_official(fresh, tmp_path, wrap=wrap, size=16)


# ---- the flow ---------------------------------------------------------------------------------------------------------------


# ---- transfer ---------------------------------------------------------------------------------------------------------------


def test_an_image_in_its_own_style_is_itself(model: ArtFlow, whitening_model: ArtFlow) -> None:
    image = kit.tiles(2, 32)
    for made in (model, whitening_model):
        assert float((made.transfer(image, image) - image).abs().max()) < 1e-4


def test_the_style_arrives(model: ArtFlow, whitening_model: ArtFlow) -> None:
    content, style = kit.tiles(2, (32, 40)), kit.tiles(2, (40, 32), seed=1)
    for made in (model, whitening_model):
        found, wanted = made.glow(made.transfer(content, style)), made.glow(style)
        for mine, theirs in zip(mean_std(found), mean_std(wanted), strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(moments(found.flatten(2))[1], moments(wanted.flatten(2))[1], atol=1e-3, rtol=1e-3)


def test_nothing_leaks_in_twenty_styles(model: ArtFlow) -> None:
    content = kit.tiles(1, 16)
    out = content
    for seed in range(20):
        out = model.transfer(out, kit.tiles(1, 16, seed=seed + 1))
    assert float((out - content).abs().max()) > 0.05
    assert float((model.transfer(out, content) - content).abs().max()) < 1e-3


def test_alpha_blends_in_the_latent(model: ArtFlow) -> None:
    half = model_of(alpha=0.5).requires_grad_(requires_grad=False)
    content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
    middle = (model.glow(content) + model.glow(model.transfer(content, style))) / 2
    torch.testing.assert_close(half.glow(half.transfer(content, style)), middle, atol=1e-4, rtol=1e-4)


def test_images(model: ArtFlow, whitening_model: ArtFlow) -> None:
    kit.check_images(model, sizes=((33, 23), (5, 16)), style_size=(24, 20))
    for made in (model, whitening_model):
        kit.check_batch_is_loop(made, 16, tolerance=1e-4)
        kit.check_follows(made, 16)


def test_flat_and_grey_images_stay_finite(model: ArtFlow, whitening_model: ArtFlow) -> None:
    grey = kit.tiles(1, 16)[:, :1].expand(-1, 3, -1, -1)
    for made in (model, whitening_model):
        for content, style in ((grey, torch.zeros(1, 3, 16, 16)), (torch.ones(1, 3, 16, 16), grey)):
            assert made.stylise(content, style).isfinite().all()


# ---- training ---------------------------------------------------------------------------------------------------------------


def test_gradients_reach_the_flow_and_nothing_else() -> None:
    made = model_of()
    kit.check_gradients(made, kit.tiles(2, 16), kit.tiles(2, 16, seed=1))
    assert made.glow.initialised


def test_wct_can_be_trained() -> None:
    kit.check_gradients(model_of(operator="wct"), kit.tiles(2, 32), kit.tiles(2, 32, seed=1))


def test_saving_memory_changes_no_gradient() -> None:
    content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
    grads = []
    for save in (False, True):
        made = model_of(save_memory=save).train()
        (step,) = made.training_step(content, style, 1)
        step.loss.backward()
        grads.append([value.grad for value in made.glow.parameters()])
    torch.testing.assert_close(grads[0], grads[1])


@pytest.mark.parametrize("first_batch", ["mixed", "content"])
def test_what_sets_the_layers(first_batch: str) -> None:
    content, style = kit.tiles(2, 16), kit.tiles(2, 16, seed=1)
    made = build("artflow", encoder="random", first_batch=first_batch)
    made.prepare(content, style)
    seen = torch.cat([content, style]) if first_batch == "mixed" else content
    loc = dict(made.named_parameters())["glow.blocks.0.flows.0.actnorm.loc"]
    torch.testing.assert_close(loc, -functional.pixel_unshuffle(seen, 2).mean((0, 2, 3), keepdim=True))


def test_the_loss_is_the_sheets() -> None:
    made = model_of(pixel_weight=2.0)
    content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
    (step,) = made.training_step(content, style, 1)
    out = made.transfer(content, style)
    mine, theirs, look = (made.encoder.taps(image) for image in (out, content, style))
    wanted = 0.1 * (mine[3] - theirs[3]).square().mean() + 2 * (out - content).square().mean()
    for x, y in zip(mine, look, strict=True):
        for a, b in zip(mean_std(x), mean_std(y), strict=True):
            wanted = wanted + (a - b).square().mean()
    torch.testing.assert_close(step.loss, wanted)


def test_recipe() -> None:
    recipe = ArtFlow.defaults
    assert (recipe.batch, recipe.iterations, recipe.load_size, recipe.crop_size, recipe.clip) == (4, 160_000, 512, 256, 5.0)
    made = build("artflow", encoder="random").configure_optimiser(recipe)["main"]
    assert made.clip == 5.0
    assert made.rate(0) == pytest.approx(1e-4)
    assert made.rate(20_000) == pytest.approx(5e-5)
    assert isinstance(made.optimiser, torch.optim.Adam)


def test_it_learns_on_real_tiles() -> None:
    """With half the flows and narrow couplings, for the sake of time."""
    tiles = training_tiles(4, 16)
    made = model_of()
    torch.manual_seed(0)
    made.glow = Glow(flows=4, width=48)
    before = kit.snapshot(made.encoder)
    kit.check_learns(made, tiles[:2], tiles[2:], rate=1e-3)
    assert not kit.changed(made.encoder, before)


def test_options_are_checked() -> None:
    for bad in ({"operator": "decorator"}, {"first_batch": "style"}, {"alpha": 1.5}, {"pixel_weight": -1.0}, {"strength": 1.0}):
        with pytest.raises(OptionError, match=r"(?i)accepted"):
            build("artflow", encoder="random", **bad)


def test_the_first_iteration_only_sets_the_layers() -> None:
    content = kit.tiles(2, 16)
    assert list(model_of().training_step(content, content, 0)) == []
    assert len(list(model_of(first_batch="mixed").training_step(content, content, 0))) == 1


def test_a_batch_is_folded_in_training_only() -> None:
    content, style = kit.tiles(2, 16), kit.tiles(2, 16, seed=1)
    folded, apart = model_of(operator="wct"), model_of(operator="wct", fold_batch=False)
    with torch.no_grad():
        assert torch.equal(folded.transfer(content, style), apart.transfer(content, style))
        one, other = (made.train().transfer(content, style) for made in (folded, apart))
        assert float((one - other).abs().max()) > 0.01
        one, other = (made.transfer(content[:1], style[:1]) for made in (folded, apart))
        assert torch.equal(one, other)
