"""The figures of the runtime study."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report import figures
from recolorist_lab.studies.runtime import figure as runtime_figure
from tests.lab.studies.runtime.kit import ROWS, row


def test_figures_are_drawn_and_depend_on_the_rows_alone() -> None:
    grown = [row("colorist", 0.01 * side, side, "growth") for side in (64, 256)]
    for make, given in ((runtime_figure.bars, ROWS), (runtime_figure.growth, grown)):
        assert figures.render(make(given), "svg") == figures.render(make(given), "svg")
    assert figures.render(runtime_figure.bars(ROWS, "energy_mwh"), "svg") != figures.render(runtime_figure.bars(ROWS), "svg")
    with pytest.raises(OptionError, match="accepted are mean_ms"):
        runtime_figure.bars(ROWS, "joules")
