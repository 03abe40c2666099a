"""IB-ERM against its equation, written out a second time on small tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from recolorist_lab.training.algorithms.erm import ERM
from recolorist_lab.training.algorithms.ib_erm import ANNEAL, IBERM, LAMBDA, spread
from tests.lab.training.algorithms.parts import ONE, D, N, batch, ce, network


class TestIbErm:
    def test_until_the_penalty_comes_in_it_is_erm_to_the_last_bit(self) -> None:
        net = network()
        images, labels, _ = batch()
        one = torch.zeros(N, dtype=torch.int64)
        algorithm, plain = IBERM(net, ONE), ERM(net, ONE)(images, labels, one).loss
        for count in (0, 1, ANNEAL - 1):
            algorithm.counter.fill_(count)
            assert torch.equal(algorithm(images, labels, one).loss, plain)
        algorithm.updated()
        assert int(algorithm.counter) == ANNEAL
        assert not torch.equal(algorithm(images, labels, one).loss, plain)

    @pytest.mark.parametrize(("variant", "weight"), [("upstream", 100.0), ("authors", 0.001)])
    def test_the_penalty_is_the_mean_over_domains_of_the_unbiased_variance(self, variant: Any, weight: float) -> None:
        assert LAMBDA[variant] == weight
        net = network()
        images, labels, domains = batch(domains=3)
        algorithm = IBERM(net, ONE, variant)
        algorithm.counter.fill_(ANNEAL)
        features = net.features(images)
        logits = net.head(features)
        nll = sum(ce(logits[domains == e], labels[domains == e]) for e in range(3)) / 3
        var = np.mean([features[domains == e].detach().numpy().var(axis=0, ddof=1).mean() for e in range(3)])
        torch.testing.assert_close(algorithm(images, labels, domains).loss, nll + weight * torch.tensor(var))

    def test_equal_features_cost_nothing_and_one_image_has_no_variance(self) -> None:
        assert float(spread(torch.ones(5, D))) == 0.0
        assert float(spread(torch.randn(1, D))) == 0.0

    def test_upstream_the_optimiser_starts_afresh_once(self) -> None:
        for variant, wanted in (("upstream", [False, True, False]), ("authors", [False, False, False])):
            algorithm = IBERM(network(), ONE, variant)  # type: ignore[arg-type]
            algorithm.counter.fill_(ANNEAL - 1)
            seen = []
            for _ in range(3):
                seen.append(algorithm.refreshes())
                algorithm.updated()
            assert seen == wanted

    def test_the_counter_survives_a_checkpoint(self) -> None:
        assert "counter" in IBERM(network(), ONE).state_dict()
