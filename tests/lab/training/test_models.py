"""Classifiers of timm, as features and a head."""

from __future__ import annotations

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.training.models import build, parameters

IMAGES = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ["test_resnet", "test_vit"])
def test_the_halves_are_the_whole(name: str) -> None:
    network = build(name, 3, own_head=False).eval() if name == "test_resnet" else build(name, 3, own_head=True).eval()
    images = IMAGES if name == "test_resnet" else torch.randn(2, 3, 160, 160)
    with torch.no_grad():
        features = network.features(images)
        assert torch.equal(network.head(features), network(images))
    assert features.shape == (2, network.width)


def test_channels_last_reaches_weights_and_images() -> None:
    torch.manual_seed(3)
    network = build("test_resnet", 3, own_head=False).eval()
    with torch.no_grad():
        before = network(IMAGES)
        network.use_channels_last()
        torch.testing.assert_close(network(IMAGES), before, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(network.head(network.features(IMAGES)), before, atol=1e-5, rtol=1e-4)
    assert network.net.conv1[0].weight.is_contiguous(memory_format=torch.channels_last)


def test_a_head_of_our_own_starts_as_pytorchs() -> None:
    torch.manual_seed(3)
    network = build("test_resnet", 3, own_head=True)
    limit = network.width**-0.5
    bias = network.net.get_classifier().bias
    assert bias.abs().max() <= limit
    assert bias.abs().max() > 0
    assert parameters(network) == sum(tensor.numel() for tensor in network.net.parameters())


@pytest.mark.parametrize(("name", "message"), [("densnet121", "near are densenet121"), ("qqqqqq", "is not a model of timm")])
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build(name, 2, own_head=False)
