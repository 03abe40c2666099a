"""Every algorithm against its equation, written out a second time on small tensors, and the self-checks of its description."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from recolorist_lab.training.algorithms import TABLE, Task
from recolorist_lab.training.algorithms.erm import ERM, SD, SD_REG
from recolorist_lab.training.algorithms.ib_erm import ANNEAL, IBERM, LAMBDA, spread
from recolorist_lab.training.algorithms.rsc import DROP, RSC, below_percentile, evidence
from recolorist_lab.training.algorithms.selfreg import Partners, SelfReg, dissimilarity, projection
from recolorist_lab.training.models import build
from recolorist_lab.training.optimise import adamw
from recolorist_lab.training.settings import ALGORITHMS, Settings

N, D, K = 12, 10, 3
ONE = Task(K, multilabel=False)
MANY = Task(K, multilabel=True)


class Linear(nn.Module):
    """A classifier whose images are its features, times a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.last, self.calls = nn.Linear(D, D), nn.Linear(D, K), 0

    def features(self, images: Tensor) -> Tensor:
        self.calls += 1
        result: Tensor = self.body(images).relu()
        return result

    def head(self, features: Tensor) -> Tensor:
        result: Tensor = self.last(features)
        return result

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))

    @property
    def width(self) -> int:
        return D


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def network() -> Any:
    return Linear()


def batch(*, multilabel: bool = False, domains: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    labels = (torch.rand(N, K) < 0.4).float() if multilabel else torch.arange(N) % K
    return torch.randn(N, D), labels, torch.arange(N) % domains


def ce(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy from its definition."""
    return -(logits.log_softmax(1)[torch.arange(len(labels)), labels]).mean()


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
    def test_the_table_has_the_names_of_the_settings(self) -> None:
        assert tuple(TABLE) == ALGORITHMS

    @pytest.mark.parametrize("name", ALGORITHMS)
    @pytest.mark.parametrize("variant", ["upstream", "authors"])
    @pytest.mark.parametrize("multilabel", [False, True])
    def test_one_step_moves_the_features_and_has_a_finite_loss(self, name: str, variant: str, *, multilabel: bool) -> None:
        algorithm = TABLE[name](network(), MANY if multilabel else ONE, variant)
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
        algorithm = TABLE[name](network(), ONE, "upstream")
        images, labels, _ = batch()
        losses = []
        for domains in (torch.zeros(N, dtype=torch.int64), torch.arange(N) % 2):  # both halves hold each class equally often
            torch.manual_seed(5)
            losses.append(algorithm(images, labels, domains).loss)
        torch.testing.assert_close(*losses)


class TestErmAndSd:
    def test_erm_is_the_mean_loss(self) -> None:
        net = network()
        images, labels, domains = batch()
        torch.testing.assert_close(ERM(net, ONE)(images, labels, domains).loss, ce(net(images), labels))

    def test_sd_adds_a_tenth_of_the_mean_square_of_all_logits(self) -> None:
        net = network()
        images, labels, domains = batch()
        logits = net(images)
        wanted = ce(logits, labels) + 0.1 * (logits**2).sum() / (N * K)
        torch.testing.assert_close(SD(net, ONE)(images, labels, domains).loss, wanted)

    def test_the_penalty_is_zero_at_zero_and_has_the_stated_derivative(self) -> None:
        logits = torch.randn(N, K, requires_grad=True)
        (SD_REG * logits.square().mean()).backward()
        assert logits.grad is not None
        torch.testing.assert_close(logits.grad, 2 * SD_REG * logits.detach() / (N * K))
        net = network()
        nn.init.zeros_(net.last.weight)
        nn.init.zeros_(net.last.bias)
        images, labels, domains = batch()
        assert torch.equal(SD(net, ONE)(images, labels, domains).loss, ERM(net, ONE)(images, labels, domains).loss)


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


class TestRsc:
    @pytest.mark.parametrize("variant", ["upstream", "authors"])
    def test_it_is_the_equation(self, variant: Any) -> None:
        """The six steps once more, in NumPy, with its percentiles."""
        net = network()
        images, labels, domains = batch()
        F, W, b = net.features(images).detach().numpy(), net.last.weight.detach().numpy(), net.last.bias.detach().numpy()
        y, keep = labels.numpy(), 100 * (1 - DROP[variant])
        G = W[y]
        kept = np.percentile(G, keep, axis=1, keepdims=True) > G
        softmax = lambda Z: np.exp(Z) / np.exp(Z).sum(1, keepdims=True)  # noqa: E731
        change = softmax(F @ W.T + b)[np.arange(N), y] - softmax((F * kept) @ W.T + b)[np.arange(N), y]
        mask = kept | (change < np.percentile(change, keep))[:, None]
        wanted = functional.cross_entropy(torch.tensor((F * mask) @ W.T + b), labels)
        torch.testing.assert_close(RSC(net, ONE, variant)(images, labels, domains).loss, wanted)

    def test_with_a_linear_head_the_evidence_is_the_row_of_weights(self) -> None:
        net = network()
        images, labels, _ = batch()
        features = net.features(images)
        found = evidence(features, net.head(features), functional.one_hot(labels, K).float())
        assert torch.equal(found, net.last.weight[labels])

    def test_with_nothing_to_drop_exactly_the_loudest_feature_is_muted(self) -> None:
        values = torch.randn(5, 1024)
        mask = below_percentile(values, 0.0)
        assert torch.equal(mask.argmin(1), values.argmax(1))
        assert mask.sum() == 5 * 1023
        assert not below_percentile(values, 1.0).any()
        assert set(below_percentile(values, 1 / 3).unique().tolist()) == {0.0, 1.0}
        assert below_percentile(values, 1 / 3).sum(1).tolist() == [682.0] * 5

    def test_percentiles_are_numpys(self) -> None:
        values = torch.randn(7, 100)
        limit = np.percentile(values.numpy(), 100 * (1 - 1 / 3), axis=1, keepdims=True)
        assert np.array_equal(below_percentile(values, 1 / 3).numpy(), values.numpy() < limit)

    def test_the_port_looks_at_the_images_twice(self) -> None:
        for variant, calls in (("upstream", 1), ("authors", 2)):
            net = network()
            RSC(net, ONE, variant)(*batch())  # type: ignore[arg-type]
            assert net.calls == calls

    def test_an_image_without_labels_keeps_all_its_features(self) -> None:
        net = network()
        images = torch.randn(4, D)
        targets = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
        features = net.features(images)
        mask = RSC(net, MANY)._mask(features, net.head(features), targets)
        assert mask[:3].all()
        with torch.no_grad():
            net.last.weight[:, 0] = 50.0  # the loudest feature of every class
        several = torch.ones(4, K)
        features = net.features(images.abs()) + 1.0
        assert not RSC(net, MANY)._mask(features, net.head(features), several).all()


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


@pytest.mark.parametrize(("classes", "wanted"), [(2, 6_955_906), (13, 6_967_181), (14, 6_968_206)])
def test_parameters_of_densenet(classes: int, wanted: int) -> None:
    with torch.device("meta"):
        net = build("densenet121", classes, own_head=False)
    assert sum(one.numel() for one in net.parameters()) == wanted == 6_953_856 + 1025 * classes
    assert len(net.net.state_dict()) == 727
    assert {name.split(".")[0] for name in net.net.state_dict()} == {"features", "classifier"}


def test_the_separate_head_starts_as_pytorchs_layers_do() -> None:
    timms, own = build("densenet121", 5, own_head=False), build("densenet121", 5, own_head=True)
    assert not timms.net.get_classifier().bias.any()
    bias = own.net.get_classifier().bias
    assert bias.any()
    assert bias.abs().max() <= own.width**-0.5
    assert own.net.get_classifier().weight.abs().max() <= own.width**-0.5
