"""What both command lines share: help screens, completion, terminals without Unicode, errors as one sentence."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from recolorist.cli import main
from recolorist.cli.app import App, run_app
from recolorist.cli.common import echo
from recolorist.errors import OptionError
from tests.commands import COMMAND, run_here


@pytest.fixture
def app() -> App:
    app = App(help="Do things.")

    def fail() -> None:
        """Fail."""
        raise OptionError("max_gain=7\n is wrong")

    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    def draw(*, out: str = "a", loud: bool = False) -> None:
        """Draw."""
        echo(f"α → {out} █ {loud} é")

    for command in (fail, stop, draw):
        app.command(command.__name__)(command)
    return app


def run(app: App, *words: str, encoding: str = "utf-8", **settings: Any) -> tuple[int, str, str]:
    """Run the commands in this process on streams of an encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2)]
    code = 0
    with (
        mock.patch.object(sys, "argv", ["thing", *words]),
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
    ):
        try:
            run_app(app, "thing", **settings)
        except SystemExit as stop:
            code = int(stop.code or 0)
        for stream in streams:
            stream.flush()
    out, err = (bytes(stream.buffer.getvalue()).decode(encoding) for stream in streams)
    return code, out, err


def test_an_error_of_ours_is_one_translated_sentence(app: App) -> None:
    assert run(app, "fail", translate=str.upper) == (1, "", "thing: MAX_GAIN=7 IS WRONG\n")


def test_an_interrupt_leaves_with_130_and_names_resume(app: App) -> None:
    code, out, err = run(app, "stop")
    assert (code, out) == (130, "")
    assert err.startswith("thing: interrupted; ")
    assert "--resume" in err


def test_a_terminal_without_unicode_gets_ascii(app: App) -> None:
    assert run(app, "draw")[1] == "α → a █ False é\n"
    assert run(app, "draw", encoding="ascii")[1] == "a > a # False \\xe9\n"


def test_help_in_ascii_has_no_boxes_of_lines(app: App) -> None:
    text = run(app, "draw", "--help", encoding="ascii")[1]
    assert text.isascii()
    assert "\\u" not in text
    assert "+-" in text


class TestHelp:
    @pytest.mark.parametrize("words", [(), ("match",), ("bank",), ("bank", "share"), ("doctor",)])
    def test_flags_have_no_type(self, words: tuple[str, ...]) -> None:
        text = run_here(*words, "--help").out
        assert "--help" in text
        assert "bool" not in text.lower()

    def test_every_option_stands_in_a_panel_and_names_its_value(self) -> None:
        text = run_here("augment", "--help").out
        for panel in ("Matching", "Drawing styles", "Which images", "Reading files", "Writing files", "Processes"):
            assert f"─ {panel} ─" in text
        assert "<" not in text.partition("Options")[2]


class TestCompletion:
    def complete(self, *words: str) -> list[str]:
        line = " ".join(("recolorist", *words))
        environment = {"_RECOLORIST_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        out = io.StringIO()
        with mock.patch.dict("os.environ", environment), mock.patch.object(sys, "stdout", out), pytest.raises(SystemExit):
            main.app(prog_name="recolorist")
        return out.getvalue().split()

    def test_commands(self) -> None:
        assert self.complete("ha") == ["harmonise"]

    def test_options(self) -> None:
        assert "--follow-links" in self.complete("audit", "--fol")

    @pytest.mark.parametrize(("option", "start", "value"), [
        ("--space", "ycb", "ycbcr"),
        ("--method", "cov", "covariance"), ("--mask", "fu", "fundus"), ("--sampler", "int", "interpolate"),
    ])  # fmt: skip
    def test_values(self, option: str, start: str, value: str) -> None:
        assert value in self.complete("augment", option, start)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_printing_to_a_full_disk_is_an_error_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    assert done.returncode != 0
    assert "recolorist: what is printed cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
