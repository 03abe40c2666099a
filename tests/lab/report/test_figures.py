"""The look of figures: the same bytes each time, whatever the user's own settings, and every label on the picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report import figures
from recolorist_lab.report.stats import critical_difference

matplotlib = pytest.importorskip("matplotlib")

SCORES = {"one": [1.0, 1, 1, 2, 1, 1], "two": [2.0, 2, 2, 1, 2, 2], "three": [3.0, 3, 3, 3, 3, 3]}
SCRIPT = """
import hashlib, sys
from recolorist_lab.report import figures
drawn, axes = figures.figure(3, 2)
with figures.house():
    axes.plot([0, 1, 2], [0.5, 0.1, 0.7], label="α"); axes.set_title("A title"); axes.legend()
for suffix in figures.FORMATS:
    print(hashlib.sha256(figures.render(drawn, suffix)).hexdigest())
assert "matplotlib.pyplot" not in sys.modules
"""


def texts(drawn: object) -> set[str]:
    return {text.get_text() for axes in drawn.axes for text in [*axes.texts, axes.title, axes._left_title]}  # type: ignore[attr-defined]


class TestBytes:
    def test_do_not_depend_on_the_process_or_on_user_settings(self, tmp_path: Path) -> None:
        (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\naxes.facecolor: red\n", "utf-8")
        shown = [
            subprocess.run(  # noqa: S603 - our own words
                [sys.executable, "-W", "error", "-c", SCRIPT], cwd=folder, check=True, capture_output=True, text=True
            ).stdout
            for folder in (Path.cwd(), tmp_path)
        ]
        assert shown[0] == shown[1]
        assert len(set(shown[0].split())) == len(figures.FORMATS)

    def test_settings_of_the_caller_survive(self) -> None:
        with matplotlib.rc_context({"font.size": 31.0}):
            with figures.house():
                assert matplotlib.rcParams["font.size"] == 9.0
            assert matplotlib.rcParams["font.size"] == 31.0


class TestSave:
    def test_writes_every_format(self, tmp_path: Path) -> None:
        drawn, _ = figures.figure(2, 1)
        written = figures.save(drawn, tmp_path / "deep" / "v1.2")
        assert [path.name for path in written] == ["v1.2.png", "v1.2.pdf", "v1.2.svg"]
        starts = [path.read_bytes()[:4] for path in written]
        assert starts[:2] == [b"\x89PNG", b"%PDF"]
        assert b"<svg" in written[2].read_bytes()

    def test_refuses(self, tmp_path: Path) -> None:
        drawn, _ = figures.figure(2, 1)
        with pytest.raises(OptionError, match="without it"):
            figures.save(drawn, tmp_path / "a.png")
        with pytest.raises(OptionError, match="gif"):
            figures.save(drawn, tmp_path / "a", ["gif"])


class TestCriticalDifferenceDiagram:
    def test_names_ranks_and_the_difference_are_on_it(self) -> None:
        found = critical_difference(SCORES)
        shown = texts(figures.critical_difference(found, "Three methods"))
        assert {"one  1.17", "two  1.83", "3.00  three", "Three methods"} <= shown
        assert any(f"{found.difference:.2f}" in words for words in shown)
        assert any("6 datasets" in words for words in shown)

    def test_a_bar_for_every_group(self) -> None:
        found = critical_difference(SCORES)
        axes = figures.critical_difference(found, "x").axes[0]
        bars = [line for line in axes.lines if line.get_linewidth() == 4.0]
        assert len(bars) == len(found.groups) == 2
