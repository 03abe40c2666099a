"""Worker processes: one that dies costs its own image at most, whatever it was doing, and the others go on."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import recolorist
from recolorist.collections import Where, workers
from recolorist.collections.auditing import AuditWork
from recolorist.collections.chunks import Chunk, Failure
from recolorist.collections.items import Item
from recolorist.collections.run import run
from recolorist.collections.target import OutputError
from recolorist.collections.work import Measure
from recolorist.errors import RecoloristError
from recolorist.io.images import Reading
from recolorist.io.write import encode
from tests.commands import collection, picture

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")


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
class DeadlyAnswer:
    """Work that kills its process the first time, while the answer to one item is being written to the pipe."""

    marker: str

    def __call__(self, item: Item) -> bytes:
        if item.key == "13" and not Path(self.marker).exists():
            Path(self.marker).touch()
            threading.Thread(target=_kill_while_sending, args=(threading.main_thread().ident,), daemon=True).start()
            return bytes(1 << 26)
        return b"done"

    def finish(self, values: list[Any]) -> list[Any]:
        return values


def _kill_while_sending(thread: int) -> None:
    while sys._current_frames()[thread].f_code.co_name != "_send":
        time.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)


@dataclasses.dataclass(frozen=True)
class FullDisk:
    """Work that cannot write."""

    def __call__(self, item: Item) -> str:
        raise OutputError(f"{item.key} cannot be written: the disk is full")

    def finish(self, values: list[Any]) -> list[Any]:
        return values


@dataclasses.dataclass(frozen=True)
class AlwaysDeadly:
    """Work that kills its process, and counts how often."""

    folder: str

    def __call__(self, item: Item) -> str:
        (Path(self.folder) / f"{item.key}-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    def finish(self, values: list[Any]) -> list[Any]:
        return values


ITEMS = [Item(str(i), "") for i in range(40)]


@needs_kill
@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_a_killed_worker_costs_at_most_its_own_image(tmp_path: Path, always: bool) -> None:
    found: Sequence[Any] = [value for _, value in sorted(run(Deadly(str(tmp_path / "m"), always), ITEMS, Where(2)))]
    assert len(found) == 40
    assert found[7] == Failure("7", "ZeroDivisionError: a bug")
    assert isinstance(found[13], Failure) is always
    assert [value for value in found if not isinstance(value, Failure)] == [
        str(i) for i in range(40) if i != 7 and (i != 13 or not always)
    ]


@needs_kill
def test_a_worker_killed_while_it_answers_stops_nobody(tmp_path: Path) -> None:
    """A pool with one pipe for all waited for the rest of the answer without end."""
    assert sorted(run(DeadlyAnswer(str(tmp_path / "m")), ITEMS, Where(2))) == [(i, b"done") for i in range(40)]


def test_a_full_disk_ends_the_run() -> None:
    with pytest.raises(OutputError, match="the disk is full"):
        list(run(FullDisk(), ITEMS, Where(2)))
    assert not multiprocessing.active_children()


@needs_kill
def test_a_run_ends_where_every_worker_dies(tmp_path: Path) -> None:
    """Each image would otherwise start a process that dies, for hours in a large collection."""
    items = [Item(str(i), "") for i in range(400)]
    with pytest.raises(RecoloristError, match="worker processes die with every file; the machine may be out of memory"):
        list(run(AlwaysDeadly(str(tmp_path)), items, Where(2)))
    assert len(list(tmp_path.iterdir())) in (9, 10)  # one more may have been at work
    assert not multiprocessing.active_children()


@needs_kill
def test_a_run_ends_where_every_image_kills_its_worker(tmp_path: Path) -> None:
    """Few chunks, so that the images are tried one by one before nine processes died."""
    chunks: list[Chunk] = [(i, [Item(str(i), "")] * 9) for i in (0, 9)]
    with pytest.raises(RecoloristError, match="worker processes die with every file"):
        list(workers.run_in_processes(AlwaysDeadly(str(tmp_path)), chunks, 1))
    assert len(list(tmp_path.iterdir())) == 2 + 9


def test_workers_end_with_a_run_that_is_not_read_to_its_end() -> None:
    results = run(Deadly("m", always=False), ITEMS[:12] * 2, Where(2))
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()


def test_where_there_is_no_fork_server_processes_are_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert workers._context().get_start_method() == "spawn"


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


@pytest.mark.parametrize("work", [Measure(Reading()), AuditWork(Reading())], ids=["bank", "audit"])
def test_a_worker_need_not_import_anything_for_its_first_image(tmp_path: Path, work: Any) -> None:
    many = [Item(f"{i}.jpg", str(tmp_path / f"{i}.jpg")) for i in range(24)]
    for item in many:
        Path(item.path).write_bytes(encode(picture(), ".jpg"))
    assert {value for _, value in run(Importing(work), many, Where(2))} == {()}


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
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)  # noqa: S603


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
