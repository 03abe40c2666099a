"""`recolorist doctor`: what it reports, and its exit code when the self-test fails."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Any

import pytest

from recolorist import __version__
from recolorist.cli import doctor
from recolorist.core import kernels
from tests.commands import run_here


@pytest.fixture(autouse=True)
def _without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for a GPU imports torch, which takes seconds."""
    monkeypatch.setattr(doctor, "_gpu", lambda: None)


def test_json_names_versions_loops_and_the_self_test() -> None:
    answer = run_here("doctor", "--json")
    report = answer.json
    assert (answer.code, answer.err, report["recolorist"]) == (0, "", __version__)
    assert report["loops"] == kernels.active()
    assert report["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert report["self_test"]["passed"] is True
    assert {"PNG", "JPEG", "TIFF"} <= set(report["formats"])
    assert report["max_pixels"] == 89_478_485


def test_people_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in {"rich", "ray"} else "1.2.3")
    answer = run_here("doctor")
    assert answer.code == 0
    assert re.search(r"^numpy +1\.2\.3$", answer.out, re.MULTILINE)
    assert re.search(r"^rich +MISSING$", answer.out, re.MULTILINE)
    assert re.search(r"^ray +not installed \(for clusters\)$", answer.out, re.MULTILINE)
    assert re.search(r"^self-test +passed", answer.out, re.MULTILINE)


def test_a_failed_self_test_is_exit_code_1_and_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: dict[str, Any] = {"passed": False, "what": "both give the same bits"}
    monkeypatch.setattr(doctor, "_self_test", lambda: failed)
    answer = run_here("doctor")
    assert answer.code == 1
    assert re.search(r"^self-test +FAILED", answer.out, re.MULTILINE)
    assert "RECOLORIST_KERNEL=numpy" in answer.err
    assert run_here("doctor", "--json").code == 1


def test_the_self_test_compares_both_sets_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    import recolorist as rc

    match, calls = rc.match, []

    def counted(content: Any, style: Any) -> Any:
        calls.append(kernels.active())
        return match(content, style) + len(calls)

    monkeypatch.setattr(rc, "match", counted)
    assert doctor._self_test()["passed"] is False
    assert calls == [kernels.active(), "numpy"]
