"""The picture of the shift study."""

from __future__ import annotations

import pytest

from recolorist_lab.studies.shift.figure import draw
from tests.lab.studies.shift.kit import rows

pytest.importorskip("matplotlib")


def test_every_method_and_target_is_drawn_for_both_networks() -> None:
    panels = draw(rows()).axes
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["camera", "Colorist"]
    assert [panel.get_title(loc="left") for panel in panels] == ["from scratch", "frozen features"]
    for panel in panels:
        dots = [line for line in panel.lines if line.get_marker() == "o"]
        assert sum(len(line.get_xdata()) for line in dots) == 2 * 3
        assert {round(float(x), 6) for line in dots for x in line.get_xdata()} == {4.0, 10.0}


def test_one_kind_of_network_has_one_panel() -> None:
    panels = draw([row for row in rows() if row["fit"] == "head"]).axes
    assert [panel.get_title(loc="left") for panel in panels] == ["frozen features"]


def test_changes_at_the_source_are_drawn_without_the_gate() -> None:
    panel = draw([row for row in rows() if row["fit"] == "network"], scored="source").axes[0]
    assert panel.get_xlabel() == "change at the source, points"
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert {round(float(x), 6) for line in dots for x in line.get_xdata()} == {-0.4, -1.0}
    assert not [line for line in panel.lines if line.get_marker() == "|"]
