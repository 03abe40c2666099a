"""The best epoch by the loss on images that are not trained on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from recolorist_lab.baselines import store
from recolorist_lab.baselines.crops import Images, images_of
from recolorist_lab.baselines.selection import Selection
from recolorist_lab.baselines.trainer import BaselineTrainer
from tests.lab.baselines import kit
from tests.lab.baselines.small import RECIPE, fresh

CPU = torch.device("cpu")
BEST = replace(RECIPE, keep="best", iterations=12)


@pytest.fixture(scope="module")
def held() -> Images:
    return images_of("synthetic:hospitals=3,tiles=6,size=24", split="val")


def trainer(images: Images, held: Images | None, seed: int = 0) -> BaselineTrainer:
    return BaselineTrainer(fresh(), images, BEST, seed=seed, validation=held)


def test_measuring_repeats_and_disturbs_nothing(held: Images) -> None:
    model = fresh().train()
    before, state = kit.snapshot(model), torch.random.get_rng_state()
    selection = Selection(model, held, BEST, seed=0)
    assert selection.measure(CPU) == selection.measure(CPU)
    assert not kit.changed(model, before)
    assert torch.equal(state, torch.random.get_rng_state())
    assert model.training
    selection.close()


def test_only_a_lower_loss_is_kept(held: Images, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fresh()
    selection = Selection(model, held, BEST, seed=0)
    losses = iter([3.0, 1.0, 2.0, math.nan])
    monkeypatch.setattr(selection, "measure", lambda _: next(losses))
    for step, seed in enumerate((1, 2, 3, 4)):
        model.load_state_dict(fresh(seed=seed).state_dict())
        selection.offer(step, CPU)
    assert (selection.loss, selection.step) == (1.0, 1)
    selection.use()
    assert not kit.changed(model.decoder, fresh(seed=2).decoder.state_dict())
    selection.close()


def test_a_run_keeps_its_best_epoch_and_says_which(images: Images, held: Images) -> None:
    run = trainer(images, held)
    seen: dict[int, float] = {}
    weights: dict[int, bytes] = {}
    for _ in range(BEST.iterations):
        run.advance()
        assert run.selection is not None
        if run.selection.step == run.step:
            seen[run.step] = run.selection.loss
            weights[run.step] = store.file_of(run.model)
    kept = run.finish()
    assert kept == {"keep": "best", "step": max(seen), "validation_loss": min(seen.values())}
    assert store.file_of(run.model) == weights[kept["step"]]
    run.close()


def test_without_such_images_the_last_step_is_kept(images: Images) -> None:
    run = trainer(images, None)
    run.advance()
    before = kit.snapshot(run.model)
    assert run.finish() == {"keep": "last", "step": 1}
    assert not kit.changed(run.model, before)
    run.close()


def test_a_resumed_run_remembers_its_best(images: Images, held: Images) -> None:
    whole, half = trainer(images, held), trainer(images, held)
    for _ in range(BEST.iterations):
        whole.advance()
    for _ in range(6):
        half.advance()
    again = trainer(images, held)
    again.restore(half.state())
    for _ in range(BEST.iterations - 6):
        again.advance()
    assert again.finish() == whole.finish()
    assert store.file_of(again.model) == store.file_of(whole.model)
    for run in (whole, half, again):
        run.close()
