"""Work in processes: a worker that dies costs its own image at most, and order does not matter."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import recolorist
from recolorist.collections import Where
from recolorist.collections import run as module
from recolorist.collections.auditing import AuditWork
from recolorist.collections.chunks import Failure
from recolorist.collections.items import Item
from recolorist.collections.run import interrupt_on_termination, run, usable_cores
from recolorist.collections.work import Measure
from recolorist.errors import RecoloristError
from recolorist.io.images import Reading
from recolorist.io.write import encode
from tests.commands import collection, picture


@dataclasses.dataclass(frozen=True)
class Deadly:
    """Work that kills its process on one item, always or the first time."""

    marker: str
    always: bool

    def __call__(self, item: Item) -> str:
        if item.key == "13" and (self.always or not Path(self.marker).exists()):
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item.key == "7":
            raise ZeroDivisionError("a bug")
        return item.key.upper()

    def finish(self, values: list[Any]) -> list[Any]:
        return values


@dataclasses.dataclass(frozen=True)
class Importing:
    """Work that tells what it had to import."""

    work: Any

    def __call__(self, item: Item) -> tuple[str, ...]:
        before = set(sys.modules)
        self.work(item)
        return tuple(sorted(set(sys.modules) - before))

    def finish(self, values: list[Any]) -> list[Any]:
        return values


class TestRunning:
    @pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
    def test_a_killed_worker_costs_at_most_its_own_image(self, tmp_path: Path, always: bool) -> None:
        items = [Item(str(i), "") for i in range(40)]
        found: Sequence[Any] = [value for _, value in sorted(run(Deadly(str(tmp_path / "m"), always), items, Where(2)))]
        assert len(found) == 40
        assert found[7] == Failure("7", "ZeroDivisionError: a bug")
        assert isinstance(found[13], Failure) is always
        assert [value for value in found if not isinstance(value, Failure)] == [
            str(i) for i in range(40) if i != 7 and (i != 13 or not always)
        ]

    @pytest.mark.parametrize("work", [Measure(Reading()), AuditWork(Reading())], ids=["bank", "audit"])
    def test_a_worker_need_not_import_anything_for_its_first_image(self, tmp_path: Path, work: Any) -> None:
        many = [Item(f"{i}.jpg", str(tmp_path / f"{i}.jpg")) for i in range(24)]
        for item in many:
            Path(item.path).write_bytes(encode(picture(), ".jpg"))
        assert {value for _, value in run(Importing(work), many, Where(2))} == {()}

    def test_wrong_engines_and_jobs(self) -> None:
        wrong: list[dict[str, Any]] = [{"engine": "dask"}, {"jobs": 0}]
        for options in wrong:
            with pytest.raises(RecoloristError):
                Where(**options)


PROGRAM = """
import sys
from recolorist.collections import Where, build_bank

def main():
    print(build_bank(sys.argv[1], where=Where(jobs=int(sys.argv[2]))).bank.fingerprint)
"""
GUARDED = PROGRAM + "\nif __name__ == '__main__':\n    main()\n"


def program(folder: Path, text: str, jobs: int) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text, "utf-8")
    source = str(Path(recolorist.__file__).parents[1])
    command = [sys.executable, str(folder / "program.py"), str(folder / "data"), str(jobs)]
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)  # noqa: S603


class TestPrograms:
    """A program that uses several processes is imported by each of them, as in every use of multiprocessing."""

    def test_the_same_result_for_any_number_of_processes(self, tmp_path: Path) -> None:
        collection(tmp_path / "data", 26)
        one, two = (program(tmp_path, GUARDED, jobs) for jobs in (1, 2))
        assert (one.returncode, two.returncode) == (0, 0), two.stderr
        assert one.stdout == two.stdout

    def test_a_program_without_a_guard_is_told_so(self, tmp_path: Path) -> None:
        collection(tmp_path / "data", 26)
        result = program(tmp_path, PROGRAM + "\nmain()\n", 2)
        assert result.returncode != 0
        lines = result.stderr.splitlines()  # Python's tracker of semaphores may add a line after ours
        assert any(line.startswith("recolorist.errors.RecoloristError: no worker process could start") for line in lines)
        assert "if __name__ == '__main__':" in result.stderr

    def test_one_process_needs_no_guard(self, tmp_path: Path) -> None:
        collection(tmp_path / "data", 26)
        result = program(tmp_path, PROGRAM + "\nmain()\n", 1)
        assert (result.returncode, result.stderr) == (0, "")


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


def test_where_there_is_no_fork_server_processes_are_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert module._context().get_start_method() == "spawn"


def test_a_run_ends_where_every_worker_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each image would otherwise start a process that dies, for hours in a large collection."""
    tries: list[int] = []

    def die(_work: Any, waiting: deque[Any], _jobs: int, lost: list[Any]) -> Iterator[tuple[int, Any]]:
        tries.append(len(waiting))
        lost.extend(waiting)
        waiting.clear()
        yield from ()

    monkeypatch.setattr(module, "_run_in_pool", die)
    items = [Item(str(number), "") for number in range(100)]
    with pytest.raises(RecoloristError, match="worker processes die whatever they work on; is there memory left"):
        list(run(lambda item: item, items, Where(jobs=2)))  # type: ignore[arg-type]
    assert len(tries) == 1 + 9  # the pool, and nine images alone


def test_the_cores_of_this_process_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
