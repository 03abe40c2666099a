"""Styleformer against its sheet. Styles are brought to 32 pixels: the bank's convolution is most of the work, and so is small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist.errors import OptionError
from recolorist_lab.baselines import build, losses, store
from recolorist_lab.baselines.networks.styleformer import Styleformer, StyleformerDecoder, content_loss, self_distances, variation
from recolorist_lab.baselines.recipe import TrainingRecipe
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import training_tiles

BOTH = pytest.mark.parametrize("mode", ["affine", "released"])


def fresh(seed: int = 0, **options: Any) -> Styleformer:
    made = build("styleformer", encoder="random", seed=seed, **{"style_size": 32, **options})
    assert isinstance(made, Styleformer)
    return made


def on_meta(**options: Any) -> Styleformer:
    with torch.device("meta"):
        return fresh(**{"style_size": 256, **options})


@pytest.fixture(scope="module")
def model() -> Styleformer:
    return lively(fresh()).eval().requires_grad_(requires_grad=False)


def lively(made: Styleformer) -> Styleformer:
    """With a decoder through which a signal passes: as torch draws it, it is all but constant and hides faults."""
    generator = torch.Generator().manual_seed(3)
    for layer in made.decoder.model:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    return made


# ---- counts and layouts -----------------------------------------------------------------------------------------------------


def pairs(names: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Weights of these shapes, each followed by its bias."""
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in names.items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return found


MODULATION = {
    **pairs({f"module.coeffs.splat_features.{place}.conv": (256, 256, 3, 3) for place in (0, 1)}),
    **pairs({"module.coeffs.local_features.0.conv": (128, 256, 3, 3)}),
    "module.coeffs.local_features.1.conv.weight": (128, 128, 3, 3),
    **pairs({"module.coeffs.conv_out.conv": (17408, 128, 1, 1)}),
    **pairs({f"module.att.{name}.conv": (16, 16, 3, 3) for name in ("convc1", "convc2", "convs1", "convs2")}),
    **pairs({"module.att.convsr.conv": (1088, 1088, 3, 3)}),
    **pairs({"module.guide.conv1.conv": (4, 16, 1, 1), "module.guide.conv2.conv": (1, 4, 1, 1)}),
    **pairs({"module.fcc": (256, 256, 1, 1), "module.fcs": (256, 256, 1, 1)}),
}
PAINTED = {1: (256, 256), 4: (256, 256), 7: (256, 256), 10: (128, 256), 14: (128, 128), 17: (64, 128), 21: (64, 64), 24: (3, 64)}
SEEN = {0: (64, 3), 2: (64, 64), 5: (128, 64), 7: (128, 128), 10: (256, 128), 12: (256, 256), 14: (256, 256), 17: (512, 256)}


def test_counts() -> None:
    made = on_meta()
    kit.check_counts(made, {"encoder": 2_915_648, "modulation": 14_664_009, "decoder": 2_325_315})
    inner = {name: sum(value.numel() for value in part.parameters()) for name, part in made.modulation.named_children()}
    assert inner == {"coeffs": 3_868_288, "att": 10_664_064, "guide": 73, "fcc": 65_792, "fcs": 65_792}
    assert sum(value.numel() for value in made.parameters() if value.requires_grad) == 16_989_324
    assert on_meta(features="vgg_normalised").parameters_by_part()["encoder"] == 3_505_740


@BOTH
def test_layouts(mode: str) -> None:
    made = on_meta(apply_mode=mode)
    kit.check_layout(made, "modulation", MODULATION)
    kit.check_layout(made, "decoder", pairs({f"module.model.{place}": (*shape, 3, 3) for place, shape in PAINTED.items()}))
    kit.check_layout(made, "encoder", pairs({f"features.{place}": (*shape, 3, 3) for place, shape in SEEN.items()}))
    assert len(made.decoder.model) == 25


def test_shapes_at_the_native_size() -> None:
    with torch.device("meta"):
        made = fresh(style_size=256)
        image = torch.zeros(2, 3, 256, 256)
        sides = [(64, 256), (128, 128), (256, 64), (512, 32)]
        assert [tuple(tap.shape) for tap in made.encoder.taps(image)] == [(2, wide, side, side) for wide, side in sides]
        style = torch.zeros(2, 256, 64, 64)
        assert made.modulation.coeffs(style).shape == (32, 272, 4, 16, 16)
        bank = made.modulation.bank_of(style)
        assert (tuple(bank.values.shape), tuple(bank.keys.shape)) == ((2, 16, 128, 256), (2, 16, 16, 256))
        for height, width in ((64, 64), (48, 80)):
            content = torch.zeros(2, 256, height, width)
            assert made.modulation(content, bank).shape == content.shape
        assert made.decoder(style).shape == (2, 3, 256, 256)


# ---- the encoder ------------------------------------------------------------------------------------------------------------


# ---- images -----------------------------------------------------------------------------------------------------------------


def test_images(model: Styleformer) -> None:
    kit.check_images(model)
    kit.check_batch_is_loop(model, tolerance=1e-4)
    kit.check_follows(model)


def test_styles_are_resized_and_contents_padded(model: Styleformer) -> None:
    seen: list[Tensor] = []
    hook = model.modulation.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    content, style = kit.tiles(1, (20, 49)), kit.tiles(1, (90, 70), seed=1)
    out = model.stylise(content, style)
    same = model.stylise(content, functional.interpolate(style, (32, 32), mode="bilinear", antialias=True))
    hook.remove()
    assert seen[0].shape == (1, 256, 8, 16)
    assert torch.equal(out, same)


def test_the_decoder_paints_in_imagenets_units(model: Styleformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StyleformerDecoder, "forward", lambda _, features: torch.ones(len(features), 3, 32, 32))
    out = model.stylise(kit.tiles(1, 32), kit.tiles(1, 32, seed=1))
    assert out[0, :, 0, 0].tolist() == pytest.approx([0.714, 0.68, 0.631], abs=1e-5)


def test_the_modes_differ(model: Styleformer) -> None:
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    out = model.stylise(content, style)
    model.modulation.apply_mode = "affine"
    other = model.stylise(content, style)
    model.modulation.apply_mode = "released"
    assert not torch.allclose(out, other, atol=1e-3)


# ---- losses and training ----------------------------------------------------------------------------------------------------


class TestContentLoss:
    @pytest.mark.parametrize("cosine", [False, True])
    def test_columns_sum_to_one_and_equals_have_none(self, cosine: bool) -> None:
        features, other = torch.rand(2, 32, 4, 5), torch.rand(2, 32, 4, 5)
        shares = self_distances(features, cosine=cosine)
        assert shares.shape == (2, 20, 20)
        assert torch.allclose(shares.sum(1), torch.ones(2, 20), atol=1e-4)
        assert content_loss(features, features, cosine=cosine).item() == 0.0
        assert content_loss(features, other, cosine=cosine).item() > 1e-4

    def test_by_the_equations(self) -> None:
        one, other = torch.rand(2, 32, 3, 3), torch.rand(2, 32, 3, 3)
        found = []
        for features in (one, other):
            flat = features.flatten(2)
            apart = 1 - torch.stack([image.T @ image for image in flat])
            found.append(apart / apart.sum(1)[:, None])
        assert float(content_loss(one, other)) == pytest.approx(float((found[0] - found[1]).abs().mean()), rel=1e-4)

    def test_only_cosines_are_blind_to_size(self) -> None:
        one, size = torch.rand(1, 16, 3, 3), torch.linspace(0.5, 2.0, 9).reshape(1, 1, 3, 3)
        assert content_loss(one, one * size, cosine=True) < 1e-6
        assert content_loss(one, one * size) > 1e-3

    def test_a_sum_of_nought_divides_nothing(self) -> None:
        features = torch.full((1, 1, 2, 2), 1.0, requires_grad=True)  # every scalar product is 1
        content_loss(features, torch.rand(1, 1, 2, 2)).backward()
        assert features.grad is not None
        assert features.grad.isfinite().all()
        assert self_distances(torch.zeros(1, 4, 2, 2), cosine=True).isfinite().all()


def test_variation() -> None:
    ramp = torch.arange(12.0).reshape(1, 1, 3, 4)
    assert variation(ramp).item() == pytest.approx(1 + 16)


class TestTraining:
    def test_only_the_trained_parts_learn(self) -> None:
        content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
        made = fresh()
        kit.check_gradients(made, content, style)
        kit.check_step(made, content, style)

    def test_the_loss_is_the_sheets(self, model: Styleformer) -> None:
        content, style = kit.tiles(2, (36, 52)), kit.tiles(2, (36, 52), seed=1)
        (step,) = model.training_step(content, style, 0)
        out = model.transfer(content, style)[..., :36, :52]
        seen, kept, wanted = (model.encoder.taps(image) for image in (out, content, style))
        parts = (3600 * content_loss(seen[3], kept[3]), losses.style_loss(seen, wanted))
        assert len(seen) == 4
        assert step.loss.item() == pytest.approx(float(sum(parts)), rel=1e-4)
        assert step.parts["variation"].item() == pytest.approx(float(variation((out - out.mean()) / STD)), rel=1e-3)

    def test_what_the_weights_count(self) -> None:
        doubled, plain = on_meta(content_weight=120.0), on_meta(content_weight_squared=False, variation_weight=1e-5)
        assert doubled.weights == {"content": 4 * on_meta().weights["content"], "style": 1.0, "variation": 0.0}
        assert plain.weights == {"content": 60.0, "style": 1.0, "variation": 1e-5}

    def test_recipe_and_optimiser_are_the_sheets(self) -> None:
        assert Styleformer.defaults == TrainingRecipe(
            batch=10, epochs=100, crop_size=256, rate=1e-4, decay=0.0, view="grown_crop"
        )
        optimiser, rate, clip = on_meta().configure_optimiser(Styleformer.defaults)["main"]
        (group,) = optimiser.param_groups
        assert isinstance(optimiser, torch.optim.Adam)
        assert (group["betas"], group["weight_decay"], group["amsgrad"], clip) == ((0.8, 0.999), 1e-4, True, 0.0)
        assert rate(0) == rate(500_000) == 1e-4

    def test_it_learns_on_real_tiles(self) -> None:
        tiles = training_tiles(2, 32)
        record = kit.check_learns(lively(fresh()), tiles[:1], tiles[1:], steps=10, to=0.5)
        assert all(record[-1][term] < 0.8 * record[0][term] for term in ("content", "style"))


STD = torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)


# ---- options and files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"features": "vgg"}, {"apply_mode": "ax"}, {"style_size": 16}, {"style_size": 40}, {"content_weight": -1.0}]
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="accepted"):
        on_meta(**options)


def test_official(tmp_path: Path) -> None:
    """One file holds both trained parts, each as an entry."""
    held: dict[str, dict[str, Tensor]] = {}
    entries = {file.part: file.entry for file in Styleformer.official}

    def wrap(part: str, state: dict[str, Tensor]) -> object:
        entry = entries[part]
        if entry is None:
            return state
        held[entry] = state
        return dict(held)

    kit.check_official(lambda seed: fresh(seed, apply_mode="released"), tmp_path, wrap=wrap)
    files = {"modulation": tmp_path / "gen_00794001.pt", "decoder": tmp_path / "gen_00794001.pt"}
    for wrong in (on_meta(apply_mode="affine"), on_meta(features="vgg_normalised")):
        with pytest.raises(OptionError, match="apply_mode='released'"):
            wrong.load_official(files)


def test_a_trained_file_remembers_its_mode(tmp_path: Path) -> None:
    donor = fresh(1, apply_mode="released", features="vgg_normalised")
    store.save(donor, tmp_path / "x.safetensors")
    heir = store.load(tmp_path / "x.safetensors")
    assert isinstance(heir, Styleformer)
    assert (heir.modulation.apply_mode, heir.features, heir.style_size) == ("released", "vgg_normalised", 32)
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    assert torch.equal(heir.stylise(content, style), donor.stylise(content, style))


class TestReal:
    def test_the_other_encoder_trains_with_its_real_weights(self, real_weights: Path) -> None:
        del real_weights
        made = build("styleformer", features="vgg_normalised", style_size=32)
        tiles = kit.real_tiles(2, 32)
        assert isinstance(made, Styleformer)
        record = kit.train(lively(made), tiles[:1], tiles[1:], steps=7)
        assert record[-1]["loss"] < 0.7 * record[0]["loss"]
