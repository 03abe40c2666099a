"""Progress on a terminal and without one."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from recolorist.cli.progress import Lines, show_progress


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_a_minute_and_one_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock)
    for second in range(151):
        clock.now = float(second)
        lines.add("a.zip", f"{second} of 150", is_last=second == 150)
    assert stream.getvalue() == "60 of 150\n120 of 150\n150 of 150\n"


def test_each_key_has_its_own_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock)
    lines.add("a", "a 0")
    clock.now = 59.0
    lines.add("b", "b 0")
    clock.now = 61.0
    lines.add("a", "a 1")
    lines.add("b", "b 2")
    assert stream.getvalue() == "a 1\n"


class TestLines:
    def results(self, clock: Clock, seconds: float) -> Iterator[int]:
        for number in range(4):
            clock.now += seconds
            yield number

    def test_is_silent_for_less_than_a_minute(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        assert list(show_progress(self.results(clock, 10), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == ""

    def test_writes_a_line_a_minute_and_one_at_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        clock = Clock()
        assert list(show_progress(self.results(clock, 30), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == "measuring: 2 of 4\nmeasuring: 4 of 4\n"
        clock = Clock()
        assert list(show_progress(self.results(clock, 25), 4, "measuring", clock=clock)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == "measuring: 3 of 4\nmeasuring: 4 of 4\n"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class TestBar:
    def test_results_pass_through_in_order_without_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(show_progress(iter("abc"), 3, "done")) == ["a", "b", "c"]
        assert stream.getvalue() == ""

    @pytest.mark.parametrize(("step", "is_shown"), [(0.001, False), (5.0, True)])
    def test_a_terminal_shows_a_bar_once_it_takes_long(
        self, monkeypatch: pytest.MonkeyPatch, step: float, is_shown: bool
    ) -> None:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(show_progress(iter("abc"), 3, "measured", clock=count(0.0, step).__next__)) == ["a", "b", "c"]
        assert ("measured" in stream.getvalue()) is is_shown
