"""Progress on a terminal and without one."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recolorist_lab.progress import Lines, bytes_bar, each, steps_bar


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_a_minute_and_one_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock)
    for second in range(151):
        clock.now = float(second)
        lines.tick("a.zip", second * 1_000_000, 150_000_000)
    assert stream.getvalue() == "a.zip: 60.0 of 150.0 MB\na.zip: 120.0 of 150.0 MB\na.zip: 150.0 of 150.0 MB\n"


def test_each_file_has_its_own_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock)
    lines.tick("a", 0, None)
    clock.now = 59.0
    lines.tick("b", 0, None)
    clock.now = 61.0
    lines.tick("a", 1_500_000, None)
    lines.tick("b", 2_000_000, None)
    assert stream.getvalue() == "a: 1.5 MB\n"


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


class TestEach:
    def results(self, clock: Clock, seconds: float) -> Iterator[int]:
        for number in range(4):
            clock.now += seconds
            yield number

    def test_is_silent_for_less_than_a_minute(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        assert list(each(self.results(clock, 10), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == ""

    def test_writes_a_line_a_minute_and_one_at_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        assert list(each(self.results(clock, 30), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == "measuring: 2 of 4\nmeasuring: 4 of 4\n"
        clock = Clock()
        assert list(each(self.results(clock, 25), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == "measuring: 3 of 4\nmeasuring: 4 of 4\n"


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
