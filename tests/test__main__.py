"""`python -m recolorist` is the command."""

from __future__ import annotations

import runpy
import sys

import pytest


def test_running_the_package_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["recolorist", "--version"])
    monkeypatch.delitem(
        sys.modules, "recolorist.__main__", raising=False
    )  # it is run as it is on the command line, and that once
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("recolorist", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("recolorist 0.")


def test_importing_it_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from recolorist import __main__ as module

    assert callable(module.main)
    assert capsys.readouterr() == ("", "")
