"""RSC against its equation, written out a second time on small tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from recolorist_lab.training.algorithms.rsc import DROP, RSC, below_percentile, evidence
from tests.lab.training.algorithms.parts import MANY, ONE, D, K, N, batch, network


def percentile(rows: Any, share: float) -> Any:
    """On the straight line between two values; versions of NumPy differ where it is next to one of them."""
    ordered, place = np.sort(rows, axis=1), share * (rows.shape[1] - 1)
    low, high = ordered[:, int(place)], ordered[:, math.ceil(place)]
    return low + (high - low) * np.float32(place - int(place))


class TestRsc:
    @pytest.mark.parametrize("variant", ["upstream", "authors"])
    def test_it_is_the_equation(self, variant: Any) -> None:
        """The six steps once more, in NumPy."""
        net = network()
        images, labels, domains = batch()
        F, W, b = net.features(images).detach().numpy(), net.last.weight.detach().numpy(), net.last.bias.detach().numpy()
        y, keep = labels.numpy(), 1 - DROP[variant]
        G = W[y]
        kept = percentile(G, keep)[:, None] > G
        softmax = lambda Z: np.exp(Z) / np.exp(Z).sum(1, keepdims=True)  # noqa: E731
        change = softmax(F @ W.T + b)[np.arange(N), y] - softmax((F * kept) @ W.T + b)[np.arange(N), y]
        mask = kept | (change < percentile(change[None], keep))[:, None]
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
        for drop in (0.25, 0.3, 1 / 3.1, 0.5, 0.9):  # between two values: of places next to one, versions of NumPy differ
            limit = np.percentile(values.numpy(), 100 * (1 - drop), axis=1, keepdims=True)
            assert np.array_equal(below_percentile(values, drop).numpy(), values.numpy() < limit)

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
