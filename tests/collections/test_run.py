"""Where work runs: options, requests to end, threads and cores."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from recolorist.collections import Where
from recolorist.collections import run as module
from recolorist.collections.run import interrupt_on_termination, usable_cores
from recolorist.errors import RecoloristError


class TestRunning:
    def test_wrong_engines_and_jobs(self) -> None:
        wrong: list[dict[str, Any]] = [{"engine": "dask"}, {"jobs": 0}]
        for options in wrong:
            with pytest.raises(RecoloristError):
                Where(**options)


class TestTermination:
    def test_a_request_to_end_is_an_interrupt_and_the_handler_comes_back(self) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), interrupt_on_termination():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is before

    def test_in_a_thread_nothing_is_changed(self) -> None:
        """Only the main thread may set handlers."""
        handlers: list[Any] = []

        def work() -> None:
            with interrupt_on_termination():
                handlers.append(signal.getsignal(signal.SIGTERM))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert handlers == [signal.getsignal(signal.SIGTERM)]


def test_workers_use_one_thread_each_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with module._limit_threads():
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("3", "1")
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


def test_the_cores_of_this_process_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
