"""The conversions in NumPy: the same bits as the compiled ones, and the numbers of the standards."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from recolorist.core import kernels
from recolorist.core.kernels import fallback, fallback_spaces
from recolorist.core.spaces import SPACES, _inverted

OTHERS = tuple(fallback_spaces.conversions)
GRID = np.stack(np.meshgrid(*[np.arange(0, 256, 15) / 255.0] * 3), axis=-1).reshape(-1, 3)


def test_every_space_that_is_not_linear_has_a_conversion() -> None:
    assert set(OTHERS) == {name for name, space in SPACES.items() if not space.is_linear}


@pytest.mark.parametrize("name", OTHERS)
def test_compiled_conversions_give_the_same_bits(name: str) -> None:
    compiled: ModuleType = kernels._compiled or pytest.skip("the compiled loops were not built here")
    rng = np.random.default_rng(1)
    inside, wild = rng.normal(0.5, 0.4, (3000, 3)), rng.normal(0, 300, (1500, 3))
    for source, inverse in ((GRID, False), (inside, False), (wild, True), (inside * 100, True)):
        ours, theirs = np.empty_like(source), np.empty_like(source)
        compiled.convert(source, ours, name, inverse)
        fallback.convert(source, theirs, name, inverse)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("rows", ["RELATIVE", "XYZ", "STAINS", "CONES", "AXES"])
def test_matrices_are_inverses(rows: str) -> None:
    there, back = (np.array(getattr(fallback_spaces, name)) for name in (f"_{rows}", f"_FROM_{rows}"))
    np.testing.assert_allclose(_inverted(there), back, rtol=0, atol=2e-15)


def test_matrices_are_those_of_the_standards() -> None:
    white = np.array([0.95047, 1.0, 1.08883])  # D65, 2 degrees
    np.testing.assert_allclose(np.array(fallback_spaces._RELATIVE) * white[:, None], fallback_spaces._XYZ, rtol=1e-15)
    u, v = 4 * white[0] / (white @ [1, 15, 3]), 9 * white[1] / (white @ [1, 15, 3])
    np.testing.assert_allclose((fallback_spaces._WHITE_U, fallback_spaces._WHITE_V), (u, v), rtol=1e-15)


@pytest.mark.parametrize("start", [fallback_spaces.UNIT, fallback_spaces.LIGHT, fallback_spaces.DENSITY])
def test_starts_there_and_back(start: int) -> None:
    levels = np.linspace(1e-5, 1.0, 4001)
    np.testing.assert_allclose(
        fallback_spaces.from_start(fallback_spaces.to_start(levels, start), start), levels, rtol=0, atol=1e-12
    )
