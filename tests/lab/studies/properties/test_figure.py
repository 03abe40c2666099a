"""The figures of the properties."""

from __future__ import annotations

from recolorist_lab.studies.properties import figure as properties_figure
from tests.lab.studies.properties.kit import Row


def test_the_figures_can_be_drawn(rows: tuple[list[Row], dict[str, bytes]]) -> None:
    from recolorist_lab.report.figures import render

    found = {name: properties_figure.instances(kept) for name, kept in list(rows[1].items())[:2]}
    assert render(properties_figure.clipping(found), "png")[:4] == b"\x89PNG"
    assert render(properties_figure.limits(rows[0]), "png")[:4] == b"\x89PNG"
