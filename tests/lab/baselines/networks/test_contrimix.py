"""ContriMix against its sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.contrimix import (
    ContriMix,
    generate,
    reconstruction_loss,
    similarity_loss,
    to_absorbance,
    to_transmittance,
)
from tests.lab.baselines import kit


def fresh(seed: int = 0, **options: Any) -> ContriMix:
    made = build("contrimix", encoder="random", seed=seed, **options)
    assert isinstance(made, ContriMix)
    return made


@pytest.fixture(scope="module")
def model() -> ContriMix:
    return fresh(stains=5)


@pytest.mark.parametrize(
    ("stains", "content", "attribute"), [(4, 1_108, 2_541_028), (5, 1_509, 2_542_573), (16, 10_672, 2_559_568)]
)
def test_counts(stains: int, content: int, attribute: int) -> None:
    with torch.device("meta"):
        kit.check_counts(fresh(stains=stains), {"content_encoder": content, "attribute_encoder": attribute})


def test_images(model: ContriMix) -> None:
    kit.check_images(model, sizes=((64, 64), (70, 90), (5, 40)), style_size=(66, 80))
    kit.check_batch_is_loop(model, 64, tolerance=1e-4)  # powers of ten magnify the rounding of absorbances up to 14 times
    kit.check_follows(model, 64)


def test_shapes_at_the_native_size(model: ContriMix) -> None:
    image = kit.tiles(1, ContriMix.native_size)
    with torch.no_grad():
        assert model.content_encoder(image).shape == (1, 5, 224, 224)
        assert model.attribute_encoder(image).shape == (1, 3, 5)
        assert model.transfer(image, image).shape == (1, 3, 224, 224)


class TestOptics:
    def test_there_and_back(self) -> None:
        light = torch.logspace(-6, 0, 200, dtype=torch.float64)
        assert torch.allclose(to_transmittance(to_absorbance(light)), light, atol=1e-6)

    def test_the_ends(self) -> None:
        assert to_absorbance(torch.zeros(1)).item() == 6.0
        assert to_transmittance(torch.tensor(-1.0)).item() == pytest.approx(10**0.2)
        assert to_transmittance(torch.tensor(9.0)).item() == pytest.approx(1e-6)

    def test_without_it_the_light_itself_is_used(self) -> None:
        plain = fresh(stains=3, absorbance=False)
        image = kit.tiles(1, 64)
        with torch.no_grad():
            wanted = generate(plain.content_encoder(image), plain.attribute_encoder(image))
            assert torch.equal(plain.transfer(image, image), wanted)


class TestGenerator:
    def test_bilinear(self) -> None:
        maps, stain = torch.rand(2, 5, 8, 9), torch.rand(2, 3, 5)
        out = generate(maps, stain)
        assert torch.allclose(generate(2 * maps, stain), 2 * out)
        assert torch.allclose(generate(maps, 2 * stain), 2 * out)

    def test_a_pixel_depends_on_its_own_abundances_alone(self) -> None:
        maps, stain = torch.rand(1, 5, 8, 9), torch.rand(1, 3, 5)
        other = maps.clone()
        other[0, :, 3, 4] += 1
        changed = (generate(maps, stain) != generate(other, stain)).any(1)[0]
        assert changed.nonzero().tolist() == [[3, 4]]

    def test_its_own_stain_reconstructs(self, model: ContriMix) -> None:
        image = kit.tiles(2, 64)
        seen = to_absorbance(image)
        with torch.no_grad():
            again = to_transmittance(generate(model.content_encoder(seen), model.attribute_encoder(seen)))
            assert torch.equal(model.transfer(image, image), again)


def test_a_stain_does_not_feel_the_batch(model: ContriMix) -> None:
    images = to_absorbance(kit.tiles(8, 64))
    with torch.no_grad():
        alone = torch.cat([model.attribute_encoder(one[None]) for one in images])
        assert torch.allclose(model.attribute_encoder(images), alone, atol=1e-5)


class TestLosses:
    def test_reconstruction_weighs_the_worst_picture(self) -> None:
        image, made = torch.zeros(3, 3, 4, 5), torch.zeros(3, 3, 4, 5)
        made[1] = 0.5
        assert reconstruction_loss(made, image).item() == pytest.approx(0.2 * 0.5 + 0.8 * 0.5 / 3)
        made[1, :, :2] = 0  # half of the picture: its ninth decile stays
        assert reconstruction_loss(made, image).item() == pytest.approx(0.2 * 0.5 + 0.8 * 0.25 / 3)

    def test_similarity_of_equal_and_of_far_stains(self) -> None:
        equal = torch.ones(2, 4, 15)
        assert similarity_loss(equal).item() == pytest.approx(3 / 4)
        assert similarity_loss(torch.randn(2, 4, 15) * 50).item() < 1e-6

    def test_similarity_of_two_by_hand(self) -> None:
        pair = torch.tensor([[[0.0, 0.0], [0.03, 0.04]]])
        assert similarity_loss(pair).item() == pytest.approx(0.5 * torch.exp(torch.tensor(-0.5)).item())

    def test_similarity_has_a_gradient_where_two_are_equal(self) -> None:
        stains = torch.ones(1, 3, 6, requires_grad=True)
        similarity_loss(stains).backward()
        assert stains.grad is not None
        assert bool(stains.grad.isfinite().all())


class TestTraining:
    def test_only_the_encoders_learn_and_all_of_them_do(self) -> None:
        images = kit.tiles(3, 64)
        kit.check_gradients(fresh(stains=4), images, images)
        kit.check_step(fresh(stains=4), images, images)

    def test_the_total_is_the_weighted_sum(self) -> None:
        model = fresh(stains=4)
        (step,) = model.training_step(kit.tiles(3, 64), kit.tiles(3, 64), 0)
        wanted = 0.6 * step.parts["reconstruction"] + 0.1 * step.parts["attribute"]
        wanted = wanted + 0.2 * step.parts["content"] + 0.05 * step.parts["similarity"]
        assert step.loss.item() == pytest.approx(wanted.item(), rel=1e-6)

    def test_it_learns_to_reconstruct(self) -> None:
        images = kit.real_tiles(4, 64)
        kit.check_learns(fresh(stains=4, mixes=1), images, images, steps=30, rate=2e-3, key="reconstruction")

    def test_recipe_is_the_sheets(self) -> None:
        recipe = ContriMix.defaults.resolved(95)
        assert (recipe.iterations, recipe.clip, recipe.paired) == (300, 0.5, False)
        optimiser, rate, clip = fresh(stains=4).configure_optimiser(recipe)["main"]
        assert optimiser.param_groups[0]["weight_decay"] == 0.01
        assert clip == 0.5
        assert [rate(step) for step in range(4)] == pytest.approx([0.0, 1e-4 / 3, 2e-4 / 3, 1e-4])
        assert rate(300) == 0.0

    def test_options_are_checked(self) -> None:
        with pytest.raises(OptionError, match="whole numbers from 1"):
            fresh(stains=0)


class TestOfficial:
    def test_layout(self) -> None:
        with torch.device("meta"):
            model = fresh()
        names = [name.removeprefix("_models_by_names.cont_enc.module.") for name in model.to_official("content_encoder")]
        stems = ["_model.0._model.0", "_model.1._model.0", *(f"_model.{i}._model.{j}" for i in (2, 3) for j in (0, 3))]
        assert names == [f"{stem}.{kind}" for stem in stems for kind in ("weight", "bias")]
        assert len(model.to_official("attribute_encoder")) == 36
        norm = model.to_official("attribute_encoder")["_models_by_names.attr_enc.module._model.8.weight"]
        assert norm.shape == (48, 1, 1)

    def test_one_checkpoint_fills_both(self, tmp_path: Path) -> None:
        donor, heir = fresh(1), fresh(2)
        content, style = kit.tiles(1, 64), kit.tiles(1, 64, seed=1)
        wanted = donor.stylise(content, style)
        assert not torch.equal(heir.stylise(content, style), wanted)
        state = donor.to_official("content_encoder") | donor.to_official("attribute_encoder")
        whole = state | {"_models_by_names.backbone.module.fc.weight": torch.zeros(2, 2)}
        path = tmp_path / "checkpoint.pth"
        torch.save({"algorithm": whole, "epoch": 19, "best_val_metric": 0.5}, path)
        files = {"content_encoder": path, "attribute_encoder": path}
        heir.load_official(files)
        assert torch.equal(heir.stylise(content, style), wanted)

    def test_a_wrong_one_is_refused_and_changes_nothing(self, tmp_path: Path) -> None:
        donor, heir = fresh(1), fresh(2)
        state = donor.to_official("content_encoder") | donor.to_official("attribute_encoder")
        before, path = kit.snapshot(heir), tmp_path / "checkpoint.pth"
        last = list(state)[-1]
        for wrong in (
            {name: value for name, value in state.items() if name != last},
            state | {"stranger": torch.zeros(1)},
            state | {last: torch.zeros(7)},
        ):
            torch.save({"algorithm": wrong}, path)
            with pytest.raises(RecoloristError):
                heir.load_official({"content_encoder": path, "attribute_encoder": path})
            assert not kit.changed(heir, before)
