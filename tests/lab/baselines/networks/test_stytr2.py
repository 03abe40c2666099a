"""StyTr2 against its sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.stytr2 import StyTr2, Transformer, _tokens, warmed_up
from recolorist_lab.baselines.recipe import TrainingRecipe
from tests.lab.baselines import kit


def fresh(seed: int = 0) -> StyTr2:
    made = build("stytr2", encoder="random", seed=seed)
    assert isinstance(made, StyTr2)
    return made


@pytest.fixture(scope="module")
def model() -> StyTr2:
    return fresh().eval()


@pytest.fixture(autouse=True)
def _no_dropout(model: StyTr2) -> None:
    model.eval()


def test_counts_and_layout() -> None:
    with torch.device("meta"):
        made = fresh()
    counts = {"encoder": 12_944_972, "embedding": 98_816, "transformer": 31_790_080, "decoder": 3_505_219}
    kit.check_counts(made, counts)
    kit.check_layout(made, "embedding", {"proj.weight": (512, 3, 8, 8), "proj.bias": (512,)})
    state = made.to_official("transformer")
    assert len(state) == 130
    block = {"self_attn.in_proj_weight": (1536, 512), "self_attn.in_proj_bias": (1536,), "self_attn.out_proj.weight": (512, 512)}
    block |= {"linear1.weight": (2048, 512), "linear2.weight": (512, 2048), "norm1.weight": (512,), "norm2.bias": (512,)}
    for name, shape in block.items():
        for front in ("encoder_c.layers.0", "encoder_s.layers.2", "decoder.layers.1"):
            assert tuple(state[f"{front}.{name}"].shape) == shape
    assert {"decoder.layers.0.multihead_attn.in_proj_weight", "decoder.layers.2.norm3.bias", "decoder.norm.weight"} <= set(state)
    assert tuple(state["new_ps.weight"].shape) == (512, 512, 1, 1)
    assert sum(part.numel() for part in made.transformer.encoder_c.parameters()) == 9_457_152
    assert sum(part.numel() for part in made.transformer.decoder.parameters()) == 12_613_120


def test_images(model: StyTr2) -> None:
    kit.check_images(model)
    kit.check_batch_is_loop(model, tolerance=1e-4)
    kit.check_follows(model)


class TestPositions:
    def test_a_constant_content_has_one_place(self, model: StyTr2) -> None:
        flat = torch.randn(1, 512, 1, 1).expand(1, 512, 6, 9)
        with torch.no_grad():
            place = model.transformer.positions(flat)
        assert place.shape == (1, 512, 6, 9)
        assert torch.allclose(place, place[..., :1, :1].expand_as(place), atol=1e-5)

    def test_places_do_not_depend_on_the_fineness(self, model: StyTr2) -> None:
        coarse = torch.randn(1, 512, 18, 18)
        fine = coarse.repeat_interleave(2, 2).repeat_interleave(2, 3)
        with torch.no_grad():
            pooled = model.transformer.positions(fine).unfold(2, 2, 2).unfold(3, 2, 2).mean((-1, -2))
            direct = model.transformer.positions(coarse)
        assert torch.allclose(pooled[..., 1:-1, 1:-1], _smoothed(direct)[..., 1:-1, 1:-1], atol=0.05)
        assert torch.equal(torch.nn.functional.adaptive_avg_pool2d(fine, 18), coarse)


def _smoothed(maps: torch.Tensor) -> torch.Tensor:
    """What resizing twofold and averaging pairs does: a sixteenth of each neighbour's difference."""
    return (
        torch.nn.functional.interpolate(maps, scale_factor=2, mode="bilinear", align_corners=False)
        .unfold(2, 2, 2)
        .unfold(3, 2, 2)
        .mean((-1, -2))
    )


class TestAttention:
    def test_the_order_of_style_patches_does_not_matter(self, model: StyTr2) -> None:
        content, style = torch.randn(1, 512, 4, 4), torch.randn(1, 512, 4, 4)
        shuffled = style.flatten(2)[..., torch.randperm(16)].view_as(style)
        with torch.no_grad():
            apart = model.transformer(content, style) - model.transformer(content, shuffled)
        assert float(apart.abs().max()) < 1e-4

    def test_that_of_the_content_does_since_places_are_pooled(self, model: StyTr2) -> None:
        content = torch.randn(1, 512, 36, 36)
        order = torch.randperm(36 * 36, generator=torch.Generator().manual_seed(1))
        shuffled = content.flatten(2)[..., order].view_as(content)
        with torch.no_grad():
            first = model.transformer.positions(content).flatten(2)[..., order]
            second = model.transformer.positions(shuffled).flatten(2)
        assert float((first - second).abs().max()) > 0.1

    def test_without_values_the_style_is_not_seen(self) -> None:
        made: Any = Transformer().eval()
        for layer in made.decoder.layers:
            for attention in (layer.self_attn, layer.multihead_attn):
                attention.in_proj_weight.data[1024:] = 0
        content = torch.randn(1, 512, 3, 3)
        with torch.no_grad():
            assert torch.equal(made(content, torch.randn(1, 512, 3, 3)), made(content, torch.randn(1, 512, 2, 5)))

    def test_one_layer_by_the_equations(self) -> None:
        made: Any = Transformer().eval()
        layer = made.encoder_c.layers[0]
        tokens, place = torch.randn(1, 5, 512), torch.randn(1, 5, 512)
        with torch.no_grad():
            weights, bias = layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias
            asking = tokens + place
            parts = [
                given @ weights[i * 512 : (i + 1) * 512].T + bias[i * 512 : (i + 1) * 512]
                for i, given in enumerate((asking, asking, tokens))
            ]
            query, key, value = (part.view(1, 5, 8, 64).transpose(1, 2) for part in parts)
            seen = (torch.softmax(query @ key.transpose(2, 3) / 8.0, -1) @ value).transpose(1, 2).flatten(2)
            first = layer.norm1(tokens + layer.self_attn.out_proj(seen))
            wanted = layer.norm2(first + layer.linear2(torch.relu(layer.linear1(first))))
            assert torch.allclose(layer(tokens, None, place), wanted, atol=1e-5)

    def test_rows_come_first(self) -> None:
        maps = torch.arange(6.0).view(1, 1, 2, 3)
        assert _tokens(maps)[0, :, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_dropout_in_training_only(model: StyTr2) -> None:
    content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
    with torch.no_grad():
        assert torch.equal(model.eval().transfer(content, style), model.transfer(content, style))
        assert not torch.equal(model.train().transfer(content, style), model.transfer(content, style))
    model.eval()


class TestTraining:
    def test_all_but_the_loss_network_learns(self) -> None:
        content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
        model = fresh()
        kit.check_gradients(model, content, style)
        kit.check_step(model, content, style)

    def test_losses(self, model: StyTr2, monkeypatch: pytest.MonkeyPatch) -> None:
        content, style = kit.tiles(1, 32), kit.tiles(1, 32, seed=1)
        monkeypatch.setattr(StyTr2, "transfer", lambda *given: given[2])  # style copied: identities are perfect
        (step,) = model.training_step(content, style, 0)
        assert step.parts["identity_pixels"].item() == step.parts["identity_features"].item() == step.parts["style"].item() == 0.0
        assert step.loss.item() == pytest.approx(7 * step.parts["content"].item())

    def test_it_learns(self) -> None:
        images = kit.real_tiles(2, 32)
        kit.check_learns(fresh(), images[:1], images[1:], steps=7, rate=2e-3, key="identity_pixels")

    def test_recipe_and_rate_are_the_sheets(self) -> None:
        assert StyTr2.defaults == TrainingRecipe(batch=8, iterations=160_000, rate=5e-4, decay=0.0)
        rate = warmed_up(5e-4)
        assert rate(159_999) == pytest.approx(8.0e-5, rel=1e-4)


def test_official(tmp_path: Path) -> None:
    kit.check_official(fresh, tmp_path)
