"""The table of style transfer."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.transfer import table as transfer_table


class TestTable:
    def row(self, method: str, seed: int, fid: float) -> dict[str, Any]:
        results = {
            "lpips": 0.2,
            "ssim": 0.7,
            "fid": fid,
            "wasserstein": 0.05,
            "artfid": 1.2 * (1 + fid),
            "native": 256,
            "transform_ms": 3.0,
        }
        return {
            "grid": "baselines",
            "method": method,
            "seed": seed,
            **{f"result.{name}": value for name, value in results.items()},
        }

    def test_means_deviations_and_the_papers_numbers(self) -> None:
        text = markdown(
            transfer_table.table([self.row("colorist", 1, 10.0), self.row("adain", 1, 50.0), self.row("adain", 2, 54.0)])
        )
        lines = text.splitlines()
        assert lines[2].startswith("| AdaIN | 2 | 256 | 0.200 ± 0.000 (0.33) | 0.700 ± 0.000 (0.58) | 52.0 ± 2.8 (70.29)")
        assert "| Colorist | 1 | 256 | 0.200 (0.12)" in lines[3]

    def test_the_control_has_no_printed_number_and_comes_last(self) -> None:
        lines = markdown(transfer_table.table([self.row("none", 1, 30.0), self.row("colorist", 1, 10.0)])).splitlines()
        assert "| Colorist | 1 | 256 | 0.200 (0.12)" in lines[2]
        assert lines[3].startswith("| contents left as they are | 1 | 256 | 0.200 | 0.700 | 30.0 |")

    def test_nothing_to_show_is_refused(self) -> None:
        with pytest.raises(OptionError, match="no row"):
            markdown(transfer_table.table([{"method": "adain"}]))
        with pytest.raises(OptionError, match="no method"):
            transfer_table.grid({})
