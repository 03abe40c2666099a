"""The figures of the colour spaces."""

from __future__ import annotations

from recolorist_lab.studies.spaces import figure as spaces_figure
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces.table import (
    SpaceScores,
)
from tests.lab.studies.spaces.kit import full


def test_figures_can_be_drawn() -> None:
    from recolorist_lab.report.figures import render

    scores = SpaceScores.of(full(6))
    assert render(spaces_figure.methods(scores), "png")[:4] == b"\x89PNG"
    assert render(spaces_figure.ranks(spaces_statistics.significance(scores)), "png")[:4] == b"\x89PNG"
