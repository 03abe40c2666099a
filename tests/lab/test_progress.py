"""Progress of downloads where nobody looks at a terminal."""

from __future__ import annotations

import io

import pytest

from recolorist_lab.progress import Lines, bytes_bar


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
