"""What every method inherits: the check of images, padding, parts, and strict official files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import ImageError, OptionError, RecoloristError
from recolorist_lab.baselines.base import Baseline, frozen, trained_parameters
from recolorist_lab.baselines.recipe import TrainingRecipe
from tests.lab.baselines import kit
from tests.lab.baselines.small import Small, fresh


class TestStylise:
    def test_the_checks_of_every_method(self) -> None:
        model = fresh()
        kit.check_images(model, [(1, 1), (6, 6), (5, 40), (33, 47)], style_size=(7, 3))
        kit.check_batch_is_loop(model)
        kit.check_follows(model)

    def test_dropout_rests_and_the_mode_comes_back_even_after_an_error(self) -> None:
        class Broken(Small):
            def transfer(self, content: Tensor, style: Tensor) -> Tensor:
                raise RuntimeError(f"{content.shape} {style.shape}")

        image = kit.tiles(1, 16)
        model = fresh().train()
        assert torch.equal(model.stylise(image, image), model.stylise(image, image))
        broken = fresh(Broken).train()
        with pytest.raises(RuntimeError, match="16, 16"):
            broken.stylise(image, image)
        assert broken.training

    def test_the_network_sees_sides_of_the_right_multiple(self) -> None:
        seen = []

        class Spy(Small):
            def transfer(self, content: Tensor, style: Tensor) -> Tensor:
                seen.append((tuple(content.shape[-2:]), tuple(style.shape[-2:])))
                return super().transfer(content, style)

        fresh(Spy).stylise(kit.tiles(1, (5, 17)), kit.tiles(1, (12, 9)))
        assert seen == [((8, 20), (12, 12))]

    def test_a_method_that_takes_one_style_says_so(self) -> None:
        image = kit.tiles(1, 16)
        with pytest.raises(OptionError, match="Small takes one style at a time, not 2"):
            fresh().stylise_mix(image, [image, image], [1, 1])
        for styles, weights in (([], []), ([image], [1, 2]), ([image], [-1]), ([image], [0])):
            with pytest.raises(OptionError, match="weight"):
                fresh().stylise_mix(image, styles, weights)

    def test_other_floats_are_cast_and_come_back_as_they_were(self) -> None:
        model, image = fresh(), kit.tiles(1, 16)
        wanted = model.stylise(image, image)
        for dtype in (torch.float64, torch.float16):
            out = model.stylise(image.to(dtype), image)
            assert out.dtype == dtype
            assert torch.allclose(out.float(), wanted, atol=2e-3)

    def test_forward_is_transfer(self) -> None:
        model, image = fresh().eval(), kit.tiles(1, 16)
        assert torch.equal(model(image, image), model.transfer(image, image))


class TestParts:
    def test_counts_and_freezing(self) -> None:
        model = fresh()
        kit.check_counts(model, {"encoder": 112, "decoder": 111, "critic": 49})
        assert len(trained_parameters(model, ["encoder", "decoder"])) == 2
        assert not any(value.requires_grad for value in frozen(nn.Linear(1, 1)).parameters())

    def test_used_as_published_means_not_trained(self) -> None:
        class Published(Small):
            training_step = Baseline.training_step

        with pytest.raises(OptionError, match="used as published"):
            fresh(Published).training_step(kit.tiles(1), kit.tiles(1), 0)

    def test_the_common_optimiser_is_adam_on_trained_parts_with_the_shared_decay(self) -> None:
        model = fresh()
        made = Baseline.configure_optimiser(model, TrainingRecipe())["main"]
        held = [value for group in made.optimiser.param_groups for value in group["params"]]
        wanted = [*model.decoder.parameters(), *model.critic.parameters()]
        assert [id(value) for value in held] == [id(value) for value in wanted]
        assert made.optimiser.defaults["betas"] == (0.9, 0.999)
        assert made.optimiser.defaults["weight_decay"] == 0
        assert (made.rate(0), made.rate(20_000)) == (1e-4, 5e-5)
        assert made.clip == 0.0


class TestOfficial:
    def test_the_check_of_every_method(self, tmp_path: Path) -> None:
        kit.check_official(lambda seed: fresh(seed=seed), tmp_path, size=16)

    def test_required_files_are_required_and_others_not(self, tmp_path: Path) -> None:
        model = fresh()
        path = tmp_path / "decoder.pth"
        torch.save(fresh(seed=5).decoder.state_dict(), path)
        before = kit.snapshot(model.encoder)
        model.load_official({"decoder": path})
        assert not kit.changed(model.encoder, before)
        with pytest.raises(OptionError, match=r"needs the official file for 'decoder' \(decoder.pth"):
            model.load_official({})

    def test_a_checkpoint_with_several_dictionaries_needs_its_entry(self, tmp_path: Path) -> None:
        torch.save({"state_dict": fresh().decoder.state_dict(), "iter": 3}, tmp_path / "decoder.pth")
        with pytest.raises(RecoloristError):
            fresh().load_official({"decoder": tmp_path / "decoder.pth"})

        class Nested(Small):
            official = (Small.official[0]._replace(entry="state_dict"),)

        model = fresh(Nested, seed=4)
        model.load_official({"decoder": tmp_path / "decoder.pth"})
        assert not kit.changed(model.decoder, fresh().decoder.state_dict())
        torch.save(fresh(seed=7).decoder.state_dict(), tmp_path / "bare.pth")
        model.load_official({"decoder": tmp_path / "bare.pth"})
        assert not kit.changed(model.decoder, fresh(seed=7).decoder.state_dict())


def test_bad_images_are_told_apart() -> None:
    image = kit.tiles(1, 16)
    with pytest.raises(ImageError, match="content has values from 0"):
        fresh().stylise(image / image.max() * 1.01, image)
    with pytest.raises(ImageError, match="divide 8-bit pixels by 255"):
        fresh().stylise(image, image.mul(255).byte())
