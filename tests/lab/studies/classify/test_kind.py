"""The studies of classification: the paper's grids, and a cell of every quick one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load

CONFIGS = Path(__file__).parents[4] / "configs"


class TestStudies:
    def test_the_papers_grids(self) -> None:
        main, sweep = load(CONFIGS / "classify.toml"), load(CONFIGS / "probability.toml")
        assert len(main.cells) == 17 * 19 * 3
        assert len(sweep.cells) == 21 * 19 * 3
        every = [cell.config for cell in (*main.cells, *sweep.cells)]
        assert {(one.model, one.size, one.batch, one.epochs, one.patience) for one in every} == {
            ("densenet121", 224, 256, 100, 15)
        }
        assert sorted({cell.config.probability for cell in sweep.cells}) == [round(0.05 * step, 2) for step in range(21)]

    @pytest.mark.parametrize("name", ["classify", "probability"])
    def test_every_kind_of_cell_of_the_quick_twins_runs(self, name: str, tmp_path: Path) -> None:
        """At a size that takes a second: one seed, one epoch, few tiles."""
        text = (CONFIGS / f"{name}.quick.toml").read_text("utf-8")
        for old, new in (("tiles=240,size=64", "tiles=12,size=32"), ("size = 64", "size = 32"), ("epochs = 15", "epochs = 1")):
            assert old in text
            text = text.replace(old, new)
        told = tomllib.loads(text)
        for grid in told["grid"]:
            text = text.replace(f"axes.seed = {json.dumps(grid['axes']['seed'])}", "axes.seed = [71397589]")
            text = text.replace(json.dumps(grid["axes"].get("probability")), "[0.3]")
        (tmp_path / "small.toml").write_text(text, "utf-8")
        study = load(tmp_path / "small.toml")
        assert len(study.cells) == {"classify": 6, "probability": 1}[name]
        Ledger(tmp_path / "ledger")
        for cell in study.cells:
            outcome = run_cell(tmp_path / "ledger", 30.0, cell)
            assert outcome.name == "done", outcome.message
