"""`recolorist-lab train`: a cell of the ledger, from a card, an index or a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.cli import train as command
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from tests.lab.cli.train_kit import lab
from tests.lab.fakes.parts import picture
from tests.lab.training.contexts import TINY

SMALL = {"size": 32, "epochs": 1, "batch": 16, "workers": 0, "accelerator": "cpu", "threads": 1}


def train(ledger: Path, *words: object) -> Result:
    more = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    return lab("train", TINY, "--model", "test_resnet", "--ledger", ledger, *more, *words)


class TestTrain:
    def test_a_run_by_hand_is_a_cell_that_sweeps_find(self, tmp_path: Path) -> None:
        first = train(tmp_path / "ledger", "--augmentation", "colorist", "--seed", 3, "--json", "--out", tmp_path / "out")
        assert first.exit_code == 0, first.output
        result = json.loads(first.stdout)
        assert result == json.loads((tmp_path / "out" / "result.json").read_text("utf-8"))
        assert {path.name for path in (tmp_path / "out").iterdir()} == {
            "model.safetensors", "config.json", "scores.json", "history.json", "result.json",
        }  # fmt: skip
        study = tmp_path / "study.toml"
        fixed = json.dumps({**SMALL, "model": "test_resnet", "dataset": TINY, "augmentation": "colorist", "seed": 3})
        fixed = "{" + ", ".join(f"{name} = {json.dumps(value)}" for name, value in json.loads(fixed).items()) + "}"
        study.write_text(f'name = "s"\n[[grid]]\nkind = "classify"\nset = {fixed}\n', "utf-8")
        cell = load(study).cells[0]
        assert Ledger(tmp_path / "ledger").state(cell).name == "done"
        assert run_cell(tmp_path / "ledger", 5.0, cell).name == "reused"
        again = train(tmp_path / "ledger", "--augmentation", "colorist", "--seed", 3)
        assert "balanced accuracy" in again.stdout
        assert "parameters" in again.stdout

    @pytest.mark.parametrize(("cores", "given", "workers"), [(2, [], 2), (64, [], 4), (2, ["--set", "workers=0"], 0)])
    def test_no_more_workers_than_cores(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, given: list[str], workers: int
    ) -> None:
        cells: list[Any] = []

        def stopped(cell: Any, *_: object) -> Any:
            cells.append(cell)
            raise OptionError("seen")

        monkeypatch.setattr(command, "usable_cores", lambda: cores)
        monkeypatch.setattr(command, "run_by_hand", stopped)
        assert lab("train", TINY, "--ledger", tmp_path / "ledger", *given).exit_code == 1
        assert [cell.config.workers for cell in cells] == [workers]

    def test_a_failed_run_says_why_and_is_tried_again_when_asked_again(self, tmp_path: Path) -> None:
        for _ in range(2):
            refused = train(
                tmp_path / "ledger", "--set", "validation_share=0.5", "--set", "resize=squash", "--root", "x", "--model", "vgg0"
            )
            assert isinstance(refused.exception, RecoloristError)
            assert "vgg0" in str(refused.exception)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--set", "seed=1"], "no name that has its own option"),
            (["--set", "learning_rate"], "accepted is name=value"),
            (["--set", f"learning_rate={'9' * 5_000}"], "learning_rate"),  # Python refuses to read such a number: it is text
            (["--set", "learningrate=1"], "did you mean 'learning_rate'"),
            (["--algorithm", "irm"], "'irm' is unknown"),
        ],
    )
    def test_what_is_not_known_is_refused(self, tmp_path: Path, words: list[str], message: str) -> None:
        refused = train(tmp_path / "ledger", *words)
        assert isinstance(refused.exception, RecoloristError)
        assert message in str(refused.exception)

    def test_files_are_not_replaced_unasked(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "result.json").write_text("{}", "utf-8")
        refused = train(tmp_path / "ledger", "--out", tmp_path / "out")
        assert "--force" in str(refused.exception)


class TestOwnImages:
    """From a folder of one's own images to a trained network, by the commands alone."""

    @pytest.fixture
    def one_hospital(self, tmp_path: Path) -> Path:
        for number in range(40):
            picture(tmp_path / "scans" / ("benign", "malignant")[number % 2] / f"{number:02}.png", number)
        return tmp_path / "scans"

    def trained(self, tmp_path: Path, dataset: str, *words: object) -> Result:
        more = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
        model = ("--model", "test_resnet", "--ledger", tmp_path / "ledger")
        return lab("train", dataset, *model, *more, "--set", "validation=train", *words)

    def test_train_accepts_the_path_that_index_prints(
        self, one_hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        printed = lab("data", "index", "--folder", one_hospital.name, "--test-share", 0.25)
        assert printed.exit_code == 0, (printed.output, printed.exception)
        path = printed.stdout.split(": ")[0]
        assert path == "scans/scans.parquet"
        done = self.trained(tmp_path, path)
        assert done.exit_code == 0, (done.output, done.exception)

    def test_a_folder_of_images_is_told_to_be_indexed_and_how(self, one_hospital: Path, tmp_path: Path) -> None:
        refused = self.trained(tmp_path, str(one_hospital))
        command = str(refused.exception).partition("recolorist-lab ")[2].partition(", then")[0]
        assert command.startswith(f"data index --folder {one_hospital} ")
        assert lab(*command.split()).exit_code == 0
        assert (one_hospital / "scans.parquet").is_file()

    def test_a_folder_without_a_test_split_says_what_helps(self, one_hospital: Path, tmp_path: Path) -> None:
        lab("data", "index", "--folder", one_hospital)
        refused = self.trained(tmp_path, str(one_hospital / "scans.parquet"))
        assert "--test-share" in str(refused.exception)
        assert "validation" not in str(refused.exception)

    def test_a_share_of_the_images_becomes_the_test_split(self, one_hospital: Path) -> None:
        printed = lab("data", "index", "--folder", one_hospital, "--test-share", 0.25, "--val-share", 0.25)
        assert "train 20, val 10, test 10" in printed.stdout
        assert lab("data", "index", "--folder", one_hospital, "--test-share", 1.5).exception is not None
