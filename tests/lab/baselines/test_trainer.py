"""The trainer: optimisers in turn, the schedule, exact resume, accumulation, divergence; and files of weights."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import layout
from recolorist_lab.baselines.crops import Images
from recolorist_lab.baselines.recipe import TrainingRecipe, constant
from recolorist_lab.baselines.trainer import BaselineTrainer, DivergedError, device_of
from tests.lab.baselines import kit
from tests.lab.baselines.small import RECIPE, Plain, Small, trainer


def bits(one: BaselineTrainer) -> dict[str, torch.Tensor]:
    return kit.snapshot(one.model)


def same(one: BaselineTrainer, other: BaselineTrainer) -> bool:
    return not kit.changed(other.model, bits(one))


class TestSteps:
    def test_optimisers_step_in_turn_at_their_rates(self, images: Images) -> None:
        one = trainer(images)
        before = bits(one)
        record = one.advance()
        assert kit.changed(one.model, before) == {"decoder.1.weight", "decoder.1.bias", "critic.weight", "critic.bias"}
        assert set(record.loss) == {"main", "critic"}
        assert set(record.parts) == {"judge", "kept", "fooled"}
        assert record.rate == {"main": 1e-2, "critic": 1e-2}
        one.advance()
        assert one.advance().rate["main"] == pytest.approx(1e-2 / 1.2)
        assert one.optimisers["main"].optimiser.param_groups[0]["lr"] == pytest.approx(1e-2 / 1.2)

    def test_the_critic_is_updated_before_it_is_asked(self, images: Images) -> None:
        """With the critic's rate at 0 the generator sees another critic, so its loss differs at the very first step."""

        class Still(Small):
            def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Any]:
                made = super().configure_optimiser(recipe)
                return {**made, "critic": made["critic"]._replace(rate=constant(0.0))}

        moving, still = trainer(images).advance(), trainer(images, Still).advance()
        assert moving.parts["judge"] == still.parts["judge"]
        assert moving.parts["fooled"] != still.parts["fooled"]

    def test_it_looks_at_the_data_once(self, images: Images) -> None:
        one = trainer(images)
        for _ in range(3):
            one.advance()
        assert isinstance(one.model, Small)
        assert one.model.prepared == 1
        assert one.model.seen == [(0, 4, 4), (1, 4, 4), (2, 4, 4)]

    def test_torchs_generator_is_left_alone_and_does_not_matter(self, images: Images) -> None:
        torch.manual_seed(11)
        before = torch.get_rng_state()
        one = trainer(images)
        first = one.advance()
        assert torch.equal(before, torch.get_rng_state())
        torch.manual_seed(12)
        assert trainer(images).advance() == first
        assert trainer(images, seed=1).advance() != first

    def test_clipping(self, images: Images) -> None:
        free, bound = (trainer(images, Plain, RECIPE.but(clip=clip, rate=1.0)) for clip in (None, 1e-3))
        for one in (free, bound):
            before = bits(one)
            one.advance()
            moved = [value - before[name] for name, value in one.model.state_dict().items()]
            norm = float(torch.cat([value.flatten() for value in moved]).norm())
            assert norm == pytest.approx(1e-3, rel=1e-2) if one is bound else norm > 1e-2

    def test_parts_of_a_batch_add_up_to_the_whole(self, images: Images) -> None:
        whole, parts = (trainer(images, Plain, RECIPE.but(accumulate=count)) for count in (1, 4))
        for _ in range(3):
            first, second = whole.advance(), parts.advance()
            assert first.loss["main"] == pytest.approx(second.loss["main"], rel=1e-5)
        assert isinstance(parts.model, Plain)
        assert parts.model.seen[:4] == [(0, 1, 1)] * 4
        for name, value in whole.model.state_dict().items():
            assert torch.allclose(value, parts.model.state_dict()[name], atol=1e-6)

    def test_accumulation_is_for_one_loss_only(self, images: Images) -> None:
        with pytest.raises(OptionError, match="accumulate must be 1"):
            trainer(images, Small, RECIPE.but(accumulate=2)).advance()

    def test_unpaired_methods_get_the_contents_twice(self, images: Images) -> None:
        one = trainer(images, Plain, RECIPE.but(paired=False))
        content, style = one.pair(0)
        assert style is content
        paired = trainer(images, Plain).pair(0)
        assert torch.equal(paired[0], content)
        assert not torch.equal(paired[1], content)

    def test_methods_may_ask_for_other_numbers(self, images: Images) -> None:
        class More(Small):
            distinct_draws: ClassVar = True

            def draws(self, recipe: TrainingRecipe) -> tuple[int, int]:
                return recipe.batch + 1, recipe.batch + 2

        one = trainer(images, More)
        assert [len(batch) for batch in one.pair(1)] == [5, 6]
        with pytest.raises(OptionError, match="different images"):
            trainer(images, More, RECIPE.but(batch=6))


class TestRefusals:
    def test_divergence_names_the_step_and_spares_the_weights(self, images: Images) -> None:
        one = trainer(images, bad_at=2)
        one.advance()
        one.advance()
        before = kit.snapshot(one.model.parts()["decoder"])
        with pytest.raises(DivergedError, match=r"Small: the loss 'main' is nan at step 2 \(kept "):
            one.advance()
        assert not kit.changed(one.model.parts()["decoder"], before)

    def test_small_crops(self, images: Images) -> None:
        for side in (4, 10):
            with pytest.raises(OptionError, match="at least 8 pixels a side and be a multiple of 4"):
                trainer(images, recipe=RECIPE.but(crop_size=side))

    def test_devices(self) -> None:
        assert device_of("auto") in {"cpu", "cuda"}
        for wrong in ("gpu", "cuda:99"):
            with pytest.raises(OptionError, match="not available on this machine"):
                device_of(wrong)


class TestState:
    @pytest.mark.parametrize("kind", [Small, Plain])
    def test_resume_is_exact(self, images: Images, kind: type[Small]) -> None:
        straight, broken = trainer(images, kind), trainer(images, kind)
        records = [straight.advance() for _ in range(6)]
        assert [broken.advance() for _ in range(3)] == records[:3]
        data = broken.state()
        again = trainer(images, kind)
        again.restore(data)
        assert again.step == 3
        assert [again.advance() for _ in range(3)] == records[3:]
        assert same(straight, again)
        assert again.state() == straight.state()
        assert isinstance(again.model, Small)
        assert again.model.prepared == 0

    def test_states_of_others_are_refused(self, images: Images) -> None:
        one = trainer(images)
        one.advance()
        data = one.state()
        with pytest.raises(layout.LayoutError, match="not belong to this run"):
            trainer(images, seed=1).restore(data)
        with pytest.raises(layout.LayoutError, match="not belong to this run"):
            trainer(images, Plain).restore(data)
        for bad in (b"", data[:-5], b"{}" * 50):
            with pytest.raises(RecoloristError):
                trainer(images).restore(bad)

    def test_nothing_is_pickled(self, images: Images) -> None:
        data = trainer(images).state()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        assert set(header) - {"__metadata__"} >= {"decoder/1.weight", "random/cpu"}


def test_epochs_count_images(images: Images) -> None:
    assert trainer(images, Plain, RECIPE.but(epochs=2)).recipe.iterations == 2 * -(-len(images) // 4)
