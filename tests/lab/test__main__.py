"""`python -m recolorist_lab` is the command of the study."""

from __future__ import annotations

import runpy
import sys

import pytest


def test_running_the_package_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["recolorist-lab", "--version"])
    monkeypatch.delitem(sys.modules, "recolorist_lab.__main__", raising=False)
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("recolorist_lab", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("recolorist-lab 0.")
