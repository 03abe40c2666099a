"""The bar: what it says, and that nobody sees it where nobody looks."""

from __future__ import annotations

import sys

import pytest

from recolorist_lab.training import watch
from recolorist_lab.training.watch import Now, bar, watchers


def told(capsys: pytest.CaptureFixture[str]) -> str:
    with bar():
        looking = watchers()
        looking.minibatch(Now(0, 100, 1, 4, 1.5, 0.25))
        looking.epoch({"epoch": 0, "val_loss": 0.75, "val_balanced_accuracy": 0.5})
        looking.minibatch(Now(1, 100, 2, 4, 1.25, 0.375))
        each = looking._each
        for one in each:
            assert isinstance(one, watch._Bar)
            task = one._bar.tasks[0]
            assert (task.completed, task.total) == (1 * 4 + 2, 400)
            assert task.description == "epoch 2/100"
            assert task.fields["told"] == "loss 1.2500, accuracy 0.375; validation 0.7500, 0.500"
        looking.close()
    assert watchers()._each == ()
    return f"{len(each)} {capsys.readouterr().err}"


def test_it_tells_loss_accuracy_validation_and_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert told(capsys).startswith("1 ")


def test_it_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys) == "0 "
