"""MAST: the fact sheet's checks, at full width where numbers are counted and narrow where something is trained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.attention import ChannelAttention
from recolorist_lab.baselines.losses import content_loss, style_loss
from recolorist_lab.baselines.networks.mast import MAST, MODES, MultiAdaptation, content_disagreement, style_disagreement
from tests.full import full
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import on_meta, shrunk, training_tiles

CONVS = {
    f"{conv}.{kind}": shape
    for conv in ("f", "g", "h", "out_conv")
    for kind, shape in (("weight", (512, 512, 1, 1)), ("bias", (512,)))
}
LAYOUT = {f"{block}.{key}": shape for block in ("CA", "CSA", "SSA") for key, shape in CONVS.items()}
COUNTS = {"encoder": 12_944_972, "transform": 3_151_872, "decoder": 3_505_219}


def mast(seed: int = 0, **options: Any) -> MAST:
    model = shrunk("mast", seed, **options)
    assert isinstance(model, MAST)
    return model


def features(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 3


@pytest.fixture(scope="module")
def module() -> MultiAdaptation:
    torch.manual_seed(3)
    return MultiAdaptation(24).requires_grad_(requires_grad=False)


# ---- counts and names --------------------------------------------------------------------------------------------------------


def test_the_parameters_are_as_many_as_published() -> None:
    model = on_meta("mast")
    kit.check_counts(model, COUNTS)
    with torch.device("meta"):
        assert sum(value.numel() for value in ChannelAttention().parameters()) == 1_050_624
    assert sum(COUNTS[part] for part in model.trained_parts()) == 6_657_091
    upto4 = [value for name, value in model.encoder.named_parameters() if int(name.split(".")[0]) < 31]
    assert sum(value.numel() for value in upto4) == 3_505_740


def test_the_tensors_are_named_as_in_the_official_files() -> None:
    kit.check_layout(on_meta("mast"), "transform", LAYOUT)
    assert len(LAYOUT) == 24


def test_official_files_are_loaded_strictly(tmp_path: Path) -> None:
    kit.check_official(mast, tmp_path)


def test_the_prefix_of_a_wrapper_is_tolerated() -> None:
    state = {f"module.{name}": torch.zeros(shape) for name, shape in LAYOUT.items()}
    assert set(on_meta("mast").from_official("transform", state)) == set(LAYOUT)


# ---- the three attentions ----------------------------------------------------------------------------------------------------


def test_rows_of_every_attention_sum_to_one(module: MultiAdaptation) -> None:
    content, style = features(2, 24, 5, 7), features(2, 24, 4, 3, seed=1)
    for weights, shape in (
        (module.CSA.weights(content, content), (2, 35, 35)),
        (module.CA.weights(content, style), (2, 35, 12)),
        (module.SSA.weights(style), (2, 24, 24)),
    ):
        assert weights.shape == shape
        torch.testing.assert_close(weights.sum(-1), torch.ones(shape[:2]), atol=1e-6, rtol=0)
        assert float((weights.sum(1) - 1).abs().max()) > 0.05


def test_moving_style_positions_moves_its_self_attention_alike(module: MultiAdaptation) -> None:
    style, order = features(1, 24, 4, 6), torch.randperm(24)
    moved = style.flatten(2)[..., order].reshape(style.shape)
    torch.testing.assert_close(module.SSA(moved).flatten(2), module.SSA(style).flatten(2)[..., order], atol=1e-5, rtol=0)


def test_the_order_of_style_positions_does_not_matter(module: MultiAdaptation) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    mixed = style.flatten(2)[..., torch.randperm(24)].reshape(style.shape)
    torch.testing.assert_close(module(content, mixed), module(content, style), atol=1e-4, rtol=0)


def test_moving_content_positions_moves_the_result_alike(module: MultiAdaptation) -> None:
    content, style = features(1, 24, 5, 7), features(1, 24, 4, 6, seed=1)
    order = torch.randperm(35)
    moved = content.flatten(2)[..., order].reshape(content.shape)
    torch.testing.assert_close(module(moved, style).flatten(2), module(content, style).flatten(2)[..., order], atol=1e-4, rtol=0)


def test_without_output_convolutions_the_content_comes_back() -> None:
    module = MultiAdaptation(24)
    for block in (module.CA, module.CSA, module.SSA):
        nn.init.zeros_(block.out_conv.weight)
        nn.init.zeros_(block.out_conv.bias)  # type: ignore[arg-type]
    content = features(1, 24, 5, 7)
    for seed in (1, 2):
        assert torch.equal(module(content, features(1, 24, 4, 6, seed=seed)), content)


def test_channel_attention_is_applied_transposed() -> None:
    block = ChannelAttention(3)
    for conv in (block.f, block.g, block.h, block.out_conv):
        nn.init.dirac_(conv.weight)
        nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
    style = features(1, 3, 2, 3) - 1.5
    x = style[0].flatten(1).double().numpy()
    logits = x @ x.T
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    values = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, ddof=1, keepdims=True) + 1e-5)
    wanted = np.zeros_like(x)
    for j in range(3):
        for i in range(3):
            wanted[j] += weights[i, j] * values[i]
    found = block(style).detach()[0].flatten(1).double().numpy()
    np.testing.assert_allclose(found, wanted + x, atol=1e-5)
    assert np.abs(weights @ values - wanted).max() > 0.05, "the test must tell the transpose from the matrix"


# ---- the network -------------------------------------------------------------------------------------------------------------


def test_any_size_goes_in_and_comes_out() -> None:
    kit.check_images(mast(), sizes=((33, 47), (5, 40), (12, 9), (200, 72)))


def test_batches_are_loops() -> None:
    kit.check_batch_is_loop(mast())


def test_both_inputs_matter() -> None:
    kit.check_follows(mast())


def test_the_full_network_runs() -> None:
    kit.check_images(build("mast", encoder="random"), sizes=((33, 20),))


def test_alpha_zero_is_the_content_in_its_own_style() -> None:
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    whole, none = mast(), mast(alpha=0.0)
    torch.testing.assert_close(none.transfer(content, style), whole.transfer(content, content))
    plain = whole.decoder(whole.encoder.taps(content)[3])
    assert float((none.transfer(content, style) - plain).detach().abs().max()) > 0.05


def test_several_styles_are_mixed_by_weight() -> None:
    model = mast()
    content, styles = kit.tiles(1, 32), [kit.tiles(1, 32, seed=1), kit.tiles(1, 40, seed=2)]
    torch.testing.assert_close(model.stylise_mix(content, styles, [2.0, 0.0]), model.stylise(content, styles[0]))
    taps = model.encoder.taps(content)
    first, second = (model.joined(taps, model.encoder.taps(style)) for style in styles)
    wanted = model.decoder(0.25 * first + 0.75 * second).clamp(0, 1)
    torch.testing.assert_close(model.stylise_mix(content, styles, [1.0, 3.0]), wanted.detach(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{"alpha": -0.1}, {"disentangle_mode": "both"}])
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="accepted"):
        on_meta("mast", **options)


# ---- disentanglement ---------------------------------------------------------------------------------------------------------


def test_one_result_or_equal_results_do_not_disagree() -> None:
    model = mast()
    for batch in (kit.tiles(1, 32), kit.tiles(1, 32).repeat(4, 1, 1, 1)):
        taps = model.encoder.taps(batch)
        assert float(content_disagreement(taps)) < 1e-9
        assert float(style_disagreement(taps)) < 1e-9


def test_two_different_results_disagree_by_their_losses() -> None:
    model = mast()
    taps = model.encoder.taps(kit.tiles(2, 32))
    flipped = [tap.flip(0) for tap in taps]
    torch.manual_seed(0)
    contents = {round(float(content_disagreement([*taps[:3], taps[3], taps[3]])), 4) for _ in range(40)}
    one = float(content_loss([taps[3]], [flipped[3]]))
    assert contents == {0.0, round(one, 4), round(2 * one, 4)}, "each tap is shuffled anew: none, one or both may differ"
    styles = [float(style_disagreement(taps)) for _ in range(60)]
    assert max(styles) <= float(style_loss(taps, flipped)) * (1 + 1e-5)
    assert len(set(styles)) > 4


@pytest.mark.parametrize("mode", MODES)
def test_the_images_beside_the_batch_are_what_the_mode_says(mode: str) -> None:
    model = mast(disentangle_mode=mode)
    recipe = model.defaults.but(batch=3)
    assert model.draws(recipe) == ((4, 4) if mode == "paper" else (6, 6))
    drawn = kit.tiles(model.draws(recipe)[0], 32)
    batch, beside = model.split(model.look(drawn))
    assert torch.equal(batch.image, drawn[:3])
    assert beside.image.shape == batch.image.shape
    assert [tap.shape for tap in beside.taps] == [tap.shape for tap in batch.taps]
    if mode == "paper":
        assert all(torch.equal(row, drawn[3]) for row in beside.image)
    else:
        assert torch.equal(beside.image, drawn[3:])


@pytest.mark.parametrize(("mode", "count"), [("paper", 1), ("released", 3)])
def test_a_batch_that_cannot_be_split_is_refused(mode: str, count: int) -> None:
    model = mast(disentangle_mode=mode)
    images = kit.tiles(count, 32)
    with pytest.raises(OptionError, match="takes"):
        next(model.training_step(images, images, 0))


@pytest.mark.parametrize("mode", MODES)
def test_the_gate_opens_below_its_value_and_has_no_gradient(mode: str) -> None:
    content, style = kit.tiles(6, 32), kit.tiles(6, 32, seed=1)
    (shut,) = mast(disentangle_mode=mode, gate=0.0).training_step(content, style, 0)
    assert float(shut.parts["same_content"]) == float(shut.parts["same_style"]) == 0.0
    value = float((shut.parts["content"] + 5 * shut.parts["style"]).detach())
    assert shut.parts["content"].requires_grad
    torch.manual_seed(1)
    (opened,) = mast(disentangle_mode=mode, gate=value * 1.01).training_step(content, style, 0)
    (still,) = mast(disentangle_mode=mode, gate=value * 0.99).training_step(content, style, 0)
    torch.testing.assert_close(still.loss, shut.loss)
    assert float(opened.parts["same_style"].detach()) > 0
    extra = opened.parts["same_content"] + opened.parts["same_style"]
    torch.testing.assert_close(opened.loss, shut.loss + extra)


@pytest.mark.parametrize("mode", MODES)
def test_the_content_beside_takes_the_styles_and_the_contents_take_the_style_beside(mode: str) -> None:
    model = mast(disentangle_mode=mode, gate=math.inf)
    content, style = kit.tiles(6, 32), kit.tiles(6, 32, seed=1)
    half = 5 if mode == "paper" else 3
    torch.manual_seed(3)
    (step,) = model.training_step(content, style, 0)
    beside, other = (images[half:].expand(half, -1, -1, -1) for images in (content, style))
    torch.manual_seed(3)
    contents = content_disagreement(model.encoder.taps(model.transfer(beside, style[:half])))
    styles = style_disagreement(model.encoder.taps(model.transfer(content[:half], other)))
    torch.testing.assert_close((step.parts["same_content"], step.parts["same_style"]), (contents, styles))
    assert float(contents.detach()) > 0


def test_the_gate_of_the_sheet_is_ten() -> None:
    assert mast().gate == 10.0
    assert mast().weights == {
        "content": 1.0,
        "style": 5.0,
        "identity_pixels": 50.0,
        "identity_features": 1.0,
        "same_content": 1.0,
        "same_style": 1.0,
    }
    assert (MAST.defaults.batch, MAST.defaults.iterations) == (8, 160_000)


# ---- training ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_gradients_reach_what_is_trained_and_nothing_else(mode: str) -> None:
    quiet = ["transform.CA.g.bias", "transform.CSA.g.bias"]  # a softmax does not see what all its logits share
    torch.manual_seed(0)
    kit.check_gradients(mast(disentangle_mode=mode, gate=1e9), kit.tiles(4, 48), kit.tiles(4, 48, seed=1), unused=quiet)


def test_a_step_changes_what_is_trained_and_nothing_else() -> None:
    kit.check_step(mast(), kit.tiles(4, 32), kit.tiles(4, 32, seed=1))


def test_crops_that_the_decoder_enlarges_are_trained_on_too() -> None:
    (step,) = mast(gate=1e9).training_step(kit.tiles(4, (33, 30)), kit.tiles(4, (33, 30), seed=1), 0)
    assert bool(step.loss.isfinite())


@pytest.mark.parametrize("mode", MODES)
def test_steps_on_tiles_lower_the_loss(mode: str) -> None:
    tiles = training_tiles(8, 32)
    torch.manual_seed(0)  # the pairs that are compared are drawn
    record = kit.check_learns(mast(disentangle_mode=mode, gate=1e9), tiles[:4], tiles[4:], steps=full(12, 30), rate=1e-3)
    assert record[0]["same_style"] > 0
