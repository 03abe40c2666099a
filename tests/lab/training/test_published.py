"""Scores of published checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.named import open_dataset
from recolorist_lab.training import published
from recolorist_lab.training.feed import FeedError
from recolorist_lab.training.run import run
from tests.lab.assets.test_zoo import made
from tests.lab.training.contexts import TINY, Memory, small


class TestEvaluating:
    def test_a_run_of_our_own_scores_as_it_did(self, tmp_path: Path) -> None:
        context = Memory()
        result: Any = run(small(), context)
        for name in ("model.safetensors", "config.json"):
            (tmp_path / name).write_bytes(context.kept[name])
        found: Any = published.evaluate(published.load(str(tmp_path)), open_dataset(TINY), batch=16, accelerator="cpu")
        for name in ("balanced_accuracy", "loss", "auc", "ece"):
            assert found[name] == pytest.approx(result["test"][name], abs=1e-6)
        assert (found["size"], found["normalised_with"]) == (32, "of the checkpoint")

    def test_without_statistics_those_of_the_training_split_serve(self, tmp_path: Path) -> None:
        loaded = published.load(str(made(tmp_path, "own", 4, "test_resnet", model="test_resnet")))
        found = published.evaluate(loaded, open_dataset(TINY), size=32, accelerator="cpu")
        assert found["normalised_with"] == "of the training split here"

    def test_other_classes_are_refused(self, tmp_path: Path) -> None:
        loaded = published.load(str(made(tmp_path, "own", 3, "test_resnet", model="test_resnet")))
        with pytest.raises(OptionError, match="has 4 classes"):
            published.evaluate(loaded, open_dataset(TINY), size=32, accelerator="cpu")

    def test_workers_need_shared_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where it is too small they lose what they read, and an evaluation would wait for it for ever."""
        loaded = published.load(str(made(tmp_path, "own", 4, "test_resnet", model="test_resnet")))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        monkeypatch.setattr(Path, "is_dir", lambda _: True)
        with pytest.raises(FeedError, match="--shm-size"):
            published.evaluate(loaded, open_dataset(TINY), size=32, workers=1, accelerator="cpu")
