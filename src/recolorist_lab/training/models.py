"""Classifiers: any timm network by name, from random weights, split into features and head."""

from __future__ import annotations

import difflib
from typing import Any, cast

import torch
from torch import Tensor, nn

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.errors import OptionError

declare_missing_ops()

import timm  # noqa: E402 - imports torchvision

__all__ = ["Classifier", "build", "parameters"]


class Classifier(nn.Module):
    """A timm network and the two halves of its forward pass. ``net``'s own keys are what is saved."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net: Any = net
        self._format = torch.contiguous_format

    def use_channels_last(self) -> None:
        """Keep weights and images with the channels of a pixel side by side, which some devices compute faster."""
        self._format = torch.channels_last
        self.net.to(memory_format=self._format)

    def features(self, images: Tensor) -> Tensor:
        """Compute what goes into the head.

        Args:
            images: (B, 3, H, W).

        Returns:
            One vector per image.
        """
        arranged = images.contiguous(memory_format=self._format)
        return cast("Tensor", self.net.forward_head(self.net.forward_features(arranged), pre_logits=True))

    def head(self, features: Tensor) -> Tensor:
        """Compute logits of features.

        Args:
            features: One vector per image.

        Returns:
            (B, classes).
        """
        return cast("Tensor", self.net.get_classifier()(features))

    def forward(self, images: Tensor) -> Tensor:
        """Compute logits of images.

        Args:
            images: (B, 3, H, W).

        Returns:
            (B, classes).
        """
        return cast("Tensor", self.net(images.contiguous(memory_format=self._format)))

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        return int(self.net.get_classifier().in_features)


def build(name: str, classes: int, *, own_head: bool) -> Classifier:
    """Build a network with random weights, drawn from torch's global generator.

    ``own_head`` gives the last layer PyTorch's default initialisation: weights and bias uniform within one over the root of its
    width. timm's own starts with a bias of zero.

    Args:
        name: A model of timm.
        classes: How many outputs it has.
        own_head: Initialise the last layer as PyTorch does.

    Returns:
        The network, body and head apart.

    Raises:
        OptionError: timm has no such model, or its last layer is not one linear layer.
    """
    if name not in timm.list_models():
        near = ", ".join(difflib.get_close_matches(name, timm.list_models(), n=3))
        raise OptionError(f"{name!r} is not a model of timm; {f'near are {near}' if near else 'see timm.list_models()'}")
    net: Any = timm.create_model(name, pretrained=False, num_classes=classes)
    head = net.get_classifier()
    if not isinstance(head, nn.Linear):
        raise OptionError(f"{name} ends in {type(head).__name__}; models whose last layer is one linear layer are accepted")
    if own_head:
        nn.Linear.reset_parameters(head)
    return Classifier(net)


def parameters(model: nn.Module) -> int:
    """Count the trainable parameters.

    Args:
        model: The network.

    Returns:
        The count.

    Example:
        >>> import torch
        >>> with torch.device("meta"):
        ...     parameters(build("densenet121", 13, own_head=False))
        6967181
    """
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
