"""A network trained by hand is the cell of a ledger that a sweep looks for."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.baselines import build, store
from recolorist_lab.baselines.registry import class_of
from recolorist_lab.cli.main import app
from recolorist_lab.progress import report_step, shown_steps
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies.transfer import train as transfer_train
from recolorist_lab.studies.transfer.train import TransferTrain, recipe_of, trainer_of
from tests.commands import picture
from tests.lab.cli.baseline_kit import DATA, SMALL, refused, run_text

SIZES = ("--iterations", "2", "--batch", "2", "--load-size", "20", "--crop-size", "16", "--encoder", "random", "--seed", "3")
SIZED = 'iterations = 2, batch = 2, load_size = 20, crop_size = 16, encoder = "random", seed = 3'


def study(tmp_path: Path, dataset: str = DATA, more: str = "") -> Cell:
    """The cell of a study with the same settings, read from a file."""
    text = f'name = "s"\n[[grid]]\nkind = "transfer_train"\nset = {{ dataset = "{dataset}", {SIZED}{more} }}\n'
    (tmp_path / "study.toml").write_text(f'{text}axes.method = ["efdm"]\n', "utf-8")
    return load(tmp_path / "study.toml").cells[0]


def trained(tmp_path: Path, *more: str, data: str = DATA) -> Any:
    words = ("train", "efdm", "--data", data, "--ledger", str(tmp_path / "ledger"), *SIZES, "--device", "cpu")
    done = CliRunner().invoke(app, ["baseline", *words, *more, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_sweep_finds_what_was_trained_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = study(tmp_path)
    book = Ledger(tmp_path / "ledger")
    assert book.state(cell).name == "missing"
    assert trained(tmp_path, "--out", str(tmp_path / "out"))["run"] == cell.run_id
    kept = {"weights.safetensors", "sample.png", "history.jsonl", "result.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == kept
    assert [json.loads(line)["step"] for line in (tmp_path / "out" / "history.jsonl").read_text("utf-8").splitlines()] == [0, 1]
    monkeypatch.setattr(transfer_train, "trainer_of", None)  # training again would fail
    assert run_cell(book.root, book.lease, cell).name == "reused"
    assert trained(tmp_path)["steps"] == 2


def test_every_option_is_part_of_what_a_sweep_looks_for(tmp_path: Path) -> None:
    weights = store.save(build("adain", encoder="random", seed=5), tmp_path / "adain.safetensors")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    options = ("--rate", "0.001", "--view", "whole", "--accumulate", "2", "--option", "alpha=0.5", "--start", str(weights))
    more = f', rate = 0.001, view = "whole", accumulate = 2, options = ["alpha=0.5"], start = "{digest}"'
    assert trained(tmp_path, *options)["run"] == study(tmp_path, more=more).run_id != study(tmp_path).run_id


def test_epochs_take_the_place_of_iterations() -> None:
    values = {"method": "efdm", "dataset": DATA, "epochs": 2, "batch": 2}
    own = class_of("efdm").defaults
    assert recipe_of(TransferTrain(**values), class_of("efdm")) == own.but(epochs=2, batch=2)  # type: ignore[arg-type]


def test_a_folder_of_images_needs_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").mkdir()
    for seed in range(3):
        Image.fromarray(picture(seed, (20, 27))).save(tmp_path / "images" / f"{seed}.png")
    monkeypatch.chdir(tmp_path)
    done = trained(tmp_path, data="images")
    assert done["images"] == 3
    assert done["run"] == study(tmp_path, "images/").run_id
    Image.fromarray(picture(4, (20, 27))).save(tmp_path / "images" / "4.png")
    assert study(tmp_path, "images/").run_id != done["run"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--load-size", "4000"), r"--load-size 4000; accepted for EFDM are 16 to 512, its own"),
        (("--start", "nowhere.safetensors"), "nowhere.safetensors cannot be read"),
        (("--rate", "-1"), "rate=-1"),
    ],
)
def test_what_cannot_be_is_refused_before_a_cell_is_made(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        trained(tmp_path, *more)
    assert not (tmp_path / "ledger").exists()


def test_other_weights_than_those_meant_are_refused(tmp_path: Path) -> None:
    path = store.save(build("adain", encoder="random", seed=5), tmp_path / "adain.safetensors")
    config = TransferTrain(method="efdm", dataset=DATA, encoder="random", start="0" * 64, start_file=str(path))
    with pytest.raises(OptionError, match="the run starts with the file of 000000000000"):
        trainer_of(config)


def lines_of(work: Callable[[], None]) -> str:
    """What is shown on standard error, without a terminal."""
    stream = io.StringIO()
    with redirect_stderr(stream), shown_steps("training"):
        work()
    return stream.getvalue()


class TestTrain:
    def test_people_see_losses(self, tmp_path: Path) -> None:
        assert "efdm on synthetic" in run_text("train", "efdm", "--data", DATA, "--ledger", tmp_path, *SMALL, "--iterations", "1")
        assert "style 0.25" in lines_of(lambda: report_step(3, 3, "style 0.25"))

    def test_refusals(self, tmp_path: Path) -> None:
        words = ("train", "adain", "--data", DATA, "--encoder", "random", "--ledger", tmp_path / "x")
        refused("give one", *words, "--iterations", "1", "--epochs", "1")
        refused("does not fit into load_size=20", *words, "--load-size", "20")
        refused("'aplha' is unknown; did you mean 'alpha'", *words, "--option", "aplha=1")
        refused("view: 'round' is unknown", *words, "--view", "round")
        refused("contains no images", *words[:3], str(tmp_path), *words[4:])
        assert not (tmp_path / "x").exists()

    def test_what_is_in_a_folder_is_not_overwritten(self, weights: Path) -> None:
        refused("exists; pass --force", "train", "efdm", "--data", DATA, "--out", weights.parent, *SMALL)


def test_a_new_run_says_in_which_fields_it_differs(tmp_path: Path) -> None:
    trained(tmp_path)
    words = ("train", "EFDM", "--data", DATA, "--ledger", str(tmp_path / "ledger"), *SIZES, "--device", "cpu")
    done = CliRunner().invoke(app, ["baseline", *words, "--rate", "0.001", "--clip", "0.25"], catch_exceptions=False)
    assert "differs in rate: the method's own there, 0.001 now; clip: the method's own there, 0.25 now." in done.stderr
    assert "a run of its own" not in CliRunner().invoke(app, ["baseline", *words], catch_exceptions=False).stderr


def test_a_rate_that_depends_on_the_length_is_mentioned(tmp_path: Path) -> None:
    words = ["baseline", "train", "contrimix", "--data", DATA, "--ledger", str(tmp_path / "ledger"), "--device", "cpu"]
    small = ["--batch", "2", "--load-size", "64", "--crop-size", "64", "--option", "stains=2"]
    for count in ("1", "2"):
        done = CliRunner().invoke(app, [*words, *small, "--iterations", count], catch_exceptions=False)
        assert ("depends on the length of a run" in done.stderr) is (count == "2")


def test_the_limit_of_the_gradient_can_be_set_and_lifted() -> None:
    artflow = class_of("artflow")
    for clip, wanted in ((-1.0, 5.0), (0.0, 0.0), (2.0, 2.0)):
        assert recipe_of(TransferTrain(method="artflow", clip=clip), artflow).clip == wanted
    with pytest.raises(OptionError, match="-1 for the method's own"):
        TransferTrain(method="artflow", clip=-2.0)


def test_the_limit_is_lifted_by_a_word(tmp_path: Path) -> None:
    words = ["baseline", "train", "artflow", "--data", DATA, "--encoder", "random", "--ledger", str(tmp_path / "ledger")]
    small = ["--batch", "1", "--load-size", "16", "--crop-size", "16", "--iterations", "1", "--device", "cpu"]
    runs = [CliRunner().invoke(app, [*words, *small, "--clip", clip, "--json"]) for clip in ("none", "0")]
    assert [json.loads(done.stdout)["run"] for done in runs] == [json.loads(runs[0].stdout)["run"]] * 2
    for clip in ("-1", "nan", "inf", "much"):
        done = CliRunner().invoke(app, [*words, *small, "--clip", clip])
        assert done.exit_code == 2
        assert "give a number from 0" in done.stderr


def test_the_best_epoch_needs_a_split(tmp_path: Path) -> None:
    options = ("--keep", "best", "--out", str(tmp_path / "out"))
    assert trained(tmp_path, *options)["kept"]["keep"] == "best"
    with pytest.raises(Exception, match="no image in split 'held'"):
        trained(tmp_path, "--keep", "best", "--validation", "held")
    (tmp_path / "images").mkdir()
    for seed in range(3):
        Image.fromarray(picture(seed, (20, 27))).save(tmp_path / "images" / f"{seed}.png")
    assert trained(tmp_path, "--keep", "best", data=str(tmp_path / "images"))["kept"] == {"keep": "last", "step": 2}
