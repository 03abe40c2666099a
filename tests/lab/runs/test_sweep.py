"""Sweeps through the real command line, in processes of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.rehearsal.cell import chain
from tests.lab.command import answer, begun, lab, session
from tests.lab.study_files import finished, grid, rehearsal, until

ROOT = Path(__file__).parents[3]
# Those that take seconds; the quick studies that take minutes have tests of their own, cut short.
QUICK = [ROOT / "configs" / f"{name}.quick.toml" for name in ("check", "properties")]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def done(tmp_path: Path, book: Path) -> Path:
    """A study of three finished cells."""
    path = rehearsal(tmp_path, grid([1, 2, 3]))
    finished(load(path), Ledger(book))
    return path


def shortened(path: Path, folder: Path) -> Path:
    """The same study with less data and one value for each axis, which takes seconds instead of half a minute."""
    text = path.read_text("utf-8").replace("tiles=40", "tiles=6").replace("pairs = 24, size = 64", "pairs = 2, size = 24")
    text = re.sub(r"^(axes\.\w+ = \[[^,\]]+),.*", r"\1]", text, flags=re.MULTILINE)
    (folder / path.name).write_text(text, "utf-8")
    return folder / path.name


class TestConfigs:
    @pytest.mark.parametrize("path", QUICK, ids=lambda path: path.name)
    def test_every_quick_study_runs_to_its_table(self, path: Path, book: Path, tmp_path: Path) -> None:
        path = shortened(path, tmp_path)
        first = answer("sweep", "run", path, "--ledger", book, "--jobs", "2")
        assert first["ran"] == first["done"] == first["total"] > 0
        again = answer("sweep", "run", path, "--ledger", book)
        assert (again["ran"], again["reused"]) == (0, first["total"])
        status = answer("sweep", "status", path, "--ledger", book)
        assert (status["done"], status["seconds_left"]) == (first["total"], 0.0)
        assert answer("sweep", "verify", path, "--ledger", book) == {"verified": first["total"], "corrupt": {}}
        table = tmp_path / "table.csv"
        assert lab("sweep", "export", path, "--ledger", book, "--out", table).code == 0
        assert len(table.read_text("utf-8").splitlines()) == first["total"] + 1

    def test_the_check_finds_what_it_should(self, book: Path) -> None:
        path = ROOT / "configs" / "check.quick.toml"
        answer("sweep", "run", path, "--ledger", book, "--jobs", "2")
        rows = answer("sweep", "export", path, "--ledger", book)
        assert all(row["result.error_after"] < row["result.error_before"] for row in rows)
        # The pairs depend on the seed alone: whatever the space and method, the error before matching is the same.
        assert len({(row["seed"], row["result.error_before"]) for row in rows}) == 2


class TestRun:
    def test_cells_get_the_results_they_build_on(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2, 3], pause=0.1), grid([9], name="score", needs=[{"grid": "train"}]))
        assert answer("sweep", "run", path, "--ledger", book, "--jobs", "4")["ran"] == 4  # with room for one that is not ready
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
        said = lab("sweep", "run", path, "--ledger", book)
        assert said.code == 3
        assert "train[index=2] failed: this cell was asked to fail" in said.err
        assert "score[index=2] was not run, because a cell it builds on failed" in said.err
        assert answer("sweep", "status", path, "--ledger", book)["failed"] == 1
        assert answer("sweep", "retry", path, "--ledger", book) == {"cleared": ["train[index=2]"]}
        assert answer("sweep", "run", path, "--ledger", book)["ran"] == 2

    def test_a_cell_that_dies_once_is_tried_again(self, tmp_path: Path, book: Path) -> None:
        (tmp_path / "1").touch()
        path = rehearsal(tmp_path, grid([1, 2], trouble="die", fuse=str(tmp_path)))
        assert answer("sweep", "run", path, "--ledger", book, "--jobs", "1")["ran"] == 2
        timings = Ledger(book).result(load(path).cells[0]).payload["timings"]
        assert (timings["attempt"], timings["resumed_from"]) == (2, 1)

    def test_a_cell_that_always_dies_fails_and_says_how(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1], trouble="die", steps=9), grid([2], name="well"))
        report = answer("sweep", "run", path, "--ledger", book, "--retries", "2", code=3)
        assert report["done"] == 1
        assert "died 3 times, the last time by signal 9" in report["failed"]["train[index=1]"]

    def test_ctrl_c_gives_up_claims_and_keeps_checkpoints(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2, 3], steps=4000, pause=0.1))
        cells, ledger = load(path).cells, Ledger(book)
        launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "2")
        until(lambda: [ledger.state(cell).name for cell in cells].count("running") == 2)
        os.killpg(launcher.pid, signal.SIGINT)  # as a terminal does: to everyone
        _, said = launcher.communicate(timeout=300)
        assert (launcher.returncode, said.decode().count("interrupted")) == (130, 1)
        until(lambda: not session(launcher.pid))
        states = [ledger.state(cell) for cell in cells]
        assert [state.name for state in states] == ["missing"] * 3
        assert sum(state.step is not None for state in states) == 2

    def test_a_polite_end_by_the_scheduler_is_like_ctrl_c(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1], steps=4000, pause=0.1))
        ledger, cell = Ledger(book), load(path).cells[0]
        launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "1")
        until(lambda: ledger.state(cell).name == "running")
        launcher.terminate()
        launcher.communicate(timeout=300)
        assert (launcher.returncode, ledger.state(cell).name) == (130, "missing")

    def test_cells_do_not_outlive_a_killed_launcher(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2], steps=4000, pause=0.1))
        ledger, cells = Ledger(book), load(path).cells
        launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "2")
        until(lambda: [ledger.state(cell).name for cell in cells] == ["running"] * 2)
        launcher.kill()
        launcher.communicate()
        until(lambda: not session(launcher.pid))
        assert [ledger.state(cell).name for cell in cells] == ["missing"] * 2

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

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--engine", "dask"], "engine='dask' is unknown; choose from 'local', 'ray'"),
            (["--address", "auto"], "--address names a Ray cluster; add --engine ray"),
        ],
    )
    def test_options_that_make_no_sense_are_refused(self, done: Path, book: Path, words: list[str], message: str) -> None:
        said = lab("sweep", "run", done, "--ledger", book, *words)
        assert said.code == 1
        assert message in said.err


class TestStatus:
    def test_shows_states_holders_and_time_left(self, tmp_path: Path, book: Path) -> None:
        path = rehearsal(tmp_path, grid([1]), grid([2, 3], name="slow", steps=4000, pause=0.1))
        ledger, cells = Ledger(book), load(path).cells
        launcher = begun("sweep", "run", path, "--ledger", book, "--jobs", "1")
        try:
            until(lambda: [ledger.state(cell).name for cell in cells] == ["done", "running", "missing"])
            status = answer("sweep", "status", path, "--ledger", book, "--cells")
            text = lab("sweep", "status", path, "--ledger", book).out
        finally:
            launcher.terminate()
            launcher.communicate(timeout=300)
        assert status["grids"]["slow"]["running"] == status["grids"]["slow"]["missing"] == 1
        assert [entry["state"] for entry in status["list"]] == ["done", "running", "missing"]
        seconds = ledger.result(cells[0]).seconds
        assert status["seconds_left"] == pytest.approx(2 * seconds)  # two cells to do, one at work, one finished to go by
        assert "Time left: about 0 min " in text
        assert f"{os.uname().nodename}, process " in text

    def test_watching_ends_when_nothing_is_left(self, done: Path, book: Path) -> None:
        said = lab("sweep", "status", done, "--ledger", book, "--watch")
        assert (said.code, "Nothing is left to do." in said.out) == (0, True)

    def test_needs_a_ledger(self, done: Path, tmp_path: Path) -> None:
        said = lab("sweep", "status", done, "--ledger", tmp_path / "absent")
        assert said.code == 1
        assert "is not a ledger" in said.err
        assert not (tmp_path / "absent").exists()


class TestTable:
    def test_is_what_it_should_be(self, done: Path, book: Path, tmp_path: Path) -> None:
        out = tmp_path / "table.csv"
        assert lab("sweep", "export", done, "--ledger", book, "--out", out).code == 0
        rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))
        for row, cell in zip(rows, load(done).cells, strict=True):
            index = cell.config.index
            share = int(chain(index, 3)[:8], 16) / 2**32
            assert row == {
                "grid": "train",
                "index": str(index),
                "steps": "3",
                "trouble": "none",
                "ballast": "0",
                "selection": "none",
                "run": cell.run_id,
                "result.chain": chain(index, 3),
                "result.share": repr(share),
            }

    def test_parquet_holds_the_same(self, done: Path, book: Path, tmp_path: Path) -> None:
        parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
        for name in ("a.parquet", "b.parquet"):
            assert lab("sweep", "export", done, "--ledger", book, "--out", tmp_path / name, "--timings").code == 0
        assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
        rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
        assert rows == answer("sweep", "export", done, "--ledger", book, "--timings")

    def test_never_overwrites_unasked(self, done: Path, book: Path, tmp_path: Path) -> None:
        out = tmp_path / "table.csv"
        out.write_text("precious", "utf-8")
        said = lab("sweep", "export", done, "--ledger", book, "--out", out)
        assert (said.code, out.read_text("utf-8")) == (1, "precious")
        assert lab("sweep", "export", done, "--ledger", book, "--out", out, "--force").code == 0

    @pytest.mark.parametrize("damage", ["missing", "corrupt", "stale", "corrupt file"])
    def test_refuses_a_hole_and_names_it(self, damage: str, book: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2, 3], ballast=640))
        study, ledger = load(path), Ledger(book)
        finished(study, ledger)
        folder = ledger.folder(study.cells[1])
        if damage == "missing":
            (folder / "result.json").unlink()
        elif damage == "corrupt":
            data = bytearray((folder / "result.json").read_bytes())
            data[len(data) // 2] ^= 1
            (folder / "result.json").write_bytes(data)
        elif damage == "corrupt file":
            (folder / "files" / "ballast.bin").write_bytes(b"")
        else:  # the result of other code, in its own folder, and none of ours
            folder.rename(folder.with_name("0" * 64))
        out = tmp_path / "table.csv"
        said = lab("sweep", "export", path, "--ledger", book, "--out", out)
        name = damage.split(maxsplit=1)[0]
        assert said.code == 1
        assert f"1 of 3 cells have no result to show: train[index=2] (run {study.cells[1].run_id[:12]}) is {name}" in said.err
        assert not out.exists()
        rows = answer("sweep", "export", path, "--ledger", book, "--partial")
        assert [row["state"] for row in rows] == ["done", name, "done"]
        assert ["result.chain" in row for row in rows] == [True, False, True]

    def test_a_changed_study_has_no_table_yet(self, done: Path, book: Path) -> None:
        done.write_text(done.read_text("utf-8").replace("set = {", "set = { steps = 4"), "utf-8")
        said = lab("sweep", "export", done, "--ledger", book, "--json")
        assert (said.code, said.out) == (1, "")
        assert "3 of 3 cells have no result to show: train[index=1]" in said.err


class TestUpkeep:
    def test_verify_finds_damage_without_being_told_of_a_study(self, done: Path, book: Path) -> None:
        assert answer("sweep", "verify", "--ledger", book) == {"verified": 3, "corrupt": {}}
        path = Ledger(book).folder(load(done).cells[0]) / "result.json"
        path.write_bytes(path.read_bytes()[:-20])
        found = answer("sweep", "verify", "--ledger", book, code=3)
        assert (found["verified"], list(found["corrupt"])) == (2, [path.parent.name])

    def test_gc_takes_leftovers_and_nothing_else(self, done: Path, book: Path) -> None:
        folder = Ledger(book).folder(load(done).cells[0])
        litter = [folder / ".result.part", folder / "claim-000004.json", folder / "ckpt-000000003.bin", book / ".probe-1"]
        fresh = folder / ".young.part"
        for path in (*litter, fresh):
            path.write_bytes(b"{}")
        for path in litter:
            os.utime(path, (time.time() - 9999,) * 2)
        before = answer("sweep", "export", done, "--ledger", book)
        assert len(answer("sweep", "gc", "--ledger", book, "--dry-run")["leftovers"]) == 4
        assert all(path.exists() for path in litter)
        assert len(answer("sweep", "gc", "--ledger", book)["leftovers"]) == 4
        assert not any(path.exists() for path in litter)
        assert fresh.exists()
        assert answer("sweep", "export", done, "--ledger", book) == before

    def test_gc_deletes_results_only_by_name(self, done: Path, book: Path, tmp_path: Path) -> None:
        other = rehearsal(tmp_path, grid([3, 4]), name="other")
        finished(load(other), Ledger(book))
        assert lab("sweep", "gc", "--ledger", book, "--unused").code == 1
        assert answer("sweep", "gc", done, other, "--ledger", book, "--unused")["runs"] == []
        assert len(answer("sweep", "gc", other, "--ledger", book, "--unused")["runs"]) == 2
        assert answer("sweep", "status", other, "--ledger", book)["done"] == 2
        assert answer("sweep", "status", done, "--ledger", book)["done"] == 1  # the cell both have

    def test_retry_of_an_unknown_run_is_refused(self, done: Path, book: Path) -> None:
        said = lab("sweep", "retry", done, "--ledger", book, "--run", "zz")
        assert (said.code, "no cell of rehearsed has a run id that begins with zz" in said.err) == (1, True)


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
        said = lab("sweep", "run", path, "--ledger", disk / "ledger", "--jobs", "1")
        assert said.code == 1
        assert "No space left on device" in said.err
        ledger, cells = Ledger(disk / "ledger"), load(path).cells
        assert [ledger.state(cell).name for cell in cells] == ["done", "missing", "missing", "missing"]
        mounted(disk, "-o", "remount,size=8m")
        assert answer("sweep", "run", path, "--ledger", disk / "ledger", "--jobs", "1")["done"] == 4

    def test_a_full_disk_stops_new_ledgers_too(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1]))
        (disk / "filler").write_bytes(bytes(256 * 1024))
        said = lab("sweep", "run", path, "--ledger", disk / "ledger")
        assert said.code == 1
        assert "No space left on device" in said.err

    def test_a_read_only_ledger_can_be_read_and_not_run(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1]))
        finished(load(path), Ledger(disk / "ledger"))
        more = rehearsal(tmp_path, grid([1, 2]), name="more")
        mounted(disk, "-o", "remount,ro")
        said = lab("sweep", "run", more, "--ledger", disk / "ledger")
        assert said.code == 1
        assert "Read-only file system" in said.err
        assert answer("sweep", "status", more, "--ledger", disk / "ledger")["missing"] == 1
        assert len(answer("sweep", "export", path, "--ledger", disk / "ledger")) == 1

    def test_a_disk_that_turns_read_only_in_the_middle_is_an_error_at_once(self, disk: Path, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2], steps=4000, pause=0.05))
        ledger, cell = Ledger(disk / "ledger"), load(path).cells[0]
        launcher = begun("sweep", "run", path, "--ledger", ledger.root, "--jobs", "1")
        until(lambda: ledger.state(cell).name == "running")
        until(lambda: _tried(disk, "remount,ro"))
        _, said = launcher.communicate(timeout=300)
        assert (launcher.returncode, "Read-only file system" in said.decode()) == (1, True)
        assert answer("sweep", "status", path, "--ledger", ledger.root)["done"] == 0


def _tried(disk: Path, options: str) -> bool:
    """Remounting fails while a file is being written; it succeeds in between."""
    return subprocess.run(["mount", "-o", options, str(disk)], check=False, capture_output=True).returncode == 0  # noqa: S603, S607
