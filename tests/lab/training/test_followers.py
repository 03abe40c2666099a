"""The processes of the other devices: started with their places, ended with the block."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import ClassVar

import pytest

from recolorist_lab.training import followers
from recolorist_lab.training.followers import following
from recolorist_lab.training.settings import Settings
from tests.lab.training.contexts import small


def wait(settings: Settings, context: None) -> None:
    """What a follower does here: nothing."""


class Process:
    made: ClassVar[list[Process]] = []

    def __init__(self, target: object, args: tuple[object, ...]) -> None:  # noqa: ARG002
        self.args, self.exitcode, self.sentinel = args, 0, 0
        Process.made.append(self)

    def start(self) -> None:
        pass

    def join(self, timeout: float = 0) -> None:
        pass


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    Process.made = []
    monkeypatch.setattr("multiprocessing.get_context", lambda _: SimpleNamespace(Process=Process))
    monkeypatch.setattr(followers, "_guard", lambda *_: None)
    monkeypatch.setattr(followers, "_free_port", lambda: 4711)
    monkeypatch.setattr(followers, "_leave", lambda: None)  # other tests may have a group of their own
    for name in followers._NAMES:
        monkeypatch.delenv(name, raising=False)
    return Process.made


def test_one_device_needs_nobody(processes: list[Process]) -> None:
    with following(small(), wait):
        assert "WORLD_SIZE" not in os.environ
    assert processes == []


def test_every_other_device_has_its_place(processes: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_PORT", "7")  # as a launcher of someone else left it
    with following(small(devices=3, batch=18), wait):
        ours = {name: os.environ[name] for name in followers._NAMES}
    places = [process.args[2] for process in processes]
    assert [place["LOCAL_RANK"] for place in places] == ["1", "2"]  # type: ignore[index]
    assert ours["LOCAL_RANK"] == "0"
    assert {place["MASTER_PORT"] for place in places} == {ours["MASTER_PORT"]} == {"4711"}  # type: ignore[index]
    assert ours["WORLD_SIZE"] == "3"
    assert os.environ["MASTER_PORT"] == "7"
    assert "LOCAL_RANK" not in os.environ


def test_an_error_ends_them_too(processes: list[Process]) -> None:
    with pytest.raises(ValueError, match="ours"), following(small(devices=2), wait):
        raise ValueError("ours")
    assert len(processes) == 1
    assert "WORLD_SIZE" not in os.environ
