"""Empirical risk minimisation against its equation, and the heads of its networks."""

from __future__ import annotations

import pytest
import torch

from recolorist_lab.training.algorithms.erm import ERM
from recolorist_lab.training.models import build
from tests.lab.training.algorithms.parts import ONE, batch, ce, network


class TestErm:
    def test_erm_is_the_mean_loss(self) -> None:
        net = network()
        images, labels, domains = batch()
        torch.testing.assert_close(ERM(net, ONE)(images, labels, domains).loss, ce(net(images), labels))


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
