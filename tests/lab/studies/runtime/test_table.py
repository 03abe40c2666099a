"""The tables of the runtime study."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.runtime import table as runtime_table
from tests.lab.studies.runtime.kit import ROWS, row


class TestTable:
    def test_ratios_are_to_the_own_colorist_of_each(self) -> None:
        lines = {
            line.split("|")[1].strip(): [part.strip() for part in line.split("|")]
            for line in markdown(runtime_table.latency(ROWS)).splitlines()
        }
        assert lines["AdaIN"][10] == "4,000"  # 200 / 0.05
        assert lines["AdaIN"][11:13] == ["132", "52"]  # as printed, and 132.20 / 2.53
        assert lines["Modflows"][10] == "180,000"
        assert lines["Colorist, style from a bank"][10:13] == ["0.6", "–", "–"]

    def test_modelled_energy_is_marked_and_processor_time_stands_beside(self) -> None:
        text = markdown(runtime_table.energy(ROWS))
        assert text.count("modelled") == len(ROWS)
        assert "CPU time, ms" in text
        assert "| AdaIN | 2 | modelled | 4,000 | 400 | 4,000 | 4.277 | 80 |" in text

    def test_without_colorist_there_is_nothing_to_compare_to(self) -> None:
        with pytest.raises(OptionError, match="to which all are compared"):
            markdown(runtime_table.latency(ROWS[:2]))
        with pytest.raises(OptionError, match="no row for the device 'cuda'"):
            markdown(runtime_table.latency(ROWS, "cuda"))

    def test_growth_has_a_column_for_each_side(self) -> None:
        grown = [row("colorist", 0.01 * side, side, "growth") for side in (64, 256)] + [row("adain", 9.0, 64, "growth")]
        assert markdown(runtime_table.growth(grown)).splitlines()[2:] == [
            "| Colorist, two 8-bit images | 0.64 | 2.56 |",
            "| AdaIN | 9 | – |",
        ]
