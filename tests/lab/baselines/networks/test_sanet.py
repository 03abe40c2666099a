"""SANet: the fact sheet's checks, at full width where numbers are counted and narrow where something is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.attention import PositionAttention
from recolorist_lab.baselines.losses import content_loss, mse, style_loss
from recolorist_lab.baselines.networks.sanet import SANet, Transform
from recolorist_lab.baselines.vgg import Encoder
from tests.full import full
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import on_meta, shrunk, training_tiles

BLOCK = {
    f"{conv}.{kind}": shape
    for conv in ("f", "g", "h", "out_conv")
    for kind, shape in (("weight", (512, 512, 1, 1)), ("bias", (512,)))
}
LAYOUT = {
    **{f"{block}.{key}": shape for block in ("sanet4_1", "sanet5_1") for key, shape in BLOCK.items()},
    "merge_conv.weight": (512, 512, 3, 3),
    "merge_conv.bias": (512,),
}
COUNTS = {"encoder": 12_944_972, "transform": 4_461_056, "decoder": 3_505_219}


@pytest.fixture(scope="module")
def block() -> PositionAttention:
    torch.manual_seed(3)
    return PositionAttention(24).requires_grad_(requires_grad=False)


# ---- counts and names --------------------------------------------------------------------------------------------------------


def test_the_parameters_are_as_many_as_published() -> None:
    model = on_meta("sanet")
    kit.check_counts(model, COUNTS)
    with torch.device("meta"):
        assert sum(value.numel() for value in PositionAttention().parameters()) == 1_050_624
    assert sum(COUNTS[part] for part in model.trained_parts()) == 7_966_275


def test_the_tensors_are_named_as_in_the_official_files() -> None:
    model = on_meta("sanet")
    kit.check_layout(model, "transform", LAYOUT)
    assert len(LAYOUT) == 18
    assert len(model.to_official("decoder")) == 18


def test_official_files_are_loaded_strictly(tmp_path: Path) -> None:
    kit.check_official(lambda seed: shrunk("sanet", seed), tmp_path)


def test_the_whole_encoder_file_is_cut_at_relu5_1() -> None:
    state = {name: torch.zeros(value.shape) for name, value in _whole().items()}
    cut = on_meta("sanet").from_official("encoder", state)
    assert list(cut) == list(on_meta("sanet").encoder.state_dict())
    assert len(state) == 34


def _whole() -> dict[str, Tensor]:
    with torch.device("meta"):
        return dict(Encoder(6).state_dict())


# ---- the attention block -----------------------------------------------------------------------------------------------------


# ---- the network -------------------------------------------------------------------------------------------------------------


def test_any_size_goes_in_and_comes_out() -> None:
    kit.check_images(shrunk("sanet"), sizes=((33, 47), (5, 40), (200, 72)), style_size=(192, 100))


def test_doubling_needs_even_maps_and_matching_does_not() -> None:
    content = torch.rand(1, 3, 200, 200)
    with pytest.raises(OptionError, match="multiples of 16"):
        shrunk("sanet", upsample="factor").transfer(content, content)
    assert shrunk("sanet").transfer(content, content).shape == content.shape
    assert shrunk("sanet", upsample="factor").stylise(content, content).shape == content.shape  # padded to 208 and cut


def test_doubling_and_matching_are_the_same_where_both_work() -> None:
    content, style = kit.tiles(1, 64), kit.tiles(1, 48, seed=1)
    assert torch.equal(shrunk("sanet", upsample="factor").stylise(content, style), shrunk("sanet").stylise(content, style))


def test_each_depth_of_the_content_attends_to_that_depth_of_the_style() -> None:
    model = shrunk("sanet")
    assert isinstance(model.transform, Transform)
    content, style = (model.encoder.taps(image) for image in (kit.tiles(1, 64), kit.tiles(1, 48, seed=1)))
    deep = model.transform.sanet5_1(content[4], style[4]).repeat_interleave(2, -1).repeat_interleave(2, -2)
    edged = nn.functional.pad(model.transform.sanet4_1(content[3], style[3]) + deep, (1, 1, 1, 1), mode="reflect")
    torch.testing.assert_close(model.joined(content, style), model.transform.merge_conv(edged))


def test_batches_are_loops() -> None:
    kit.check_batch_is_loop(shrunk("sanet"))


def test_both_inputs_matter() -> None:
    kit.check_follows(shrunk("sanet"))


def test_the_full_network_runs() -> None:
    model = build("sanet", encoder="random")
    kit.check_images(model, sizes=((33, 20),))


def test_alpha_mixes_with_the_content_in_its_own_style() -> None:
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    none, half, whole = (shrunk("sanet", alpha=alpha) for alpha in (0.0, 0.5, 1.0))
    torch.testing.assert_close(none.transfer(content, style), whole.transfer(content, content))
    own, other = (whole.joined(whole.encoder.taps(content), whole.encoder.taps(image)) for image in (content, style))
    torch.testing.assert_close(half.transfer(content, style), whole.decoder(0.5 * own + 0.5 * other))


@pytest.mark.parametrize("options", [{"alpha": 1.5}, {"alpha": float("nan")}, {"upsample": "cubic"}])
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="accepted"):
        on_meta("sanet", **options)


# ---- training ----------------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_published_sum() -> None:
    model = shrunk("sanet")
    content, style = kit.tiles(2, 32), kit.tiles(2, 32, seed=1)
    (step,) = model.training_step(content, style, 0)
    look = model.encoder.taps
    made, own_content, own_style = model.transfer(content, style), model.transfer(content, content), model.transfer(style, style)
    deep = content_loss(look(made)[3:], look(content)[3:])
    pixels = mse(own_content, content) + mse(own_style, style)
    seen = sum(
        mse(x, y)
        for one, other in ((own_content, content), (own_style, style))
        for x, y in zip(look(one), look(other), strict=True)
    )
    wanted = deep + 3 * style_loss(look(made), look(style)) + 50 * pixels + seen
    torch.testing.assert_close(step.loss, wanted)
    assert list(step.parts) == ["content", "style", "identity_pixels", "identity_features"]


class Telltale(nn.Module):
    def __init__(self, answers: list[Tensor]) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, _: Tensor) -> Tensor:
        return self.answers.pop(0)


def test_a_decoder_that_returns_the_image_has_no_identity_loss() -> None:
    model = shrunk("sanet")
    content, style = kit.tiles(2, 32), kit.tiles(2, 32, seed=1)
    with torch.no_grad():
        before = model.identities(model.look(content), model.look(style))
        model.decoder = Telltale([content, style])  # type: ignore[assignment]
        after = model.identities(model.look(content), model.look(style))
    assert all(float(value) > 0 for value in before.values())
    assert [float(value) for value in after.values()] == [0.0, 0.0]


def test_crops_that_the_decoder_enlarges_are_trained_on_too() -> None:
    model = shrunk("sanet")
    (step,) = model.training_step(kit.tiles(2, (33, 30)), kit.tiles(2, (33, 30), seed=1), 0)
    assert bool(step.loss.isfinite())


def test_gradients_reach_what_is_trained_and_nothing_else() -> None:
    kit.check_gradients(
        shrunk("sanet"),
        kit.tiles(2, 48),
        kit.tiles(2, 48, seed=1),
        unused=[f"transform.{block}.g.bias" for block in ("sanet4_1", "sanet5_1")],
    )


def test_a_step_changes_what_is_trained_and_nothing_else() -> None:
    kit.check_step(shrunk("sanet"), kit.tiles(2, 32), kit.tiles(2, 32, seed=1))


def test_steps_of_the_real_network_on_real_tiles_lower_the_loss(real_weights: Path) -> None:
    assert real_weights.is_dir()
    tiles = kit.real_tiles(2, 24)
    record = kit.check_learns(build("sanet"), tiles[:1], tiles[1:], steps=full(10, 30))
    kit.check_falls(record, "identity_pixels")


def test_overfitting_lowers_every_loss() -> None:
    tiles = training_tiles(2, 24)
    record = kit.check_learns(shrunk("sanet"), tiles[:1], tiles[1:], steps=200, rate=1e-3, to=0.5)
    for term in ("identity_pixels", "identity_features", "style"):
        assert record[-1][term] < 0.6 * record[0][term], term


def test_weights_are_options() -> None:
    content, style = kit.tiles(2, 32), kit.tiles(2, 32, seed=1)
    (plain,) = shrunk("sanet").training_step(content, style, 0)
    (heavy,) = shrunk("sanet", style_weight=5.0).training_step(content, style, 0)
    torch.testing.assert_close(heavy.loss - plain.loss, 2 * plain.parts["style"], rtol=1e-4, atol=1e-4)


def test_the_sheet_s_recipe_is_the_default() -> None:
    assert (SANet.defaults.batch, SANet.defaults.iterations, SANet.defaults.rate) == (5, 160_000, 1e-4)
    assert Transform.__init__.__defaults__ == (512, "size")


@pytest.mark.parametrize("name", ["sanet", "iecontrast"])
def test_a_network_in_double_precision_takes_single_precision_images(name: str) -> None:
    model = shrunk(name)
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    single = model.stylise(content, style)
    torch.testing.assert_close(model.double().stylise(content, style), single, atol=1e-4, rtol=0)
