"""SGViTs against its sheet; small networks where the numbers do not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.sgvits import SGViTs
from tests.lab.baselines import kit

SMALL: dict[str, Any] = {"width": 96, "depth": 2, "heads": 4, "size": 32, "mean": (0.5, 0.5, 0.5), "std": (0.2, 0.2, 0.2)}


def fresh(seed: int = 0, **options: Any) -> SGViTs:
    made = build("sgvits", encoder="random", seed=seed, **(SMALL | options))
    assert isinstance(made, SGViTs)
    return made


@pytest.fixture(scope="module")
def model() -> SGViTs:
    return fresh()


class TestFullSize:
    def test_counts(self) -> None:
        with torch.device("meta"):
            made = build("sgvits", encoder="random")
        kit.check_counts(made, {"encoder": 85_798_656, "normalisation": 0})
        assert sum(value.numel() for value in made.parameters() if value.requires_grad) == 85_647_360
        assert len(made.to_official("encoder")) == 150

    def test_the_scaled_variant(self) -> None:
        with torch.device("meta"):
            made = build("sgvits", encoder="random", width=1056, depth=24)
        assert made.parameters_by_part()["encoder"] == 322_511_904
        assert sum(value.numel() for value in made.parameters() if value.requires_grad) == 322_303_872

    def test_layout(self) -> None:
        with torch.device("meta"):
            state = build("sgvits", encoder="random").to_official("encoder")
        layers = ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2")
        names = [
            "encoder.cls_token",
            "encoder.pos_embed",
            *(f"encoder.patch_embed.proj.{kind}" for kind in ("weight", "bias")),
            *(f"encoder.blocks.{i}.{layer}.{kind}" for i in range(12) for layer in layers for kind in ("weight", "bias")),
            *(f"encoder.norm.{kind}" for kind in ("weight", "bias")),
        ]
        assert list(state) == names
        assert state["encoder.blocks.0.attn.qkv.weight"].shape == (2304, 768)
        assert state["encoder.pos_embed"].shape == (1, 197, 768)


def test_images(model: SGViTs) -> None:
    kit.check_images(model)
    kit.check_batch_is_loop(model)
    kit.check_follows(model)


def test_norms_have_the_small_epsilon(model: SGViTs) -> None:
    norms = [one for one in model.encoder.modules() if isinstance(one, torch.nn.LayerNorm)]
    assert len(norms) == 5
    assert {one.eps for one in norms} == {1e-6}


def test_tokens_of_a_picture(model: SGViTs) -> None:
    with torch.no_grad():
        assert model.encoder(torch.rand(2, 3, 32, 32)).shape == (2, 5, 96)


def test_a_picture_with_its_own_look_is_its_reconstruction(model: SGViTs) -> None:
    image = kit.tiles(2, 32)
    (step,) = model.training_step(image, image, 0)
    with torch.no_grad():
        again = model.normalisation(model.transfer(image, image))
        wanted = model.normalisation(image)
    assert step.parts["reconstruction"].item() == pytest.approx((again - wanted).square().mean().item(), rel=1e-5)


def test_broadcast_uses_one_look_for_all_patches() -> None:
    model = fresh(style="broadcast")
    content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
    with torch.no_grad():
        constant = torch.ones(1, 5, 48)
        _, look = model._halves(model.normalisation(style))
        from recolorist_lab.baselines.vit import synthesise

        patches = synthesise(constant, look[:, :1].expand_as(look))
    assert torch.equal(patches[..., :16, :16], patches[..., 16:, 16:])
    assert not torch.equal(model.stylise(content, style), fresh().stylise(content, style))


class TestTraining:
    def test_six_encodings_a_step(self) -> None:
        model, calls = fresh(), []
        model.encoder.register_forward_hook(lambda *_: calls.append(1))
        list(model.training_step(kit.tiles(2, 32), kit.tiles(2, 32), 0))
        assert len(calls) == 6

    def test_everything_learns_but_the_places(self) -> None:
        images = kit.tiles(3, 32)
        kit.check_gradients(fresh(), images, images)
        model = fresh(mean=(), std=())
        before = model.encoder.pos_embed.clone()
        kit.check_step(model, images, images)
        assert torch.equal(model.encoder.pos_embed, before)
        assert not model.encoder.pos_embed.requires_grad
        assert not model.encoder.pos_embed[0, 0].any()

    def test_the_token_is_any_patch_or_by_the_quirk_one_of_the_first_three(self) -> None:
        look = torch.arange(5.0)[None, :, None].expand(2, 5, 48)
        for source, allowed in (("patches", {1.0, 2.0, 3.0, 4.0}), ("released", {0.0, 1.0, 2.0})):
            model = fresh(broadcast_from=source)
            assert {model._drawn(look)[0, 0, 0].item() for _ in range(60)} == allowed

    def test_it_learns(self) -> None:
        images = kit.real_tiles(4, 32)
        kit.check_learns(fresh(), images, images, rate=2e-3, key="reconstruction")

    def test_the_rate_stays_for_two_epochs_and_falls_to_zero(self) -> None:
        recipe = SGViTs.defaults.resolved(640)
        _, rate, _ = fresh().configure_optimiser(recipe)["main"]
        assert [rate(step) for step in (0, 9, 10, 19)] == [1e-3] * 4
        assert rate(20) < 1e-3
        assert rate(51 * 10) == pytest.approx(0.0, abs=1e-12)

    def test_statistics_come_from_the_first_batch(self) -> None:
        model, images = fresh(mean=(), std=()), kit.tiles(4, 32)
        model.prepare(images, images)
        assert torch.allclose(model.normalisation.mean, images.mean((0, 2, 3)))


def test_official(tmp_path: Path) -> None:
    kit.check_official(fresh, tmp_path)


@pytest.mark.parametrize("options", [{"style": "mean"}, {"heads": 5}, {"width": 100}, {"size": 30}, {"mixes": 0}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        fresh(**options)
