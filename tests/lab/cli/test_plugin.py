"""The option `--plugin` makes a file's names known to a command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recolorist_lab.cli.main import app
from recolorist_lab.plugins import FILES
from tests.lab.fakes.parts import picture
from tests.lab.test_plugins import EXAMPLES


def test_the_command_line_takes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILES, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mean_shift.py").write_text(EXAMPLES["mean_shift"], "utf-8")
    for number, name in enumerate(("content", "style")):
        picture(tmp_path / name / "1.png", number, (16, 16))
    words = ["baseline", "stylise", "mean_shift", "--plugin", tmp_path / "mean_shift.py", "--out", tmp_path / "out"]
    done = CliRunner().invoke(app, [*map(str, words), "--content", str(tmp_path / "content"), "--style", str(tmp_path / "style")])
    assert done.exit_code == 0, (done.output, done.exception)
    assert len(list((tmp_path / "out").iterdir())) == 1
    del sys.modules["mean_shift"]  # other tests load a file of this name too
