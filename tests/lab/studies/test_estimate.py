"""What a reproduction needs: data, hours and disk, checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recolorist_lab.cli import reproduce as cli_reproduce
from recolorist_lab.data.named import open_dataset
from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies import estimate
from recolorist_lab.studies.estimate import data_needed, needs_of, seconds_of
from recolorist_lab.studies.rates import speed_up
from recolorist_lab.studies.reproduce import configs
from tests.lab.studies.kit import PROPERTIES, RATES, write


class TestNeeds:
    def test_every_dataset_with_bytes_and_whether_it_is_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path))
        open_dataset("synthetic:hospitals=3,tiles=4,size=16").manifest.write(tmp_path / "ddi.parquet")
        found = {one.name: one for one in data_needed([load(configs() / "classify.toml")])}
        assert len(found) == 19
        assert found["ddi"].is_present
        assert not found["pathmnist"].is_present
        assert found["pathmnist"].bytes == 12_629_854_322
        assert found["pathmnist"].arrays == 107_180 * 224 * 224 * 3
        assert found["chestmnist"].bytes is None  # not published
        assert (found["pathmnist"].fetchable, found["retina"].fetchable) == (True, False)

    def test_hours_by_hand(self) -> None:
        study = load(configs() / "classify.toml")
        cell = next(cell for cell in study.cells if cell.config.dataset == "breastmnist")  # 546, 78, 156 images
        assert seconds_of(cell, RATES) == pytest.approx(0.1 * (100 * (546 + 78 / 3) + 156 / 3))
        grids = load(configs() / "transfer.toml").grids()
        ratio = RUNTIME["gpu", "SANET"].mean / RUNTIME["gpu", "AdaIN"].mean
        trained = next(cell for cell in grids["train"] if cell.config.method == "sanet")
        from recolorist_lab.baselines.registry import class_of

        own = class_of("sanet").defaults
        assert seconds_of(trained, RATES) == pytest.approx(2.0 * ratio * own.iterations * own.batch)
        judged = next(cell for cell in grids["baselines"] if cell.config.method == "sanet")
        assert seconds_of(judged, RATES) == pytest.approx(800 * (0.5 + 2.0 * ratio / 3))
        assert seconds_of(grids["colorist"][0], RATES) == pytest.approx(800 * 0.5)
        assert seconds_of(load(configs() / "properties.toml").cells[0], RATES) == pytest.approx(400 * 0.25)
        assert seconds_of(load(configs() / "runtime.toml").cells[0], RATES) == pytest.approx(150.0)
        assert seconds_of(load(configs() / "check.toml").cells[0], RATES) is None

    def test_finished_cells_are_not_counted(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "c", properties=PROPERTIES)
        study, ledger = load(folder / "properties.toml"), Ledger(tmp_path / "ledger")
        before = needs_of([study], ledger, RATES)
        assert before.work[0].left == 1
        assert before.work[0].hours == pytest.approx(2 * 0.25 / 3600)
        assert before.gpu_hours == pytest.approx(2 * 0.25 / 3600 / speed_up())
        run_cell(ledger.root, ledger.lease, study.cells[0])
        after = needs_of([study], ledger, RATES)
        assert (after.work[0].left, after.work[0].hours) == (0, 0.0)

    def test_disk_is_what_is_missing(self, tmp_path: Path) -> None:
        one = 'set = { dataset = "pathmnist" }\naxes.seed = [0, 1]'
        folder = write(tmp_path / "c", classify=f'\n[[grid]]\nkind = "classify"\n{one}\n')
        needs = needs_of([load(folder / "classify.toml")], Ledger(tmp_path / "ledger"), RATES)
        assert needs.disk == 12_629_854_322 + 107_180 * 224 * 224 * 3 + 2 * RATES.classifier_bytes

    def test_it_is_said_how_the_numbers_came_about(self, tmp_path: Path) -> None:
        needs = needs_of([load(configs() / "classify.toml")], Ledger(tmp_path / "ledger"), RATES)
        text = "\n".join(cli_reproduce.lines_of(needs))
        assert "0.1 s for one image that the classifier learns from" in text
        assert "GPU hours are the processor's divided by 64" in text
        assert "pathmnist         missing, to download, 12.6 GB" in text
        assert "retina            missing, must be requested (account, by hand, agreement), size not published" in text
        assert json.loads(json.dumps(needs.to_json()))["disk_bytes"] == needs.disk
        on_gpu = needs_of([load(configs() / "classify.toml")], Ledger(tmp_path / "ledger"), replace(RATES, device="cuda"))
        assert on_gpu.gpu_hours == pytest.approx(sum(one.hours or 0 for one in on_gpu.work))

    def test_small_cells_are_really_run(self, tmp_path: Path) -> None:
        tiny = 'set = { dataset = "synthetic", seed = 0, model = "test_resnet", size = 32 }'
        folder = write(tmp_path / "c", classify=f'\n[[grid]]\nkind = "classify"\n{tiny}\n')
        rates = estimate.measured([load(folder / "classify.toml")], networks=False, device="cpu", side=64)
        assert min(rates.train, rates.learn, rates.pair, rates.properties) > 0
        assert rates.classifier_bytes > 4 * 300_000  # weights of 373,000 parameters
        assert rates.baseline_bytes > 4 * 3_000_000  # AdaIN's decoder
