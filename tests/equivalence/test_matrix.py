"""Every option through every route: equal bytes, or a refusal that says why.

The reference is :func:`recolorist.match`. A route that does not serve a case must refuse it with a sentence; it may never write
something else. RECOLORIST_FULL_MATRIX=1 tries every combination instead of a sample in which every pair of values occurs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.errors import RecoloristError
from tests.equivalence.cases import AXES, CASES, INVALID, Case, content_of, reference
from tests.equivalence.routes import ROUTES, Route

pytestmark = pytest.mark.filterwarnings("ignore::recolorist.augment.colorist.PreprocessingWarning")


@cache
def _expected(case: Case, route: Route) -> NDArray[Any] | None:
    """Return the reference output, or None where the public function refuses."""
    try:
        return route.expected(case)
    except RecoloristError:
        return None


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal_bytes_or_a_refusal(case: Case, route: Route, tmp_path: Path) -> None:
    if route.name == "ColorMatch":
        pytest.importorskip("torch", reason="needs the extra recolorist[torch]")
    if route.is_slide:
        pytest.importorskip("openslide", reason="needs the extra recolorist[slides]")
    case = route.adapt(case)
    expected = _expected(case, route)
    if expected is None or not route.serves(case):
        with pytest.raises(RecoloristError):
            route.run(case, tmp_path)
        return
    result = route.run(case, tmp_path)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(result, expected), f"{int((result != expected).sum())} of {expected.size} values differ"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
@pytest.mark.parametrize(("name", "value"), INVALID, ids=str)
def test_a_wrong_value_is_refused_everywhere(route: Route, name: str, value: Any, tmp_path: Path) -> None:
    if name not in route.options:
        pytest.skip(f"{route.name} has no option {name}")
    with pytest.raises(RecoloristError) as refusal:
        route.run(route.adapt(Case(**{name: value})), tmp_path)
    assert str(value).split(".", maxsplit=1)[0] in str(refusal.value)


def test_every_pair_of_values_occurs() -> None:
    for first in AXES:
        for second in AXES:
            if first < second:
                seen = {(getattr(case, first), getattr(case, second)) for case in CASES}
                assert len(seen) == len(AXES[first]) * len(AXES[second]), (first, second)


def test_the_reference_changes_pixels_and_keeps_what_it_must() -> None:
    """The matrix would be worthless if the reference returned the content."""
    case = Case(mask="tissue", apply_to="mask", alpha=True)
    content, output = content_of(case), reference(case)
    assert not np.array_equal(content, output)
    assert np.array_equal(content[..., 3], output[..., 3])
    assert np.array_equal(content[:, :12], output[:, :12])
