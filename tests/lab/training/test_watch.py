"""What is shown of a run, on a terminal and without one."""

from __future__ import annotations

import sys

import pytest

from recolorist_lab.training.watch import Now, bar, watchers

_TEXT = "loss 1.2500, accuracy 0.375; validation 0.7500, 0.500"


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    with bar():
        looking = watchers()
        looking.minibatch(Now(0, 100, 1, 4, 1.5, 0.25))
        looking.epoch({"epoch": 0, "val_loss": 0.75, "val_balanced_accuracy": 0.5})
        looking.minibatch(Now(1, 100, 2, 4, 1.25, 0.375))
        looking.close()
    assert watchers()._watchers == ()
    return capsys.readouterr().err


def test_a_terminal_shows_loss_accuracy_and_validation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    text = shown(capsys)
    assert "epoch 2/100" in text
    assert _TEXT in text


def test_a_log_gets_the_same_as_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == f"epoch 2/100: 6 of 400, {_TEXT}\n"
