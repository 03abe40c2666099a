"""AdaIN against its sheet: the transform in the network, mixing, colour, training, official weights, real images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import build, vgg
from recolorist_lab.baselines.colour import coral
from recolorist_lab.baselines.networks.adain import AdaIN
from recolorist_lab.baselines.pretrained import ready
from recolorist_lab.baselines.recipe import TrainingRecipe
from recolorist_lab.baselines.statistics import adain
from tests.lab.baselines import kit
from tests.lab.baselines.test_vgg import DECODER


@pytest.fixture(scope="module")
def model() -> AdaIN:
    made = build("adain", encoder="random")
    assert isinstance(made, AdaIN)
    return made


@pytest.fixture(autouse=True)
def _default_options(model: AdaIN) -> None:
    model.alpha, model.preserve_colour = 1.0, False


def test_counts_and_layout(model: AdaIN) -> None:
    kit.check_counts(model, {"encoder": 3_505_740, "decoder": 3_505_219})
    wanted: dict[str, tuple[int, ...]] = {}
    for index, (wide, narrow) in DECODER.items():
        wanted |= {f"{index}.weight": (wide, narrow, 3, 3), f"{index}.bias": (wide,)}
    kit.check_layout(model, "decoder", wanted)


def test_recipe_is_the_sheets() -> None:
    assert AdaIN.defaults == TrainingRecipe(batch=8, iterations=160_000, load_size=512, crop_size=256, rate=1e-4, decay=5e-5)


def test_images(model: AdaIN) -> None:
    kit.check_images(model)
    kit.check_batch_is_loop(model)
    kit.check_follows(model)


def test_sides_come_back_as_multiples_of_eight_and_stylise_crops(model: AdaIN) -> None:
    image = kit.tiles(1, 28)
    with torch.no_grad():
        assert model.transfer(image, image).shape == (1, 3, 32, 32)
        assert torch.equal(model.stylise(image, image), model.transfer(image, image)[..., :28, :28].clamp(0, 1))


class TestAlpha:
    def test_zero_is_the_decoded_content(self, model: AdaIN) -> None:
        content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)
        model.alpha = 0.0
        with torch.no_grad():
            assert torch.equal(model.transfer(content, style), model.decoder(model.encoder(content)))

    def test_linear_before_the_decoder(self, model: AdaIN) -> None:
        content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)
        seen: list[Tensor] = []
        with torch.no_grad():
            hook = model.decoder.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
            for model.alpha in (0.0, 0.25, 1.0):
                model.transfer(content, style)
            hook.remove()
            features, wanted = model.encoder(content), model.encoder(style)
        assert torch.allclose(seen[2], adain(features, wanted), atol=1e-5)
        assert torch.allclose(seen[1], 0.75 * seen[0] + 0.25 * seen[2], atol=1e-4)

    def test_one_does_not_see_the_contents_channel_means(self, model: AdaIN) -> None:
        features = torch.rand(1, 512, 4, 4)
        shifted = features + torch.rand(1, 512, 1, 1)
        assert torch.allclose(model.match(features, 2 * features), model.match(shifted, 2 * features), atol=1e-3)

    @pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
    def test_range(self, alpha: float) -> None:
        with pytest.raises(OptionError, match="from 0 to 1"), torch.device("meta"):
            build("adain", encoder="random", alpha=alpha)


class TestMixing:
    def test_all_on_one_is_that_one(self, model: AdaIN) -> None:
        content, styles = kit.tiles(2, 24), [kit.tiles(1, 24, seed=seed) for seed in (1, 2)]
        for place in (0, 1):
            weights = [0.0, 0.0]
            weights[place] = 3.0
            mixed = model.stylise_mix(content, styles, weights)
            assert torch.allclose(mixed, model.stylise(content, styles[place]), atol=1e-5)

    def test_styles_of_different_sizes(self, model: AdaIN) -> None:
        content = kit.tiles(1, (21, 30))
        styles = [kit.tiles(1, 24, seed=1), kit.tiles(1, (17, 33), seed=2)]
        out = model.stylise_mix(content, styles, [1, 1])
        assert out.shape == content.shape
        assert not torch.allclose(out, model.stylise(content, styles[0]))


def test_preserving_colour_recolours_the_style(model: AdaIN) -> None:
    content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)
    seen: list[Tensor] = []
    hook = model.encoder.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    for model.preserve_colour in (False, True):
        model.stylise(content, style)
    hook.remove()
    assert torch.equal(seen[1], style)
    assert torch.equal(seen[3], coral(style, content))
    assert not torch.allclose(seen[3], style, atol=0.05)


class TestTraining:
    def test_only_the_decoder_learns(self) -> None:
        model = build("adain", encoder="random", seed=1)
        content, style = kit.tiles(2, 24), kit.tiles(2, 24, seed=1)
        kit.check_gradients(model, content, style)
        kit.check_step(model, content, style)

    def test_the_loss_is_the_sheets(self, model: AdaIN) -> None:
        content, style = kit.tiles(2, 24), kit.tiles(2, 24, seed=1)
        (step,) = model.training_step(content, style, 0)
        with torch.no_grad():
            target = adain(model.encoder(content), model.encoder(style))
            image = model.decoder(target)
            kept = (model.encoder(image) - target).square().mean()
            matched = torch.zeros(())
            for got, wanted in zip(model.encoder.taps(image), model.encoder.taps(style), strict=True):
                for moment in (lambda f: f.mean((2, 3)), lambda f: (f.var((2, 3)) + 1e-5).sqrt()):
                    matched = matched + (moment(got) - moment(wanted)).square().mean()
        assert float(step.loss.detach()) == pytest.approx(float(kept + 10 * matched), rel=1e-5)
        assert float(step.parts["content"].detach()) == pytest.approx(float(kept), rel=1e-5)

    def test_two_images_are_learnt(self) -> None:
        model = build("adain", encoder="random", seed=2)
        record = kit.check_learns(model, kit.tiles(2, 32), kit.tiles(2, 32, seed=1), to=0.5)
        for term in ("content", "style"):
            assert np.mean([one[term] for one in record[-5:]]) < np.mean([one[term] for one in record[:5]])


def test_official_files(tmp_path: Path) -> None:
    kit.check_official(lambda seed: build("adain", encoder="random", seed=seed), tmp_path, size=16)


class TestReal:
    def test_published_weights_move_colours_and_keep_the_layout(self, real_weights: Path) -> None:
        del real_weights
        model = ready("adain")
        tiles = kit.real_tiles(8, 128)
        content = tiles[:2]
        style = torch.stack([tiles[4] * torch.tensor([1.0, 0.9, 0.5]).reshape(3, 1, 1), tiles[6].flip(0)])
        out = model.stylise(content, style)
        far = (content.mean((2, 3)) - style.mean((2, 3))).abs().mean()
        near = (out.mean((2, 3)) - style.mean((2, 3))).abs().mean()
        assert float(near) < 0.4 * float(far)
        assert all(correlation(a, b) > 0.7 for a, b in zip(content, out, strict=True))
        assert isinstance(model, AdaIN)
        model.alpha = 0.0
        assert all(correlation(a, b) > 0.75 for a, b in zip(content, model.stylise(content, style), strict=True))

    def test_thirty_steps_on_real_tiles_lower_the_loss(self, real_weights: Path) -> None:
        del real_weights
        tiles = kit.real_tiles(4, 32)
        kit.check_learns(build("adain"), tiles[:2], tiles[2:], to=0.8)

    def test_the_published_decoder_passes_the_official_door(self, real_weights: Path) -> None:
        model = build("adain", encoder="random")
        model.load_official({"decoder": real_weights / "adain_decoder.pth"})
        assert vgg.fingerprint(model.parts()["decoder"]) == vgg.fingerprint(ready("adain").parts()["decoder"])


def correlation(one: Tensor, other: Tensor) -> float:
    """Of luminance, over the positions of one image."""
    return float(torch.corrcoef(torch.stack([one.mean(0).flatten(), other.mean(0).flatten()]))[0, 1])
