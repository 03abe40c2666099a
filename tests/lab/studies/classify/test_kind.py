"""The studies of classification: the paper's grids, and a cell of every quick one."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies import rates
from recolorist_lab.studies.classify.cell import Classify
from recolorist_lab.studies.classify.kind import CLASSIFY
from recolorist_lab.studies.rates import Rates

CONFIGS = Path(__file__).parents[4] / "configs"


class TestStudies:
    def test_the_papers_grids(self) -> None:
        main, sweep = load(CONFIGS / "classify.toml"), load(CONFIGS / "probability.toml")
        assert len(main.cells) == 17 * 19 * 3 + 19 * 3  # IB-ERM also as in DomainBed
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
        entries = tomllib.loads(text)
        for grid in entries["grid"]:
            text = text.replace(f"axes.seed = {json.dumps(grid['axes']['seed'])}", "axes.seed = [71397589]")
            text = text.replace(json.dumps(grid["axes"].get("probability")), "[0.3]")
        (tmp_path / "small.toml").write_text(text, "utf-8")
        study = load(tmp_path / "small.toml")
        assert len(study.cells) == {"classify": 6, "probability": 1}[name]
        Ledger(tmp_path / "ledger")
        for cell in study.cells:
            outcome = run_cell(tmp_path / "ledger", 30.0, cell)
            assert outcome.name == "done", outcome.message


class TestSeconds:
    RATES = Rates(0.1, 0.0, 0.0, 0.0, 0, 0, networks=False, device="cpu")

    def test_reading_counts_where_it_is_slower_than_the_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rates, "seconds_to_read", lambda _: 0.8)
        config = Classify("ddi", 1, epochs=2, workers=4)
        train, val, test = rates.sizes_of(config)
        assert CLASSIFY.seconds(config, self.RATES) == pytest.approx(2 * (train * 0.2 + val * 0.2) + test * 0.2)
        alone = CLASSIFY.seconds(replace(config, workers=0), self.RATES)
        assert alone == pytest.approx(2 * (train * 0.9 + val * (0.8 + 0.1 / 3)) + test * (0.8 + 0.1 / 3))

    def test_a_quick_feed_costs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rates, "seconds_to_read", lambda _: 0.001)
        config = Classify("ddi", 1, epochs=1)
        train, val, test = rates.sizes_of(config)
        assert CLASSIFY.seconds(config, self.RATES) == pytest.approx(0.1 * (train + (val + test) / 3))
