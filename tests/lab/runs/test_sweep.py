"""Sweeps through the real command line, in processes of their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.rehearsal.cell import chain
from tests.lab.command import answer, begun, lab
from tests.lab.study_files import finished, grid, rehearsal, until


class TestRun:
    def test_cells_get_the_results_they_build_on(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2, 3], pause=0.1), grid([9], name="score", needs=[{"grid": "train"}]))
        assert (
            answer("sweep", "run", path, "--ledger", book, "--jobs", "4")["ran"] == 4
        )  # one process more than cells that are ready
        score = load(path).cells[-1]
        assert Ledger(book).result(score).result["chain"] == chain(9, 3, [chain(index, 3) for index in (1, 2, 3)])

    def test_a_failure_blocks_what_builds_on_it_and_nothing_else(self, tmp_path: Path, book: Path) -> None:
        fuse = tmp_path / "fuse"
        fuse.mkdir()
        (fuse / "2").touch()
        needs = [{"grid": "train", "on": ["index"]}]
        path = rehearsal(
            tmp_path, grid([1, 2, 3], trouble="raise", fuse=str(fuse)), grid([1, 2, 3], name="score", steps=5, needs=needs)
        )
        report = answer("sweep", "run", path, "--ledger", book, "--jobs", "2", code=3)
        assert report["failed"] == {"train[index=2]": "this cell was asked to fail, and does"}
        assert (report["blocked"], report["done"]) == (["score[index=2]"], 4)
        outcome = lab("sweep", "run", path, "--ledger", book)
        assert outcome.code == 3
        assert "train[index=2] failed: this cell was asked to fail" in outcome.err
        assert f"to try these again: recolorist-lab sweep retry {path} --ledger {book}" in outcome.err
        assert "score[index=2] was not run, because a cell that it needs failed" in outcome.err
        assert answer("sweep", "status", path, "--ledger", book)["failed"] == 1
        assert answer("sweep", "retry", path, "--ledger", book) == {"cleared": ["train[index=2]"]}
        assert answer("sweep", "run", path, "--ledger", book)["ran"] == 2

    def test_launchers_share_the_work_and_never_a_cell(self, tmp_path: Path, book: Path) -> None:
        witness = tmp_path / "witness"
        witness.mkdir()
        path = rehearsal(tmp_path, grid(list(range(60)), steps=1, witness=str(witness), pause=0.02))
        launchers = [begun("sweep", "run", path, "--ledger", book, "--jobs", "2", "--json") for _ in range(4)]
        reports = [json.loads(launcher.communicate(timeout=600)[0]) for launcher in launchers]
        assert [report["done"] for report in reports] == [60] * 4
        assert sum(report["ran"] for report in reports) == 60
        assert len(list(witness.glob("start-*"))) == 60
        assert not list(witness.glob("twice-*"))


def mounted(folder: Path, *options: str) -> None:
    subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True)  # noqa: S603, S607


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mounted(folder, "-t", "tmpfs", "-o", "size=256k", "tmpfs")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small tmpfs needs root and the right to mount")
    return folder


class TestDisks:
    @pytest.fixture(autouse=True)
    def _unmounted(self, disk: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202
        yield
        subprocess.run(["umount", "-l", str(disk)], check=True)  # noqa: S603, S607

    def test_a_full_disk_is_an_error_at_once(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1], ballast=6400), grid([2, 3, 4], name="large", ballast=640_000))
        outcome = lab("sweep", "run", path, "--ledger", disk / "ledger", "--jobs", "1")
        assert outcome.code == 1
        assert "No space left on device" in outcome.err
        ledger, cells = Ledger(disk / "ledger"), load(path).cells
        assert [ledger.state(cell).name for cell in cells] == ["done", "missing", "missing", "missing"]
        mounted(disk, "-o", "remount,size=8m")
        assert answer("sweep", "run", path, "--ledger", disk / "ledger", "--jobs", "1")["done"] == 4

    def test_a_full_disk_stops_new_ledgers_too(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1]))
        (disk / "filler").write_bytes(bytes(256 * 1024))
        outcome = lab("sweep", "run", path, "--ledger", disk / "ledger")
        assert outcome.code == 1
        assert "No space left on device" in outcome.err

    def test_a_read_only_ledger_can_be_read_and_not_run(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1]))
        finished(load(path), Ledger(disk / "ledger"))
        more = rehearsal(tmp_path, grid([1, 2]), name="more")
        mounted(disk, "-o", "remount,ro")
        outcome = lab("sweep", "run", more, "--ledger", disk / "ledger")
        assert outcome.code == 1
        assert "Read-only file system" in outcome.err
        assert answer("sweep", "status", more, "--ledger", disk / "ledger")["missing"] == 1
        assert len(answer("sweep", "export", path, "--ledger", disk / "ledger")) == 1

    def test_a_disk_that_turns_read_only_in_the_middle_is_an_error_at_once(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2], steps=4000, pause=0.05))
        ledger, cell = Ledger(disk / "ledger"), load(path).cells[0]
        launcher = begun("sweep", "run", path, "--ledger", ledger.root, "--jobs", "1")
        until(lambda: ledger.state(cell).name == "running")
        until(lambda: _tried(disk, "remount,ro"))
        _, outcome = launcher.communicate(timeout=300)
        assert (launcher.returncode, "Read-only file system" in outcome.decode()) == (1, True)
        assert answer("sweep", "status", path, "--ledger", ledger.root)["done"] == 0


def _tried(disk: Path, options: str) -> bool:
    """Remounting fails while a file is being written; it succeeds in between."""
    return subprocess.run(["mount", "-o", options, str(disk)], check=False, capture_output=True).returncode == 0  # noqa: S603, S607
