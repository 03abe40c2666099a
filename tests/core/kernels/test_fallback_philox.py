"""The first number of a random stream: C and Python give NumPy's."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from recolorist.core import kernels
from recolorist.core.kernels.fallback_philox import first_random

MOST = 2**64 - 1


@pytest.fixture(name="compiled")
def compiled_loops() -> ModuleType:
    return kernels._compiled or pytest.skip("the compiled loops were not built here")


def places() -> list[list[int]]:
    """Seed, purpose, index and epoch: small, at the ends of 64 bits, and drawn."""
    ends = [[a, b, c, d] for a in (0, MOST) for b in (0, 1) for c in (0, 2**32, MOST) for d in (0, 2**63, MOST)]
    drawn = np.random.default_rng(1).integers(0, MOST, (200, 4), dtype=np.uint64, endpoint=True)
    return ends + [list(map(int, row)) for row in drawn]


def numpy_s(seed: int, purpose: int, index: int, epoch: int) -> float:
    counter = np.array([0, index, epoch, 0], np.uint64)
    return float(np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64), counter=counter)).random())


def test_python_gives_numpy_s_number() -> None:
    assert [first_random(*place) for place in places()] == [numpy_s(*place) for place in places()]


def test_c_gives_the_same(compiled: ModuleType) -> None:
    assert [compiled.first_random(*place) for place in places()] == [first_random(*place) for place in places()]
