"""Results for a batch are plain tuples with one member for each image; they pretend to be nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recolorist as rc

BATCH = np.random.default_rng(3).integers(0, 256, (3, 6, 5, 3), dtype=np.uint8)


def results() -> list[Any]:
    measured: Any = rc.measure(BATCH)
    plans = rc.plan(measured, measured[0])
    return [measured, plans, rc.audit(BATCH, plans)]


@pytest.mark.parametrize("place", range(3))
def test_results_are_plain_tuples(place: int) -> None:
    result = results()[place]
    assert type(result) is tuple
    assert len(result) == len(BATCH)
    for name in ("mean", "rescaled", "to_json", "matrix", "gain"):
        assert not hasattr(result, name), name


def test_members_are_those_of_a_loop() -> None:
    measured, plans, audits = results()
    assert list(measured) == [rc.measure(image) for image in BATCH]
    assert list(plans) == [rc.plan(one, measured[0]) for one in measured]
    assert [a.to_json() for a in audits] == [rc.audit(i, p).to_json() for i, p in zip(BATCH, plans, strict=True)]


def test_lists_serve_as_well() -> None:
    measured, plans, _ = results()
    assert rc.plan(list(measured), measured[0]) == plans  # type: ignore[arg-type]
    assert np.array_equal(rc.match(BATCH, list(measured)), rc.match(BATCH, measured))
    assert np.array_equal(rc.apply(BATCH, list(plans)), rc.apply(BATCH, plans))


def test_styles_that_are_no_moments_are_refused() -> None:
    with pytest.raises(rc.RecoloristError, match="something else than moments"):
        rc.match(BATCH, list(BATCH))
