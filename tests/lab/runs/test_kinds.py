"""Kinds of study by name."""

from __future__ import annotations

import pytest

from recolorist_lab.runs.kind import Kind
from recolorist_lab.runs.kinds import KINDS, Kinds, headings


def test_a_kind_is_imported_when_it_is_asked_for() -> None:
    kinds = Kinds({"good": "recolorist_lab.studies.check.kind:TRANSFER_CHECK", "absent": "recolorist_lab.studies.nowhere:X"})
    assert list(kinds) == ["good", "absent"]
    assert "absent" in kinds
    assert kinds["good"] is KINDS["transfer_check"]
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        kinds["absent"]
    with pytest.raises(KeyError):
        kinds["unknown"]


def test_every_kind_that_is_listed_can_be_imported() -> None:
    assert len(KINDS) >= 8
    assert all(isinstance(kind, Kind) for kind in KINDS.values())


def test_headings_are_in_the_order_of_the_report_and_no_two_share_a_place() -> None:
    orders = [heading.order for heading in headings().values()]
    assert orders == sorted(set(orders))
