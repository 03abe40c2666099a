"""`recolorist-lab reproduce`: from nothing to the report, on something tiny."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recolorist.errors import RecoloristError
from recolorist_lab.assets import fetch as fetching
from recolorist_lab.cli import reproduce as cli_reproduce
from recolorist_lab.cli.main import app
from recolorist_lab.data import index as indexing
from recolorist_lab.data.named import open_dataset
from recolorist_lab.runs.cell import CellOutcome, run_cell
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import recalled
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies import estimate, reproduce
from tests.lab.command import answer, lab
from tests.lab.studies.kit import PROPERTIES, RATES, write
from tests.lab.study_files import grid, rehearsal

CHECK = """
[[grid]]
kind = "transfer_check"
set = { space = "rgb", method = "mean_std", pairs = 1, size = 32 }
axes.seed = [0, 1]
"""


ABSENT_DATA = """
[[grid]]
name = "paper"
kind = "properties"
set = { pairs = 2, size = 32, seed = 0 }
axes.dataset = ["synthetic:tiles=4,size=32", "ddi"]
"""


class Here:
    """An engine that runs cells in this process, and remembers how many at once it was made for."""

    def __init__(self, ledger: Ledger, jobs: int) -> None:
        self.ledger, self.jobs = ledger, jobs
        self.ended: list[tuple[Cell, CellOutcome]] = []

    def free(self) -> int:
        return 1

    def fits(self, _: Cell) -> bool:
        return True

    def start(self, cell: Cell) -> None:
        self.ended.append((cell, run_cell(self.ledger.root, self.ledger.lease, cell)))

    def wait(self, _: float) -> list[tuple[Cell, CellOutcome]]:
        ended, self.ended = self.ended, []
        return ended

    def stop(self) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Here]:
    """The command without processes."""
    made: list[Here] = []

    def engine(_: str, ledger: Ledger, jobs: int, *_more: Any) -> Here:
        made.append(Here(ledger, jobs))
        return made[-1]

    monkeypatch.setattr("recolorist_lab.cli.sweep.engine_of", engine)
    return made


def run_text(*words: str | Path, given: str | None = None) -> tuple[int, str]:
    """The command in this process: exit code and everything it printed, errors of ours included."""
    done = CliRunner().invoke(app, ["reproduce", *map(str, words)], input=given)
    if isinstance(done.exception, RecoloristError):
        return 1, f"{done.output}{done.exception}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


class TestTheRealCommand:
    def test_from_nothing_to_the_report_and_again(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "configs", check_quick=CHECK, properties_quick=PROPERTIES, properties=ABSENT_DATA)
        words = ("reproduce", "--quick", "--configs", folder, "-o", tmp_path / "out", "--jobs", "2")
        done = lab(*words)
        assert done.code == 0, done.err
        assert "properties: 1 of 1 cells done (1 now, 0 before" in done.out
        assert (tmp_path / "out" / "report" / "index.html").is_file()
        (lost, *_) = (tmp_path / "out" / "ledger" / "runs").glob("*/*/result.json")
        lost.unlink()
        again = answer(*words)
        assert sum(one["ran"] for one in again["studies"]) == 1
        assert sum(one["reused"] for one in again["studies"]) == 2
        assert again["complete"]
        assert again["report"]["gaps"] == 0
        assert sorted(recalled(Ledger(tmp_path / "out" / "ledger"))) == ["check", "properties"]  # so `report` needs no files

    def test_full_without_a_terminal_refuses_with_a_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(estimate, "measured", lambda *_, **__: RATES)
        code, text = run_text("--configs", write(tmp_path / "configs", check=CHECK), "-o", tmp_path / "out")
        assert code == 1
        assert "nothing was started: without a terminal the command cannot ask; add --yes" in text
        assert "Data:" in text
        assert not list((tmp_path / "out" / "ledger").glob("runs/*/*/result.json"))


class TestQuick:
    def test_a_failed_cell_leaves_a_gap_that_is_marked(self, tmp_path: Path, here: list[Here]) -> None:
        folder = write(tmp_path / "configs", check_quick=CHECK)
        shutil.copy(rehearsal(tmp_path, grid([1], trouble="raise"), grid([2], name="good")), folder / "rehearsed.quick.toml")
        code, text = run_text("--quick", "--configs", folder, "-o", tmp_path / "out")
        assert code == 3
        assert "this cell was asked to fail" in text
        page = (tmp_path / "out" / "report" / "index.html").read_text("utf-8")
        assert "Cells without a result" in page
        assert [engine.jobs for engine in here] == [here[0].jobs] * 2

    def test_what_measures_the_machine_runs_alone(
        self, tmp_path: Path, here: list[Here], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert [name for name, kind in KINDS.items() if kind.alone] == ["runtime"]
        monkeypatch.setattr(reproduce, "KINDS", {**KINDS, "properties": replace(KINDS["properties"], alone=True)})
        folder = write(tmp_path / "configs", check_quick=CHECK, properties_quick=PROPERTIES)
        code, _ = run_text("--quick", "--configs", folder, "-o", tmp_path / "out", "--jobs", "5")
        assert code == 0
        assert [engine.jobs for engine in here] == [1, 5]  # properties come before check

    def test_an_interruption_keeps_what_is_finished(
        self, tmp_path: Path, here: list[Here], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write(tmp_path / "configs", check_quick=CHECK)

        def once(engine: Here, cell: Cell) -> None:
            if engine.ledger.state(load(folder / "check.quick.toml").cells[0]).name == "done":
                raise KeyboardInterrupt
            engine.ended.append((cell, run_cell(engine.ledger.root, engine.ledger.lease, cell)))

        with monkeypatch.context() as patch:
            patch.setattr(Here, "start", once)
            code, text = run_text("--quick", "--configs", folder, "-o", tmp_path / "out")
        assert (code, len(here)) == (130, 1)
        assert "the same command continues from here" in text
        code, text = run_text("--quick", "--configs", folder, "-o", tmp_path / "out")
        assert code == 0
        assert "check: 2 of 2 cells done (1 now, 1 before" in text

    def test_nothing_is_started_by_a_dry_run(self, tmp_path: Path, here: list[Here]) -> None:
        code, text = run_text("--quick", "--configs", write(tmp_path / "c", check_quick=CHECK), "-o", tmp_path / "o", "--dry-run")
        assert (code, here) == (0, [])
        assert "Nothing was started." in text


class TestFull:
    @pytest.fixture(autouse=True)
    def quickly(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(estimate, "measured", lambda *_, **__: RATES)
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path / "data"))

    def test_it_starts_when_told_to(self, tmp_path: Path, here: list[Here]) -> None:
        code, text = run_text("--configs", write(tmp_path / "c", check=CHECK), "-o", tmp_path / "out", "--yes")
        assert code == 0, text
        assert "check             2 of 2 cells left, moments" in text
        assert len(here) == 1

    @pytest.mark.parametrize(("key", "code"), [("y\n", 0), ("n\n", 1)])
    def test_it_asks_at_a_terminal(
        self, key: str, code: int, tmp_path: Path, here: list[Here], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cli_reproduce, "_is_terminal", lambda: True)
        summary = run_text("--configs", write(tmp_path / "c", check=CHECK), "-o", tmp_path / "out", given=key)
        assert summary[0] == code
        assert "Start?" in summary[1]
        assert len(here) == (code == 0)

    def test_data_that_must_be_asked_for_stop_it_or_leave_a_gap(self, tmp_path: Path, here: list[Here]) -> None:
        words = ("--configs", write(tmp_path / "c", properties=ABSENT_DATA), "-o", tmp_path / "out", "--yes")
        code, text = run_text(*words)
        assert (code, here) == (1, [])
        assert "1 datasets are missing and cannot be downloaded by a program: ddi" in text
        code, text = run_text(*words, "--partial", "--json")
        assert code == 3
        summary = json.loads(text)
        assert summary["studies"][0]["done"] == 1
        assert summary["studies"][0]["failed"] == {}
        assert summary["report"]["gaps"] == 1
        assert summary["needs"]["data"][0]["name"] == "ddi"

    @pytest.mark.usefixtures("here")
    def test_open_data_are_fetched_and_indexed_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        monkeypatch.setattr(fetching, "fetch", lambda card, root, **_: asked.append(f"{card.key} {Path(root).name}"))
        manifest = open_dataset("synthetic:hospitals=3,tiles=4,size=32")

        def index(_: Any, root: Path) -> Any:
            root.mkdir()
            from recolorist_lab.data import synthetic

            synthetic.write(synthetic.Recipe(hospitals=3, tiles=4, size=32), root)
            return manifest.manifest

        monkeypatch.setattr(indexing, "index", index)
        folder = write(tmp_path / "c", properties=ABSENT_DATA.replace("ddi", "breastmnist"))
        code, text = run_text("--configs", folder, "-o", tmp_path / "out", "--yes")
        assert code == 0, text
        assert asked == ["breastmnist data"]
        assert "properties: 2 of 2 cells done" in text
