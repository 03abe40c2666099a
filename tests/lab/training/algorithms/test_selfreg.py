"""SelfReg against its equation, written out a second time on small tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recolorist_lab.training.algorithms.selfreg import Partners, SelfReg, dissimilarity, projection
from recolorist_lab.training.optimise import adamw
from recolorist_lab.training.settings import Settings
from tests.lab.training.algorithms.parts import ONE, K, batch, ce, network


class TestSelfReg:
    @pytest.mark.parametrize("variant", ["upstream", "authors"])
    def test_it_is_the_equation(self, variant: Any) -> None:
        net = network()
        algorithm = SelfReg(net, ONE, variant)
        images, labels, domains = batch()
        torch.manual_seed(11)
        p, q, lam = algorithm.partners(labels)
        F = net.features(images)
        Z, P = net.head(F), algorithm.projection(F)
        R = P if variant == "authors" else F
        mse = lambda a, b: ((a - b) ** 2).mean()  # noqa: E731
        A, B = mse(Z, Z[p]), mse(Z, lam * Z[p] + (1 - lam) * Z[q])
        C, D_ = 0.3 * mse(R, P[p]), 0.3 * mse(R, lam * P[p] + (1 - lam) * P[q])
        loss = ce(Z, labels)
        wanted = loss + min(float(loss.detach()), 1.0) * (lam * (A + C) + (1 - lam) * (B + D_))
        torch.manual_seed(11)
        found = algorithm(images, labels, domains).loss
        torch.testing.assert_close(found, wanted)
        assert found >= loss

    def test_partners_are_of_the_same_class_and_a_class_of_one_is_its_own(self) -> None:
        algorithm = SelfReg(network(), ONE)
        labels = torch.tensor([0, 1, 0, 2, 0, 0, 1])
        for _ in range(20):
            first, second, share = algorithm.partners(labels)
            assert torch.equal(labels[first], labels)
            assert torch.equal(labels[second], labels)
            assert sorted(first.tolist()) == list(range(7))
            assert first[3] == second[3] == 3
            assert 0.0 <= share <= 1.0

    def test_alone_in_their_classes_images_differ_from_nobody(self) -> None:
        algorithm = SelfReg(network(), ONE)
        first, second, share = algorithm.partners(torch.arange(K))
        logits = torch.randn(K, K)
        assert torch.equal(logits[first], logits)
        assert torch.equal(share * logits[first] + (1 - share) * logits[second], share * logits + (1 - share) * logits)
        assert float(dissimilarity(logits, logits, logits, Partners(first, second, 0.5))) == 0.0

    def test_the_scale_is_one_from_a_loss_of_one_on(self) -> None:
        net = network()
        nn.init.normal_(net.last.weight, std=30.0)
        algorithm = SelfReg(net, ONE)
        images, labels, domains = batch()
        torch.manual_seed(2)
        partners = algorithm.partners(labels)
        F = net.features(images)
        plain = ce(net.head(F), labels)
        assert plain > 1
        unlike = dissimilarity(net.head(F), F, algorithm.projection(F), partners)
        torch.manual_seed(2)
        torch.testing.assert_close(algorithm(images, labels, domains).loss, plain + unlike)

    def test_the_share_is_drawn_from_beta(self) -> None:
        algorithm = SelfReg(network(), ONE)
        draws = np.array([algorithm.partners(torch.zeros(1, dtype=torch.int64)).share for _ in range(2000)])
        assert draws.mean() == pytest.approx(0.5, abs=0.03)
        assert draws.var() == pytest.approx(0.125, abs=0.01)  # of Beta(½, ½)

    def test_the_projection_is_trained_in_the_port_only(self) -> None:
        for variant, trained in (("upstream", False), ("authors", True)):
            algorithm = SelfReg(network(), ONE, variant)  # type: ignore[arg-type]
            groups = adamw(algorithm, Settings("synthetic", 0)).param_groups
            known = {id(parameter) for group in groups for parameter in group["params"]}
            assert {id(one) in known for one in algorithm.projection.parameters()} == {trained}
            algorithm(*batch()).loss.backward()
            body: Any = algorithm.network.body
            assert body.weight.grad is not None

    def test_the_projection_of_densenet(self) -> None:
        with torch.device("meta"):
            head = projection(1024)
            wide = projection(2048)
        assert sum(one.numel() for one in head.parameters()) == 8_403_968
        assert [layer.out_features for layer in wide if isinstance(layer, nn.Linear)] == [2048, 2048, 2048]
