"""The picture of the shift study."""

from __future__ import annotations

import pytest

from recolorist_lab.studies.shift.figure import draw
from tests.lab.studies.shift.kit import rows

pytest.importorskip("matplotlib")


def test_every_method_and_target_is_drawn() -> None:
    axes = draw(rows()).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["camera", "Colorist"]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in dots) == 2 * 6
    assert {round(float(x), 6) for line in dots for x in line.get_xdata()} == {4.0, 10.0}
