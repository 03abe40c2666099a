"""The transfer study: training cells, evaluations that build on them, the table and the picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.transfer import cell as transfer
from recolorist_lab.studies.transfer import table as transfer_table
from recolorist_lab.studies.transfer import train as transfer_train
from recolorist_lab.studies.transfer.train import TransferTrain
from tests.lab.studies.transfer.kit import SMALL, Context


class TestEvaluation:
    def test_weights_come_from_the_training_cell(self) -> None:
        trained = Context()
        transfer_train.run(TransferTrain(method="contrimix", **SMALL), trained)
        cell = SimpleNamespace(config={"method": "contrimix"}, result={}, read=trained.kept.__getitem__)
        config = transfer.Transfer(method="contrimix", dataset=SMALL["dataset"], pairs=2, size=64, native=64, metrics=("ssim",))
        first, second = Context({"train": (cell,)}), Context({"train": (cell,)})
        scores = transfer.run(config, first)
        assert transfer.run(config, second)["ssim"] == scores["ssim"]
        with pytest.raises(OptionError, match="2 cells trained contrimix"):
            transfer.run(config, Context({"train": (cell, cell)}))

    def test_the_control_leaves_contents_as_they_are(self) -> None:
        kept = Context()
        config = transfer.Transfer(method="none", dataset=SMALL["dataset"], pairs=2, size=64, metrics=("ssim", "wasserstein"))
        scores = transfer.run(config, kept)
        shown = transfer_table.shown(kept.kept[transfer.SHOWN])
        assert np.array_equal(shown[:, 0], shown[:, 2])
        assert scores["ssim"] == 1.0
        assert float(scores["wasserstein"]) > 0.01  # type: ignore[arg-type]

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
