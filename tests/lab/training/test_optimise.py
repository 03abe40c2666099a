"""Learning rates, parameter groups, and what settings are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from timm.optim._param_groups import param_groups_weight_decay
from timm.scheduler.cosine_lr import CosineLRScheduler
from torch import nn

from recolorist.errors import OptionError
from recolorist_lab.runs.seeds import SEEDS
from recolorist_lab.training.models import build
from recolorist_lab.training.optimise import BETAS, EPS, adamw, rate, set_rate
from recolorist_lab.training.settings import Settings

PAPER = Settings("pathmnist", SEEDS[0])
LAB = Settings("pathmnist", SEEDS[0], warmup_epochs=5, floor_rate=1e-6)


def trace(settings: Settings) -> list[float]:
    return [rate(settings, epoch) for epoch in range(settings.epochs)]


class TestRate:
    def test_the_papers_hundred_epochs(self) -> None:
        found = trace(PAPER)
        assert found[0] == 1e-3
        np.testing.assert_allclose([found[1], found[2], found[50]], [0.00099975, 0.000999, 0.0005], atol=1e-6)
        wanted = [0.5e-3 * (1 + math.cos(math.pi * epoch / 100)) for epoch in range(100)]
        np.testing.assert_allclose(found, wanted, atol=1e-7)

    def test_it_is_torchs_cosine(self) -> None:
        optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1e-3)
        theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=100)
        for epoch in range(100):
            assert optimiser.param_groups[0]["lr"] == pytest.approx(rate(PAPER, epoch), abs=1e-9)
            optimiser.step()
            theirs.step()

    @pytest.mark.parametrize(
        ("settings", "options"), [(PAPER, {}), (LAB, {"warmup_t": 5, "warmup_lr_init": 1e-5, "lr_min": 1e-6})]
    )
    def test_it_is_timms_scheduler(self, settings: Settings, options: dict[str, Any]) -> None:
        optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1e-3)
        theirs = CosineLRScheduler(optimiser, t_initial=100, **options)
        for epoch in range(100):
            assert optimiser.param_groups[0]["lr"] == pytest.approx(rate(settings, epoch), abs=1e-9)
            theirs.step(epoch + 1)

    def test_the_warm_up_of_the_authors_other_code(self) -> None:
        wanted = [1e-5, 2.08e-4, 4.06e-4, 6.04e-4, 8.02e-4, 9.94e-4]
        np.testing.assert_allclose(trace(LAB)[:6], wanted, atol=5e-7)


class TestAdamW:
    def test_nothing_of_one_dimension_decays(self) -> None:
        with torch.device("meta"):
            net = build("densenet121", 9, own_head=False)
        optimiser = adamw(net, PAPER)
        decayed, rest = optimiser.param_groups
        assert (decayed["weight_decay"], rest["weight_decay"]) == (0.01, 0.0)
        assert all(one.ndim > 1 for one in decayed["params"])
        assert all(one.ndim == 1 for one in rest["params"])
        assert len(decayed["params"]) + len(rest["params"]) == len(list(net.parameters()))
        assert decayed["betas"] == BETAS == (0.9, 0.999)
        assert decayed["eps"] == EPS == 1e-8

    @pytest.mark.parametrize("name", ["densenet121", "test_vit"])
    def test_groups_are_timms(self, name: str) -> None:
        with torch.device("meta"):
            net = build(name, 3, own_head=False)
        exempt = net.net.no_weight_decay() if hasattr(net.net, "no_weight_decay") else ()
        groups = param_groups_weight_decay(net.net, 0.01, no_weight_decay_list=exempt)
        theirs = {group["weight_decay"]: group["params"] for group in groups}
        for group in adamw(net, PAPER).param_groups:
            assert {id(one) for one in group["params"]} == {id(one) for one in theirs[group["weight_decay"]]}

    def test_the_rate_is_set_in_both_groups(self) -> None:
        optimiser = adamw(nn.Linear(2, 2), PAPER)
        set_rate(optimiser, 0.5)
        assert [group["lr"] for group in optimiser.param_groups] == [0.5, 0.5]


class TestSettings:
    def test_the_defaults_are_the_papers(self) -> None:
        wanted = {
            "model": "densenet121",
            "learning_rate": 1e-3,
            "batch": 256,
            "epochs": 100,
            "patience": 15,
            "size": 224,
            "weight_decay": 0.01,
            "clip_norm": 1.0,
            "precision": "32-true",
            "variant": "upstream",
        }
        assert {name: getattr(PAPER, name) for name in wanted} == wanted
        assert SEEDS == (71397589, 133560673, 265017005)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"algorithm": "irm"}, "'irm' is unknown"),
            ({"augmentation": "colour_jitter"}, "did you mean 'color_jitter'"),
            ({"precision": "8-true"}, "'8-true' is unknown"),
            ({"keep": "first"}, "'first' is unknown"),
            ({"probability": 1.5}, "from 0 to 1"),
            ({"augmentation": "colorist+random_flip", "probability": 0.5}, "in parentheses"),
            ({"epochs": 0}, "at least 1"),
            ({"weight_decay": -0.1}, "at least 0"),
            ({"learning_rate": 0.0}, "positive"),
            ({"warmup_epochs": 100}, "leaves nothing"),
            ({"batch": 3, "accumulate": 2}, "at least two images"),
            ({"source_share": 1.0}, "leave images to train on"),
            ({"validation": "train", "validation_share": 0.0}, "validation_share"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            Settings(**{"dataset": "synthetic", "seed": 0, **change})

    def test_a_model_that_is_not_timms_is_refused_with_its_neighbours(self) -> None:
        with pytest.raises(OptionError, match="densenet121"):
            build("densnet121", 2, own_head=False)
