"""The lab's commands for tests of training."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from recolorist_lab.cli.main import app


def lab(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])
