"""Where a run stands, as bytes and back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recolorist_lab.training.state import CheckpointError, Counters, frozen_copy, pack, restore, snapshot, unpack, weights


def trained(steps: int = 2) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimiser = torch.optim.AdamW(module.parameters())
    for _ in range(steps):
        optimiser.zero_grad()
        torch.autograd.backward(module(torch.randn(4, 3)).square().sum())
        optimiser.step()
    return module, optimiser


def test_everything_comes_back() -> None:
    module, optimiser = trained()
    progress = Counters(epoch=3, split=4, best_loss=0.5, history=[{"epoch": 0}])
    data = snapshot(module, optimiser, {"a": torch.ones(2)}, progress, {"scale": 8.0})
    other, fresh = trained(0)
    best, counters, scaler = restore(data, other, fresh)
    assert counters == progress
    assert scaler == {"scale": 8.0}
    assert torch.equal(best["a"], torch.ones(2))
    assert all(
        torch.equal(one, same) for one, same in zip(module.state_dict().values(), other.state_dict().values(), strict=True)
    )
    assert snapshot(other, fresh, best, counters, scaler) == data


def test_a_checkpoint_of_an_earlier_version_has_one_piece() -> None:
    module, optimiser = trained()
    tensors, facts = unpack(snapshot(module, optimiser, {}, Counters(split=2)))
    del facts["progress"]["split"]
    assert restore(pack(tensors, facts), module, optimiser)[1].split == 1


@pytest.mark.parametrize("data", [b"", b"no" * 40, pack({"a": torch.ones(1)}, {})[:-2]])
def test_strangers_are_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        unpack(data)


def test_what_does_not_fit_is_refused() -> None:
    module, optimiser = trained()
    data = snapshot(module, optimiser, {}, Counters())
    with pytest.raises(CheckpointError, match="does not fit this run"):
        restore(data, nn.Linear(3, 2), optimiser)


def test_copies_do_not_follow_training() -> None:
    module, _ = trained()
    copy = frozen_copy(module)
    with torch.no_grad():
        next(module.parameters()).zero_()
    assert copy["0.weight"].abs().sum() > 0
    assert weights(copy) == weights(dict(reversed(copy.items())))
