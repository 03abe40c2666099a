"""`python -m recolorist` is the command."""

from __future__ import annotations

import runpy
import sys

import pytest

from recolorist import __main__ as module
from recolorist.cli.main import main


def test_running_the_package_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["recolorist", "--version"])
    monkeypatch.delitem(sys.modules, "recolorist.__main__")  # it is run as it is on the command line, and that once
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("recolorist", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("recolorist 0.")


def test_importing_it_runs_nothing() -> None:
    assert module.main is main
