"""The quick study of colour spaces, cut short, from its file to its report."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from recolorist_lab.paper import numbers as paper
from recolorist_lab.report import rows as table
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies.spaces.cell import FILE, METRICS, Spaces
from recolorist_lab.studies.spaces.table import (
    METRICS as PRINTED,
)
from recolorist_lab.studies.spaces.table import (
    SpaceScores,
    assert_algebra,
    table_one,
)
from tests.lab.studies.spaces.kit import QUICK, Row
from tests.lab.study_files import finished


def with_config(cell: Cell, config: Spaces) -> Cell:
    """The cell of another configuration, planned with the code that it uses."""
    return dataclasses.replace(cell, config=config, code=KINDS[cell.kind].fingerprint(config))


class TestQuickStudy:
    def test_without_networks(self, tmp_path: Path) -> None:
        """The quick study with the metrics that need no weights: every cell, its tables, and a second run that finds all done."""
        study, ledger = load(QUICK), Ledger(tmp_path / "book")
        cells = [
            with_config(cell, dataclasses.replace(cell.config, metrics=METRICS[:4], pairs=3)) if cell.kind == "spaces" else cell
            for cell in study.cells
        ]
        small = dataclasses.replace(study, cells=tuple(cells))
        with pytest.raises(table.IncompleteError, match="25 of 25 cells"):
            table.rows(small, ledger)
        finished(small, ledger)
        rows = table.rows(small, ledger)
        scores = SpaceScores.of(one for one in rows if one["grid"] == "spaces")
        assert assert_algebra(scores) == 4
        assert markdown(table_one(scores)).count("—") == 4 * 3  # LPIPS, FID and ArtFID were not asked for
        assert all(0 < one["result.ssim"] <= 1 for one in rows if one["grid"] == "spaces")  # type: ignore[operator]
        kept = ledger.result(cells[0]).read(FILE).decode().splitlines()
        assert kept[0].split(",")[:2] == ["ssim", "ssim_luminance"]
        assert len(kept) == 1 + 3
        cost = rows[-1]
        assert all(cost[f"result.ms.{space}.mean_std.median"] > 0 for space in ("rgb", "ycbcr", "lab"))  # type: ignore[operator]

    def test_with_networks(self, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cells of the quick study as they are: the same bytes in three spaces, so the same numbers from all networks."""
        assert weights.is_dir()
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
        study, ledger = load(QUICK), Ledger(tmp_path / "book")
        wanted = [
            cell
            for cell in study.cells
            if cell.kind == "spaces" and cell.config.method == "mean_std" and cell.config.dataset == "synthetic:tiles=20"
        ]
        small = dataclasses.replace(study, cells=tuple(wanted))
        finished(small, ledger)
        rows: list[Row] = table.rows(small, ledger)
        three = [{name: one[f"result.{name}"] for name in PRINTED} for one in rows if one["space"] != "rgb"]
        assert three[0] == three[1] == three[2]
        assert all(value is not None for value in three[0].values())
        for one in rows:
            assert one["result.artfid"] == pytest.approx((1 + one["result.lpips"]) * (1 + one["result.fid"]))
            assert 0 < one["result.time.transform_share"] < 1
        assert "features_of_styles" not in {name.rpartition(".")[2] for name in rows[1] if rows[1][name] is not None}
        assert paper.TITLES["rgb"] in markdown(table_one(SpaceScores.of(rows)))
