"""The table of the hospitals' quick form."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.classify import hospitals as hospitals_table
from recolorist_lab.studies.classify import probability_figure
from tests.lab.studies.classify.kit import row, swept


class TestHospitals:
    def rows(self) -> list[dict[str, Any]]:
        more = {"result.source.balanced_accuracy": 0.9, "result.val_split.balanced_accuracy": 0.3}
        rows = [row(name, "synthetic", seed, 0.4 + 0.1 * seed, **more) for name in ("none", "colorist") for seed in (0, 1)]
        return rows + [{**one, **more} for one in swept(["synthetic"], 2)]

    def test_source_and_unseen_side_by_side(self) -> None:
        tables = {name: markdown(table) for name, table in hospitals_table.tables(self.rows()).items()}
        assert "| Baseline | 0.900 ± 0.000 | 0.300 ± 0.000 | 0.450 ± 0.071 | 0.375 ± 0.035 |" in tables["methods"]
        assert tables["methods"].count("\n") == 4
        assert "| 30% | 0.900" in tables["probabilities"]

    def test_the_picture_has_the_source_on_the_left(self) -> None:
        pytest.importorskip("matplotlib")
        drawn = probability_figure.hospitals([one for one in self.rows() if one["grid"] == "probability"])
        assert [panel.get_title(loc="left") for panel in drawn.axes] == ["Source, held out", "Unseen hospitals"]
        assert len(drawn.axes[1].lines) == 2 + 1 + 1
