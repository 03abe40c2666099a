"""How labels are read, and what every algorithm does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from recolorist_lab.training.algorithms import ALGORITHMS, class_of, module_of
from recolorist_lab.training.algorithms.ib_erm import ANNEAL, IBERM
from recolorist_lab.training.optimise import adamw
from recolorist_lab.training.settings import Settings
from tests.lab.training.algorithms.parts import MANY, ONE, K, N, batch, ce, network


class TestTask:
    def test_losses_are_the_textbook_ones(self) -> None:
        logits = torch.randn(N, K)
        _, labels, _ = batch()
        torch.testing.assert_close(ONE.loss(logits, labels), ce(logits, labels))
        torch.testing.assert_close(ONE.losses(logits, labels).mean(), ONE.loss(logits, labels))
        _, several, _ = batch(multilabel=True)
        chance = logits.sigmoid()
        binary = -(several * chance.log() + (1 - several) * (1 - chance).log())
        torch.testing.assert_close(MANY.loss(logits, several), binary.mean())
        torch.testing.assert_close(MANY.losses(logits, several).mean(), binary.mean())

    def test_groups_are_images_with_the_same_labels(self) -> None:
        assert [places.tolist() for places in ONE.groups(torch.tensor([2, 0, 2]))] == [[1], [0, 2]]
        several = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
        assert sorted(places.tolist() for places in MANY.groups(several)) == [[0, 2], [1]]


class TestAll:
    @pytest.mark.parametrize("name", ALGORITHMS)
    def test_each_is_defined_in_the_module_that_the_table_names(self, name: str) -> None:
        assert class_of(name).__module__ == module_of(name)

    @pytest.mark.parametrize("name", ALGORITHMS)
    @pytest.mark.parametrize("variant", ["upstream", "authors"])
    @pytest.mark.parametrize("multilabel", [False, True])
    def test_one_step_moves_the_features_and_has_a_finite_loss(self, name: str, variant: str, *, multilabel: bool) -> None:
        algorithm: Any = class_of(name)(network(), MANY if multilabel else ONE, variant)  # type: ignore[arg-type]
        if isinstance(algorithm, IBERM):
            algorithm.counter += ANNEAL
        optimiser = adamw(algorithm, Settings("synthetic", 0))
        before = algorithm.network.body.weight.clone()
        outcome = algorithm(*batch(multilabel=multilabel, domains=3))
        outcome.loss.backward()
        optimiser.step()
        assert torch.isfinite(outcome.loss)
        assert outcome.logits.shape == (N, K)
        assert not torch.equal(before, algorithm.network.body.weight)

    @pytest.mark.parametrize("name", ALGORITHMS)
    def test_one_source_and_three_give_the_same_loss_where_domains_play_no_part(self, name: str) -> None:
        algorithm: Any = class_of(name)(network(), ONE, "upstream")
        images, labels, _ = batch()
        losses = []
        for domains in (torch.zeros(N, dtype=torch.int64), torch.arange(N) % 2):  # both halves hold each class equally often
            torch.manual_seed(5)
            losses.append(algorithm(images, labels, domains).loss)
        torch.testing.assert_close(*losses)
