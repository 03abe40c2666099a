"""Taking in tensors of other people's files."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recolorist_lab.baselines import layout


def test_faults_are_named() -> None:
    module = nn.Conv2d(1, 1, 3)
    good = module.state_dict()
    for state, message in (
        ({"weight": good["weight"]}, "missing: bias"),
        ({**good, "more": good["bias"]}, "not part of it: more"),
        ({**good, "bias": torch.zeros(2)}, r"bias \(2,\) instead of \(1,\)"),
        ({**good, "bias": torch.tensor([float("inf")])}, "not finite: bias"),
    ):
        with pytest.raises(layout.LayoutError, match=message):
            layout.load(module, state, "a file")


def test_a_prefix_goes_only_where_all_have_it() -> None:
    one = torch.zeros(1)
    assert set(layout.without_prefix({"module.a": one, "module.b": one})) == {"a", "b"}
    assert set(layout.without_prefix({"module.a": one, "b": one})) == {"module.a", "b"}
