"""Changes of the images' own styles for batches: as large as the sampler of the library draws them, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch

from recolorist.augment.new_styles import change_sizes, own_style
from recolorist.augment.samplers import SAMPLERS, beyond_by, own_style_by
from recolorist.errors import OptionError
from recolorist.torch.changes import changes_of, draw_changes, open_sampler
from tests.torch.data import bank_of, tiles

BANK = bank_of(tiles(30, seed=7))


@pytest.mark.parametrize(
    ("sampler", "sizes"),
    [("own_style", {}), (own_style, {}), (own_style_by(2.0, 0.05), {"scale": 2.0, "least": 0.05})],
    ids=["name", "function", "sizes"],
)
def test_the_sizes_are_those_of_the_sampler(sampler: Any, sizes: dict[str, float]) -> None:
    for tensor, array in zip(open_sampler(sampler, BANK), change_sizes(BANK, **sizes), strict=True):
        assert tensor is not None
        np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("sampler", ["uniform", SAMPLERS["uniform"]], ids=["name", "function"])
def test_rows_have_no_sizes(sampler: Any) -> None:
    assert open_sampler(sampler, BANK) == (None, None)


@pytest.mark.parametrize(
    "sampler", ["gaussian", "own style", beyond_by(0.1), None, 3], ids=["name", "typo", "partial", "none", "number"]
)
def test_other_samplers_are_refused_with_what_to_use(sampler: Any) -> None:
    with pytest.raises(OptionError, match=r"'uniform' or 'own_style'.*ParameterCollate"):
        open_sampler(sampler, BANK)


def test_without_a_bank_there_is_no_size() -> None:
    with pytest.raises(OptionError, match="from a bank, and there is none; pass one"):
        open_sampler("own_style", None)


def test_draws_have_the_sizes() -> None:
    root = torch.tensor([[0.3, 0.1, 0.0], [0.1, 0.2, 0.05], [0.0, 0.05, 0.1]], dtype=torch.float64)
    deviations = torch.tensor([0.1, 0.4, 2.0], dtype=torch.float64)
    step, gains = draw_changes(20_000, root, deviations, {"generator": torch.Generator().manual_seed(1)})
    expected = (root @ root.T).numpy()
    # an entry of a covariance of n draws has a deviation of at most sqrt(2 / n) of the largest variance; five of those
    np.testing.assert_allclose(np.cov(step.numpy(), rowvar=False), expected, atol=5 * (2 / 20_000) ** 0.5 * expected.max())
    logarithms = gains.log()
    np.testing.assert_allclose(logarithms[:, :2].std(dim=0).numpy(), [0.1, 0.4], rtol=5 / 40_000**0.5)
    assert float(logarithms.abs().max()) == pytest.approx(3.0)


def test_the_core_gets_the_same_numbers() -> None:
    step, gains = draw_changes(5, *(torch.eye(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)), {})
    changes = changes_of(step, gains)
    assert [changes[i].step for i in range(5)] == [tuple(row) for row in step.tolist()]
    assert [changes[i].gains for i in range(5)] == [tuple(row) for row in gains.tolist()]
