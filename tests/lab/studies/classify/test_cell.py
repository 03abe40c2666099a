"""A cell of classification is one training."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist_lab.studies.classify.cell import Classify, run
from recolorist_lab.training import run as training
from recolorist_lab.training.settings import Settings


def test_the_configuration_and_the_context_reach_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def record(*arguments: Any) -> dict[str, int]:
        calls.append(arguments)
        return {"epochs": 1}

    monkeypatch.setattr(training, "run", record)
    config, context = Classify(dataset="synthetic", seed=0), object()
    assert run(config, context) == {"epochs": 1}  # type: ignore[arg-type]
    assert calls == [(config, context)]
    assert isinstance(config, Settings)
