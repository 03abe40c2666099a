"""The sweep of probabilities as a picture."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report import figures
from recolorist_lab.studies.classify import probability_figure
from recolorist_lab.studies.classify.table import MEDMNIST, OOD
from tests.lab.studies.classify.kit import swept


class TestProbability:
    def test_two_panels_a_band_and_a_line_at_thirty_percent(self) -> None:
        pytest.importorskip("matplotlib")
        drawn = probability_figure.sweep(swept([*MEDMNIST, *OOD.values()]))
        left, right = drawn.axes
        assert len(left.lines) == 12 + 1  # and the dotted line
        assert len(right.lines) == 7 + 2 + 1
        assert len(right.collections) == 2  # a band for each aggregate
        for panel in (left, right):
            dotted = [line for line in panel.lines if line.get_linestyle() == ":"]
            assert [list(line.get_xdata()) for line in dotted] == [[0.3, 0.3]]
        assert left.get_ylim() == right.get_ylim()
        assert figures.render(drawn, "png")[:4] == b"\x89PNG"

    def test_the_aggregate_is_formed_within_a_seed(self) -> None:
        rows = swept(list(OOD.values()))
        found = probability_figure.aggregate(rows, "OOD", tuple(OOD.values()))
        assert found.points[0.3] == pytest.approx([0.53, 0.54, 0.55])
        p, mean, spread = found.arrays()
        assert (p.tolist(), mean[0]) == ([0.0, 0.3, 1.0], pytest.approx(0.51))
        assert spread == pytest.approx([0.01] * 3)
        assert not probability_figure.aggregate(rows[:-9], "OOD", tuple(OOD.values())).points.get(2.0)

    def test_nothing_to_draw_is_refused(self) -> None:
        with pytest.raises(OptionError, match="run the sweep first"):
            probability_figure.sweep([])
