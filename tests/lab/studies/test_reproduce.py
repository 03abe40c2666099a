"""One command from nothing to the report: the real one on something tiny, and everything it decides on the way."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.assets import fetch as fetching
from recolorist_lab.cli import reproduce as cli_reproduce
from recolorist_lab.cli.main import app
from recolorist_lab.data import index as indexing
from recolorist_lab.data.named import named
from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.report.sections import section_of
from recolorist_lab.runs.cell import Outcome, run_cell
from recolorist_lab.runs.kinds import KINDS, headings
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import recalled
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies import estimate, reproduce
from recolorist_lab.studies.estimate import data_needed, needs_of, seconds_of
from recolorist_lab.studies.rates import Rates, speed_up
from recolorist_lab.studies.reproduce import configs, on_device, planned
from tests.lab.command import answer, lab
from tests.lab.study_files import grid, rehearsal

RATES = Rates(
    train=0.1, learn=2.0, pair=0.5, properties=0.25, classifier_bytes=1000, baseline_bytes=100, networks=True, device="cpu"
)
CHECK = """
[[grid]]
kind = "transfer_check"
set = { space = "rgb", method = "mean_std", pairs = 1, size = 32 }
axes.seed = [0, 1]
"""
PROPERTIES = """
[[grid]]
name = "paper"
kind = "properties"
set = { dataset = "synthetic:tiles=4,size=32", pairs = 2, size = 32, seed = 0 }
"""
ABSENT_DATA = """
[[grid]]
name = "paper"
kind = "properties"
set = { pairs = 2, size = 32, seed = 0 }
axes.dataset = ["synthetic:tiles=4,size=32", "ddi"]
"""


def write(folder: Path, **studies: str) -> Path:
    """Study files; `_quick` in a name stands for `.quick`."""
    folder.mkdir(exist_ok=True)
    for name, text in studies.items():
        file = name.replace("_quick_bare", ".quick-bare").replace("_quick", ".quick")
        (folder / f"{file}.toml").write_text(f'name = "{file.partition(".")[0]}"\n{text}', "utf-8")
    return folder


class Here:
    """An engine that runs cells in this process, and remembers how many at once it was made for."""

    def __init__(self, ledger: Ledger, jobs: int) -> None:
        self.ledger, self.jobs = ledger, jobs
        self.ended: list[tuple[Cell, Outcome]] = []

    def free(self) -> int:
        return 1

    def fits(self, cell: Cell) -> bool:  # noqa: ARG002
        return True

    def start(self, cell: Cell) -> None:
        self.ended.append((cell, run_cell(self.ledger.root, self.ledger.lease, cell)))

    def wait(self, _: float) -> list[tuple[Cell, Outcome]]:
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


def said(*words: str | Path, given: str | None = None) -> tuple[int, str]:
    """The command in this process: exit code and everything it said, errors of ours included."""
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
        code, text = said("--configs", write(tmp_path / "configs", check=CHECK), "-o", tmp_path / "out")
        assert code == 1
        assert "nothing was started: this is no terminal to ask at; add --yes" in text
        assert "Data:" in text
        assert not list((tmp_path / "out" / "ledger").glob("runs/*/*/result.json"))


class TestQuick:
    def test_a_failed_cell_leaves_a_gap_that_is_marked(self, tmp_path: Path, here: list[Here]) -> None:
        folder = write(tmp_path / "configs", check_quick=CHECK)
        shutil.copy(rehearsal(tmp_path, grid([1], trouble="raise"), grid([2], name="good")), folder / "rehearsed.quick.toml")
        code, text = said("--quick", "--configs", folder, "-o", tmp_path / "out")
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
        code, _ = said("--quick", "--configs", folder, "-o", tmp_path / "out", "--jobs", "5")
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
            code, text = said("--quick", "--configs", folder, "-o", tmp_path / "out")
        assert (code, len(here)) == (130, 1)
        assert "the same command goes on from here" in text
        code, text = said("--quick", "--configs", folder, "-o", tmp_path / "out")
        assert code == 0
        assert "check: 2 of 2 cells done (1 now, 1 before" in text

    def test_nothing_is_started_by_a_dry_run(self, tmp_path: Path, here: list[Here]) -> None:
        code, text = said("--quick", "--configs", write(tmp_path / "c", check_quick=CHECK), "-o", tmp_path / "o", "--dry-run")
        assert (code, here) == (0, [])
        assert "Nothing was started." in text


class TestPlan:
    def test_the_papers_studies_in_the_papers_order(self) -> None:
        quick = planned(configs(), quick=True)
        assert [study.name for study in quick.studies] == list(headings())
        assert all(cell.data != "absent" for study in quick.studies for cell in study.cells), "quick studies need no data"
        whole = planned(configs(), quick=False, only=["check", "runtime", "properties"])
        assert [study.name for study in whole.studies] == ["properties", "runtime", "check"]
        assert {path.name for path in whole.files.values()} == {"properties.toml", "runtime.toml", "check.toml"}

    @pytest.mark.parametrize("there", [True, False])
    def test_without_weights_their_metrics_are_left_out_and_nothing_else(
        self, monkeypatch: pytest.MonkeyPatch, *, there: bool
    ) -> None:
        monkeypatch.setattr(reproduce, "_have_networks", lambda: there)
        plan = planned(configs(), quick=True, only=["spaces"])
        asked = {name for cell in plan.studies[0].cells if cell.kind == "spaces" for name in cell.config.metrics}
        assert ("artfid" in asked) == there
        assert {"ssim", "wasserstein"} <= asked
        assert bool(plan.left_out) != there
        other = load(configs() / ("spaces.quick-bare.toml" if there else "spaces.quick.toml"))
        assert [cell.name for cell in other.cells] == [cell.name for cell in plan.studies[0].cells]

    def test_the_twin_without_networks_runs_without_weights_and_the_report_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("RECOLORIST_WEIGHTS", "RECOLORIST_CACHE", "TORCH_HOME"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setattr("recolorist_lab.assets.weights._download", lambda *_: pytest.fail("nobody asked for a download"))
        study, ledger = load(configs() / "spaces.quick-bare.toml"), Ledger(tmp_path / "ledger")
        one = replace(study, cells=study.cells[:1])
        assert run_cell(ledger.root, ledger.lease, one.cells[0]).name == "done"
        table = section_of(one, ledger).tables["spaces"]
        shown = dict(zip(table.head[::-1], table.texts()[0][::-1], strict=True))  # the first of each name
        assert "no number stands in for them" in table.note
        assert table.texts()[0].count("—") == 3  # LPIPS, FID and ArtFID
        assert shown["W ↓ paper"] == "0.04"

    def test_whether_weights_are_here_is_looked_up_and_not_downloaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("RECOLORIST_WEIGHTS", "RECOLORIST_CACHE", "TORCH_HOME"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setattr("recolorist_lab.assets.weights._download", lambda *_: pytest.fail("nobody asked for a download"))
        assert "weights fetch fid_inception alexnet_features" in planned(configs(), quick=True).left_out[0]

    def test_other_folders_and_names(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match=r"holds no \*.quick.toml"):
            planned(tmp_path, quick=True)
        with pytest.raises(OptionError, match=r"nosuch: no such study in .*; there are check, classify"):
            planned(configs(), quick=False, only=["nosuch"])

    def test_a_device_changes_no_run(self) -> None:
        plan = planned(configs(), quick=True, only=["transfer", "runtime"])
        moved = on_device(plan.studies, "cuda")
        for before, after in zip(plan.studies, moved, strict=True):
            assert [cell.run_id for cell in before.cells] == [cell.run_id for cell in after.cells]
        assert {cell.config.device for cell in moved[0].cells} == {"cuda"}
        assert {cell.config.device for cell in moved[1].cells} == {"cpu"}  # there it is what is measured


class TestNeeds:
    def test_every_dataset_with_bytes_and_whether_it_is_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path))
        named("synthetic:hospitals=3,tiles=4,size=16").manifest.write(tmp_path / "ddi.parquet")
        found = {one.name: one for one in data_needed([load(configs() / "classify.toml")])}
        assert len(found) == 19
        assert found["ddi"].is_present
        assert not found["pathmnist"].is_present
        assert found["pathmnist"].bytes == 12_629_854_322
        assert found["pathmnist"].arrays == 107_180 * 224 * 224 * 3
        assert found["chestmnist"].bytes is None  # not published
        assert (found["pathmnist"].fetchable, found["retina"].fetchable) == (True, False)

    def test_hours_by_hand(self) -> None:
        study = load(configs() / "classify.toml")
        cell = next(cell for cell in study.cells if cell.config.dataset == "breastmnist")  # 546, 78, 156 images
        assert seconds_of(cell, RATES) == pytest.approx(0.1 * (100 * (546 + 78 / 3) + 156 / 3))
        grids = load(configs() / "transfer.toml").grids()
        ratio = RUNTIME["gpu", "SANET"].mean / RUNTIME["gpu", "AdaIN"].mean
        trained = next(cell for cell in grids["train"] if cell.config.method == "sanet")
        from recolorist_lab.baselines.registry import class_of

        own = class_of("sanet").defaults
        assert seconds_of(trained, RATES) == pytest.approx(2.0 * ratio * own.iterations * own.batch)
        judged = next(cell for cell in grids["baselines"] if cell.config.method == "sanet")
        assert seconds_of(judged, RATES) == pytest.approx(800 * (0.5 + 2.0 * ratio / 3))
        assert seconds_of(grids["colorist"][0], RATES) == pytest.approx(800 * 0.5)
        assert seconds_of(load(configs() / "properties.toml").cells[0], RATES) == pytest.approx(400 * 0.25)
        assert seconds_of(load(configs() / "runtime.toml").cells[0], RATES) == pytest.approx(150.0)
        assert seconds_of(load(configs() / "check.toml").cells[0], RATES) is None

    def test_finished_cells_are_not_counted(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "c", properties=PROPERTIES)
        study, ledger = load(folder / "properties.toml"), Ledger(tmp_path / "ledger")
        before = needs_of([study], ledger, RATES)
        assert before.work[0].left == 1
        assert before.work[0].hours == pytest.approx(2 * 0.25 / 3600)
        assert before.gpu_hours == pytest.approx(2 * 0.25 / 3600 / speed_up())
        run_cell(ledger.root, ledger.lease, study.cells[0])
        after = needs_of([study], ledger, RATES)
        assert (after.work[0].left, after.work[0].hours) == (0, 0.0)

    def test_disk_is_what_is_missing(self, tmp_path: Path) -> None:
        one = 'set = { dataset = "pathmnist" }\naxes.seed = [0, 1]'
        folder = write(tmp_path / "c", classify=f'\n[[grid]]\nkind = "classify"\n{one}\n')
        needs = needs_of([load(folder / "classify.toml")], Ledger(tmp_path / "ledger"), RATES)
        assert needs.disk == 12_629_854_322 + 107_180 * 224 * 224 * 3 + 2 * RATES.classifier_bytes

    def test_it_is_said_how_the_numbers_came_about(self, tmp_path: Path) -> None:
        needs = needs_of([load(configs() / "classify.toml")], Ledger(tmp_path / "ledger"), RATES)
        text = "\n".join(cli_reproduce.lines_of(needs))
        assert "0.1 s for one image that the classifier learns from" in text
        assert "GPU hours are the processor's divided by 64" in text
        assert "pathmnist         missing, to download, 12.6 GB" in text
        assert "retina            missing, to be asked for (account, by hand, agreement), size not published" in text
        assert json.loads(json.dumps(needs.to_json()))["disk_bytes"] == needs.disk
        on_gpu = needs_of([load(configs() / "classify.toml")], Ledger(tmp_path / "ledger"), replace(RATES, device="cuda"))
        assert on_gpu.gpu_hours == pytest.approx(sum(one.hours or 0 for one in on_gpu.work))

    def test_small_cells_are_really_run(self, tmp_path: Path) -> None:
        tiny = 'set = { dataset = "synthetic", seed = 0, model = "test_resnet", size = 32 }'
        folder = write(tmp_path / "c", classify=f'\n[[grid]]\nkind = "classify"\n{tiny}\n')
        rates = estimate.measured([load(folder / "classify.toml")], networks=False, device="cpu", side=64)
        assert min(rates.train, rates.learn, rates.pair, rates.properties) > 0
        assert rates.classifier_bytes > 4 * 300_000  # weights of 373,000 parameters
        assert rates.baseline_bytes > 4 * 3_000_000  # AdaIN's decoder


class TestFull:
    @pytest.fixture(autouse=True)
    def quickly(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(estimate, "measured", lambda *_, **__: RATES)
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path / "data"))

    def test_it_starts_when_told_to(self, tmp_path: Path, here: list[Here]) -> None:
        code, text = said("--configs", write(tmp_path / "c", check=CHECK), "-o", tmp_path / "out", "--yes")
        assert code == 0, text
        assert "check             2 of 2 cells left, moments" in text
        assert len(here) == 1

    @pytest.mark.parametrize(("key", "code"), [("y\n", 0), ("n\n", 1)])
    def test_it_asks_at_a_terminal(
        self, key: str, code: int, tmp_path: Path, here: list[Here], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cli_reproduce, "_is_terminal", lambda: True)
        told = said("--configs", write(tmp_path / "c", check=CHECK), "-o", tmp_path / "out", given=key)
        assert told[0] == code
        assert "Start?" in told[1]
        assert len(here) == (code == 0)

    def test_data_that_must_be_asked_for_stop_it_or_leave_a_gap(self, tmp_path: Path, here: list[Here]) -> None:
        words = ("--configs", write(tmp_path / "c", properties=ABSENT_DATA), "-o", tmp_path / "out", "--yes")
        code, text = said(*words)
        assert (code, here) == (1, [])
        assert "1 datasets are not here and cannot be downloaded by a program: ddi" in text
        code, text = said(*words, "--partial", "--json")
        assert code == 3
        told = json.loads(text)
        assert told["studies"][0]["done"] == 1
        assert told["studies"][0]["failed"] == {}
        assert told["report"]["gaps"] == 1
        assert told["needs"]["data"][0]["name"] == "ddi"

    @pytest.mark.usefixtures("here")
    def test_open_data_are_fetched_and_indexed_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        monkeypatch.setattr(fetching, "fetch", lambda card, root, **_: asked.append(f"{card.key} {Path(root).name}"))
        manifest = named("synthetic:hospitals=3,tiles=4,size=32")

        def index(_: Any, root: Path) -> Any:
            root.mkdir()
            from recolorist_lab.data import synthetic

            synthetic.write(synthetic.Recipe(hospitals=3, tiles=4, size=32), root)
            return manifest.manifest

        monkeypatch.setattr(indexing, "index", index)
        folder = write(tmp_path / "c", properties=ABSENT_DATA.replace("ddi", "breastmnist"))
        code, text = said("--configs", folder, "-o", tmp_path / "out", "--yes")
        assert code == 0, text
        assert asked == ["breastmnist data"]
        assert "properties: 2 of 2 cells done" in text
