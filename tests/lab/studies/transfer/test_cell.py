"""The transfer study: training cells, evaluations that build on them, the table and the picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.report import figures
from recolorist_lab.report.rows import rows
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from recolorist_lab.runs.sweep import run_study
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import table as transfer_table
from recolorist_lab.studies.transfer import train as transfer_train
from recolorist_lab.studies.transfer.train import TransferTrain, recipe_of

CONFIGS = Path(__file__).parents[4] / "configs"
SMALL: dict[str, Any] = {
    "dataset": "synthetic:tiles=6,size=64",
    "seed": 3,
    "iterations": 4,
    "batch": 2,
    "load_size": 64,
    "crop_size": 64,
    "encoder": "random",
}


class Context:
    """A ledger for one cell."""

    def __init__(self, inputs: Any = None, found: tuple[int, bytes] | None = None) -> None:
        self.inputs, self.found = inputs or {}, found
        self.saved: dict[int, bytes] = {}
        self.kept: dict[str, bytes] = {}

    def resume(self) -> tuple[int, bytes] | None:
        return self.found

    def save(self, step: int, data: bytes) -> None:
        self.saved[step] = data

    def keep(self, name: str, data: bytes) -> None:
        self.kept[name] = data


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


class TestTraining:
    def test_a_resumed_run_keeps_the_same_weights(self) -> None:
        config = TransferTrain(method="contrimix", checkpoint=2, **SMALL)
        whole = Context()
        transfer_train.run(config, whole)
        assert list(whole.saved) == [2]
        again = Context(found=(2, whole.saved[2]))
        transfer_train.run(config, again)
        assert again.kept[transfer_train.WEIGHTS] == whole.kept[transfer_train.WEIGHTS]
        assert again.kept[transfer_train.SAMPLE].startswith(b"\x89PNG")

    def test_one_budget_bounds_every_recipe(self) -> None:
        import torch

        config = TransferTrain(method="adain", **SMALL)
        with torch.device("meta"):
            own = recipe_of(config, build("adain", encoder="random"))
            large = recipe_of(config, build("iecontrast", encoder="random"))
            epochs = recipe_of(config, build("sgvits", encoder="random", size=64))
        assert (own.batch, own.iterations, own.load_size, own.crop_size) == (2, 4, 64, 64)
        assert large.crop_size == large.load_size >= 125  # what its discriminator needs goes before
        assert (epochs.epochs, epochs.iterations, epochs.accumulate, epochs.crop_size) == (None, 4, 1, 64)

    def test_zeros_are_the_methods_own(self) -> None:
        import torch

        with torch.device("meta"):
            model = build("adain", encoder="random")
        assert recipe_of(TransferTrain(method="adain"), model) == model.defaults

    def test_odd_numbers_are_refused(self) -> None:
        with pytest.raises(OptionError, match="numbers from 0"):
            TransferTrain(method="adain", batch=-1)


class TestEvaluation:
    def test_weights_come_from_the_training_cell(self) -> None:
        trained = Context()
        transfer_train.run(TransferTrain(method="contrimix", **SMALL), trained)
        cell = SimpleNamespace(config={"method": "contrimix"}, result={}, read=trained.kept.__getitem__)
        config = transfer.Transfer(method="contrimix", dataset=SMALL["dataset"], pairs=2, size=64, native=64, metrics=("ssim",))
        first, second = Context({"train": (cell,)}), Context({"train": (cell,)})
        told = transfer.run(config, first)
        assert transfer.run(config, second)["ssim"] == told["ssim"]
        with pytest.raises(OptionError, match="2 cells trained contrimix"):
            transfer.run(config, Context({"train": (cell, cell)}))

    def test_the_control_leaves_contents_as_they_are(self) -> None:
        kept = Context()
        config = transfer.Transfer(method="none", dataset=SMALL["dataset"], pairs=2, size=64, metrics=("ssim", "wasserstein"))
        told = transfer.run(config, kept)
        shown = transfer_table.shown(kept.kept[transfer.SHOWN])
        assert np.array_equal(shown[:, 0], shown[:, 2])
        assert told["ssim"] == 1.0
        assert float(told["wasserstein"]) > 0.01  # type: ignore[arg-type]

    def test_without_weights_it_says_what_to_do(self) -> None:
        config = transfer.Transfer(method="contrimix", dataset=SMALL["dataset"], pairs=2, size=64, metrics=("ssim",))
        with pytest.raises(OptionError, match="baseline train contrimix"):
            transfer.run(config, Context())

    def test_weights_can_come_from_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trained = Context()
        transfer_train.run(TransferTrain(method="contrimix", **SMALL), trained)
        (tmp_path / "made.safetensors").write_bytes(trained.kept[transfer_train.WEIGHTS])
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        common: dict[str, Any] = {"method": "contrimix", "dataset": SMALL["dataset"], "pairs": 2, "size": 64, "native": 64}
        cell = SimpleNamespace(config={"method": "contrimix"}, result={}, read=trained.kept.__getitem__)
        named = transfer.Transfer(**common, weights="made.safetensors", metrics=("ssim",))
        alike = transfer.run(transfer.Transfer(**common, metrics=("ssim",)), Context({"train": (cell,)}))
        found = transfer.run(named, Context())
        assert (found["ssim"], found["weights"], alike["weights"]) == (alike["ssim"], "published", "trained")
        with pytest.raises(OptionError, match="leave one out"):
            transfer.run(named, Context({"train": (cell,)}))
        with pytest.raises(OptionError, match="baseline convert"):
            transfer.run(transfer.Transfer(**common, weights="other.safetensors", metrics=("ssim",)), Context())

    def test_native_sizes(self) -> None:
        assert transfer.native_size(transfer.Transfer(method="colorist")) == 224
        assert transfer.native_size(transfer.Transfer(method="adain")) == 256
        assert transfer.native_size(transfer.Transfer(method="modflows")) == 512


class TestTable:
    def row(self, method: str, seed: int, fid: float) -> dict[str, Any]:
        told = {
            "lpips": 0.2,
            "ssim": 0.7,
            "fid": fid,
            "wasserstein": 0.05,
            "artfid": 1.2 * (1 + fid),
            "native": 256,
            "transform_ms": 3.0,
        }
        return {"grid": "baselines", "method": method, "seed": seed, **{f"result.{name}": value for name, value in told.items()}}

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
