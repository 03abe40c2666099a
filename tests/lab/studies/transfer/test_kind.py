"""The studies of style transfer: the paper's grids, and the quick one run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist_lab.report import figures
from recolorist_lab.report.rows import rows
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from recolorist_lab.runs.sweep import run_study
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import table as transfer_table
from recolorist_lab.studies.transfer.cell import Transfer
from recolorist_lab.studies.transfer.kind import TRANSFER, TRANSFER_TRAIN
from recolorist_lab.studies.transfer.train import TransferTrain

CONFIGS = Path(__file__).parents[4] / "configs"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Ledger]:
    study, book = load(CONFIGS / "transfer.quick.toml"), Ledger(tmp_path_factory.mktemp("ledger"))
    report = run_study(study, book, LocalEngine(book, jobs=1))
    assert report.is_complete, report.failed
    return study, book


class TestStudy:
    def test_the_full_one_is_the_papers(self) -> None:
        grids = load(CONFIGS / "transfer.toml").grids()
        assert {name: len(cells) for name, cells in grids.items()} == {
            "train": 11 * 19 * 3,
            "baselines": 11 * 19 * 3,
            "wct2": 19 * 3,
            "modflows": 19 * 3,
            "modflows-before-fix": 19 * 3,
            "colorist": 19 * 3,
        }
        baseline = grids["baselines"][0]
        ((_, trained),) = baseline.inputs
        assert (trained.config.method, trained.config.dataset, trained.config.seed) == (
            baseline.config.method, baseline.config.dataset, baseline.config.seed,
        )  # fmt: skip
        assert baseline.config.pairs == 800
        assert not any(grids[name][0].inputs for name in ("wct2", "modflows", "colorist"))  # used as published, or untrained

    def test_the_quick_one_runs(self, finished: tuple[Study, Ledger]) -> None:
        found = {(row["grid"], row["method"]): row for row in rows(*finished)}
        assert found["train", "adain"]["result.steps"] == 6
        for place in (("baselines", "adain"), ("baselines", "contrimix"), ("colorist", "colorist")):
            assert found[place]["result.pairs"] == 4
            assert 0 < float(found[place]["result.wasserstein"]) < 1  # type: ignore[arg-type]
        assert found["colorist", "colorist"]["result.ssim"] > found["baselines", "adain"]["result.ssim"]  # type: ignore[operator]

    def test_pictures_are_kept_for_the_grid(self, finished: tuple[Study, Ledger]) -> None:
        study, book = finished
        cells = [cell for cell in study.cells if cell.kind == "transfer"]
        pictures = {cell.config.method: transfer_table.shown(book.result(cell).read(transfer.SHOWN)) for cell in cells}
        assert all(found.shape == (4, 3, 64, 64, 3) for found in pictures.values())
        assert np.array_equal(pictures["adain"][:, 0], pictures["colorist"][:, 0])  # the same contents
        drawn = transfer_table.grid(pictures)
        assert figures.render(drawn, "png").startswith(b"\x89PNG")


RATES: Any = SimpleNamespace(learn=2.0, pair=3.0, baseline_bytes=7)
DATA = "synthetic:hospitals=3,tiles=4,size=24"


def seconds(**values: Any) -> float:
    assert TRANSFER_TRAIN.seconds is not None
    return float(TRANSFER_TRAIN.seconds(TransferTrain(**{"method": "adain", "dataset": DATA, **values}), RATES) or 0)


def test_a_training_costs_its_images() -> None:
    assert seconds(iterations=10, batch=4) == pytest.approx(80.0)  # forty images of AdaIN at its own size
    assert seconds(iterations=10, batch=4, crop_size=128) == pytest.approx(20.0)


def test_epochs_are_counted_where_they_are_asked_for() -> None:
    assert seconds(epochs=4) == pytest.approx(2 * seconds(epochs=2))
    assert seconds(method="sgvits") == pytest.approx(seconds(method="sgvits", epochs=50))


def test_colorist_costs_the_measuring_alone() -> None:
    assert TRANSFER.seconds is not None
    assert TRANSFER.seconds(Transfer(method="colorist", pairs=10), RATES) == pytest.approx(30.0)
    assert TRANSFER.seconds(Transfer(method="adain", pairs=10, native=256), RATES) != pytest.approx(30.0)
