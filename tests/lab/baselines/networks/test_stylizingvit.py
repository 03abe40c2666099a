"""StylizingViT against its sheet; the tiny backbone on few patches where the numbers do not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.stylizingvit import CrossBlock, StylizingViT, _apart, moments, standardised
from tests.full import full
from tests.lab.baselines import kit

SMALL: dict[str, Any] = {"backbone": "tiny", "size": 32, "mean": (0.5, 0.5, 0.5), "std": (0.2, 0.2, 0.2)}


def fresh(seed: int = 0, **options: Any) -> StylizingViT:
    made = build("stylizingvit", encoder="random", seed=seed, **(SMALL | options))
    assert isinstance(made, StylizingViT)
    return made


@pytest.fixture(scope="module")
def model() -> StylizingViT:
    return fresh()


class TestFullSize:
    @pytest.mark.parametrize(
        ("backbone", "encoder", "head"),
        [("tiny", 5_524_416, 295_872), ("small", 21_665_664, 1_181_568), ("base", 85_798_656, 4_722_432)],
    )
    def test_counts(self, backbone: str, encoder: int, head: int) -> None:
        with torch.device("meta"):
            made = build("stylizingvit", encoder="random", backbone=backbone)
        kit.check_counts(made, {"encoder": encoder, "bottleneck": head, "post_process_conv": 225, "normalisation": 0})
        assert sum(len(made.to_official(file.part)) for file in made.official) == 203

    def test_layout(self) -> None:
        with torch.device("meta"):
            made = build("stylizingvit", encoder="random")
        names = (
            set(made.to_official("encoder")) | set(made.to_official("bottleneck")) | set(made.to_official("post_process_conv"))
        )
        block = ("norm_input", "norm_context", "mlp.fc1", "mlp.fc2", *(f"attn.{one}_proj" for one in ("q", "k", "v", "out")))
        wanted = {f"encoder.blocks.{i}.{layer}.{kind}" for i in range(12) for layer in block for kind in ("weight", "bias")}
        wanted |= {"encoder.cls_token", "encoder.pos_embed", "post_process_conv.weight"}
        stems = ("encoder.patch_embed.proj", "encoder.norm", "bottleneck.fc1", "bottleneck.fc2")
        wanted |= {f"{stem}.{kind}" for stem in stems for kind in ("weight", "bias")}
        assert names == wanted
        assert made.to_official("post_process_conv")["post_process_conv.weight"].shape == (3, 3, 5, 5)


def test_images(model: StylizingViT) -> None:
    kit.check_images(model)
    kit.check_batch_is_loop(model)
    kit.check_follows(model)


class TestRecursion:
    def test_content_and_style_alike_give_equal_streams_but_another_mixture(self, model: StylizingViT) -> None:
        image = torch.randn(1, 3, 32, 32)
        with torch.no_grad():
            own, other, mixed = model.encoder(image, image)
        assert torch.equal(own, other)
        assert not torch.allclose(own, mixed, atol=1e-3)

    def test_it_is_the_one_of_the_sheet(self, model: StylizingViT) -> None:
        content, style = torch.randn(1, 3, 32, 32), torch.randn(1, 3, 32, 32)
        encoder = model.encoder
        with torch.no_grad():
            one = way = encoder._tokens(content)
            other = encoder._tokens(style)
            for block in encoder.blocks:
                one_next, other_next = block(one, one), block(other, other)
                mixed = block(way, other)
                way = block(one_next, mixed)
                one, other = one_next, other_next
            found = encoder(content, style)
        for wanted, got in zip((one, other, mixed), found, strict=True):
            assert torch.allclose(encoder.norm(wanted), got, atol=1e-5)

    def test_forty_seven_calls_of_a_block(self, model: StylizingViT) -> None:
        calls: list[int] = []
        hooks = [block.register_forward_hook(lambda *_: calls.append(1)) for block in model.encoder.blocks]
        with torch.no_grad():
            model.encoder(torch.randn(1, 3, 32, 32), torch.randn(1, 3, 32, 32))
        for hook in hooks:
            hook.remove()
        assert len(calls) == 47

    def test_a_block_without_context_does_nothing(self) -> None:
        tokens = torch.randn(1, 4, 192)
        assert CrossBlock(192, 3)(tokens, None) is tokens


class TestLosses:
    def test_moments_by_hand(self) -> None:
        tap = torch.randn(2, 4, 5, 6)
        mean, deviation = moments(tap)
        assert torch.allclose(mean, tap.mean((2, 3)))
        assert torch.allclose(deviation, tap.std((2, 3), unbiased=False), atol=1e-6)

    def test_style_is_a_sum_of_two_means(self) -> None:
        one, other = torch.randn(2, 4, 5, 6), torch.randn(2, 4, 5, 6)
        (a, b), (c, d) = moments(one), moments(other)
        wanted = (a - c).square().mean() + (b - d).square().mean()
        assert torch.allclose(_apart([moments(one)], [moments(other)], 2.0), wanted)
        assert _apart([moments(one)], [moments(one)], 2.0).item() == 0.0

    def test_anatomy_does_not_see_affine_maps_of_channels(self) -> None:
        tap = torch.randn(2, 4, 5, 6)
        gain, offset = torch.rand(1, 4, 1, 1) + 0.5, torch.randn(1, 4, 1, 1)
        assert torch.allclose(standardised(gain * tap + offset), standardised(tap), atol=1e-4)

    @pytest.mark.parametrize(("kind", "taps"), [("vgg19", 6), ("vgg_normalised", 5)])
    def test_taps(self, kind: str, taps: int) -> None:
        model = fresh(perceptual=kind)
        seen = model._taps(torch.randn(1, 3, 64, 64))
        assert len(seen) == taps
        assert model.vgg.net is not None
        if kind == "vgg19":
            assert [tuple(tap.shape[1:]) for tap in seen] == [
                (64, 64, 64), (128, 32, 32), (256, 16, 16), (512, 8, 8), (512, 4, 4), (512, 2, 2)
            ]  # fmt: skip
            assert sum(value.numel() for value in model.vgg.net.parameters()) == 20_024_384

    def test_stylising_needs_no_loss_network(self) -> None:
        model = fresh()
        model.stylise(kit.tiles(1, 32), kit.tiles(1, 32, seed=1))
        assert model.vgg.net is None


class TestTraining:
    def test_all_but_the_loss_network_learns(self) -> None:
        images = kit.tiles(3, 32)
        model = fresh(perceptual="vgg_normalised")
        keys = [f"encoder.blocks.{i}.attn.k_proj.bias" for i in range(12)]  # softmax does not see it
        kit.check_gradients(model, images, images, unused=keys)
        assert model.vgg.net is not None
        assert all(value.grad is None for value in model.vgg.net.parameters())
        kit.check_step(fresh(perceptual="vgg_normalised", mean=(), std=()), images, images)

    def test_the_total_is_the_weighted_sum(self) -> None:
        model = fresh(perceptual="vgg_normalised")
        (step,) = model.training_step(kit.tiles(2, 32), kit.tiles(2, 32), 0)
        weights = {"identity": 70.0, "consistency": 1.0, "anatomy": 7.0, "style": 10.0}
        assert step.loss.item() == pytest.approx(sum(weights[name] * part.item() for name, part in step.parts.items()), rel=1e-5)

    def test_it_learns(self) -> None:
        images = kit.real_tiles(2, 32)
        kit.check_learns(fresh(perceptual="vgg_normalised"), images, images, steps=full(12, 16), rate=1e-3, key="identity")

    def test_recipe_is_the_sheets(self) -> None:
        recipe = StylizingViT.defaults.resolved(640)
        optimiser, rate, clip = fresh().configure_optimiser(recipe)["main"]
        assert (recipe.iterations, recipe.accumulate, clip, recipe.paired) == (500, 2, 1.0, False)
        assert len(optimiser.param_groups) == 1
        assert optimiser.param_groups[0]["weight_decay"] == 0.01
        assert rate(0) == rate(9) == 1e-3 > rate(10)


class TestOfficial:
    def test_one_file_fills_all(self, tmp_path: Path) -> None:
        donor, heir = fresh(1), fresh(2)
        content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
        wanted = donor.stylise(content, style)
        assert not torch.equal(heir.stylise(content, style), wanted)
        state = {name: value for file in donor.official for name, value in donor.to_official(file.part).items()}
        path = tmp_path / "model.safetensors"
        save_file({**state, "vgg_encoder.conv.weight": torch.zeros(2)}, path)
        heir.load_official(dict.fromkeys([file.part for file in donor.official], path))
        assert torch.equal(heir.stylise(content, style), wanted)

    def test_a_wrong_one_is_refused_and_changes_nothing(self, tmp_path: Path) -> None:
        donor, heir = fresh(1), fresh(2)
        state = {name: value for file in donor.official for name, value in donor.to_official(file.part).items()}
        before, path = kit.snapshot(heir), tmp_path / "model.safetensors"
        for wrong in (
            {name: value for name, value in state.items() if name != "bottleneck.fc2.bias"},
            {**state, "stranger": torch.zeros(1)},
            {**state, "encoder.cls_token": torch.zeros(7)},
        ):
            save_file(wrong, path)
            with pytest.raises(RecoloristError):
                heir.load_official(dict.fromkeys([file.part for file in donor.official], path))
            assert not kit.changed(heir, before)


@pytest.mark.parametrize("options", [{"backbone": "large"}, {"perceptual": "lpips"}, {"size": 30}, {"mean": (0.5,)}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        fresh(**options)


def test_images_that_are_not_square_are_padded() -> None:
    model = fresh(fit="pad")
    wide, style = kit.tiles(1, (32, 48)), kit.tiles(1, 48, seed=1)
    square = torch.nn.functional.pad(wide, (0, 0, 8, 8))
    torch.testing.assert_close(model.stylise(wide, style), model.stylise(square, style)[..., 8:40, :])
    assert not torch.allclose(model.stylise(wide, style), fresh(fit="squash").stylise(wide, style), atol=1e-3)
    with pytest.raises(OptionError, match="accepted are pad, squash"):
        fresh(fit="cut")
