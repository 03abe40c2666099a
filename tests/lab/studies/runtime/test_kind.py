"""The kind `runtime`: it runs alone, and how long it takes."""

from __future__ import annotations

from types import SimpleNamespace

from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.studies.runtime.kind import RUNTIME


def test_it_runs_alone_for_its_budget_and_the_warming_up() -> None:
    assert KINDS["runtime"] is RUNTIME
    assert [name for name, kind in KINDS.items() if kind.alone] == ["runtime"]
    assert RUNTIME.seconds(SimpleNamespace(seconds=8), None) == 10.0
