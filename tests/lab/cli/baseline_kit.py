"""Helpers for the tests of `recolorist-lab baseline`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recolorist.errors import RecoloristError
from recolorist_lab.cli.main import app

DATA = "synthetic:hospitals=3,tiles=4,size=24"


SMALL = ("--batch", "1", "--load-size", "20", "--crop-size", "16", "--encoder", "random", "--device", "cpu")


def run_json(*words: str | Path) -> Any:
    done = CliRunner().invoke(app, ["baseline", *map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def run_text(*words: str | Path) -> str:
    done = CliRunner().invoke(app, ["baseline", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(message: str, *words: str | Path) -> None:
    with pytest.raises(RecoloristError, match=message):
        CliRunner().invoke(app, ["baseline", *map(str, words)], catch_exceptions=False)


def trained(out: Path, *more: str | Path) -> Any:
    return run_json("train", "efdm", "--data", DATA, "--out", out, "--ledger", out.parent / "ledger", *SMALL, *more)
