"""Whole methods with every layer a sixteenth as wide: the same wiring, and a training step in hundredths of a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recolorist.demo.synthetic import tile
from recolorist_lab.baselines import build, vgg
from recolorist_lab.baselines.attention import AttentionBaseline
from tests.lab.baselines import kit

_FACTOR = 16
_KEPT = (1, 3)  # images and scores keep their channels


def on_meta(name: str, **options: Any) -> AttentionBaseline:
    """At full width, without memory: for counting and for names."""
    with torch.device("meta"):
        model = build(name, encoder="random", **options)
    assert isinstance(model, AttentionBaseline)
    return model


def shrunk(name: str, seed: int = 0, **options: Any) -> AttentionBaseline:
    """The method with narrow layers, drawn from a seed; the encoder is random, of the real one's scale, and frozen."""
    model = on_meta(name, **options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _shrink(model)
        vgg._draw(model.encoder)
        _enliven(model.decoder)
    model.encoder.requires_grad_(requires_grad=False)
    return model


def _enliven(decoder: nn.Sequential) -> None:
    """Weights through which a signal passes whole: as torch draws them, a narrow decoder is all but constant and hides faults."""
    convs = [child for child in decoder if isinstance(child, nn.Conv2d)]
    for conv in convs:
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    with torch.no_grad():
        convs[-1].weight.mul_(0.2)  # most pixels stay within [0, 1]
        nn.init.constant_(convs[-1].bias, 0.5)  # type: ignore[arg-type]


def training_tiles(count: int, size: int) -> Tensor:
    """Real blood cells or, where they are not, synthetic tissue."""
    try:
        return kit.real_tiles(count, size)
    except pytest.skip.Exception:
        stack = np.stack([tile(seed, ("north", "valley")[seed % 2], size) for seed in range(count)])
        return torch.from_numpy(stack).permute(0, 3, 1, 2).contiguous().float() / 255.0


def _shrink(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d):
            layer: nn.Module = nn.Conv2d(
                _narrow(child.in_channels),
                _narrow(child.out_channels),
                _one(child.kernel_size),
                _one(child.stride),
                _one(child.padding),
            )
        elif isinstance(child, nn.Linear):
            layer = nn.Linear(_narrow(child.in_features), _narrow(child.out_features))
        elif isinstance(child, nn.InstanceNorm2d):
            layer = nn.InstanceNorm2d(_narrow(child.num_features))
        else:
            _shrink(child)
            continue
        setattr(module, name, layer)


def _narrow(width: int) -> int:
    return width if width in _KEPT else width // _FACTOR


def _one(sides: Any) -> int:
    first = sides[0]
    assert all(side == first for side in sides)
    return int(first)
