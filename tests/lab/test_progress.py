"""Progress on a terminal and without one."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from recolorist_lab.progress import bytes_bar, steps_bar


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_standard_error_gets_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with bytes_bar() as tick:
        tick("a.zip", 10, 2_000_000)
        tick("a.zip", 2_000_000, 2_000_000)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "a.zip: 2.0 of 2.0 MB\n")


class TestSteps:
    def test_a_line_a_minute_and_one_at_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        with steps_bar("training", "name", "bar", clock=clock) as update:
            for second in range(0, 150, 10):
                clock.now = float(second)
                update(second, 1_500, f"loss {second}", name=f"epoch {second // 100}")
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == (
            "epoch 0: 60 of 1,500, loss 60\nepoch 1: 120 of 1,500, loss 120\nepoch 1: 140 of 1,500, loss 140\n"
        )

    def test_no_line_is_written_twice(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        with steps_bar("sweep", "bar", clock=clock) as update:
            update(0, None)
            clock.now = 60.0
            update(3, None)
        assert capsys.readouterr().err == "sweep: 3\n"

    def test_the_last_line_comes_after_an_error_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        def interrupted() -> None:
            with steps_bar("sweep", "bar", clock=Clock()) as update:
                update(1, 2, "1 failed")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert capsys.readouterr().err == "sweep: 1 of 2, 1 failed\n"

    def test_nothing_is_written_of_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        with steps_bar("sweep", "bar", clock=Clock()):
            pass
        assert capsys.readouterr().err == ""

    def test_a_bar_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        with steps_bar("sweep", "name", "bar", "count", "text", "elapsed", "left", is_kept=True) as update:
            update(2, 3, "1 running, 0 failed")
        shown = capsys.readouterr().err
        assert "2/3" in shown
        assert "1 running, 0 failed" in shown


def test_no_other_module_of_the_lab_makes_bars() -> None:
    package = Path(__file__).parents[2] / "src" / "recolorist_lab"
    makers = set()
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        bars = {name for name in modules if name.startswith(("rich.progress", "tqdm"))}
        bars |= {name for name in calls if name.endswith(".Progress")}
        if bars or calls & {"common.progress", "typer.progressbar", "track", "progress"}:
            makers.add(path.relative_to(package).as_posix())
    assert makers == {"progress.py"}
