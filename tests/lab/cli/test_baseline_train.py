"""A network trained by hand in a ledger is the cell that a sweep looks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load

DATA = "synthetic:hospitals=3,tiles=4,size=24"
STUDY = f"""
name = "transfer"

[[grid]]
kind = "transfer_train"
set = {{ dataset = "{DATA}", iterations = 1, batch = 1, load_size = 20, crop_size = 16, encoder = "random", seed = 3 }}
axes.method = ["efdm"]
"""
SIZES = ("--iterations", "1", "--batch", "1", "--load-size", "20", "--crop-size", "16", "--encoder", "random", "--seed", "3")


def trained(tmp_path: Path, *more: str) -> Any:
    words = ("train", "efdm", "--data", DATA, "--out", str(tmp_path / "out"), "--ledger", str(tmp_path / "ledger"), *SIZES)
    done = CliRunner().invoke(app, ["baseline", *words, "--device", "cpu", *more, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_sweep_finds_what_was_trained_by_hand(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    (cell,) = load(tmp_path / "study.toml").cells
    assert Ledger(tmp_path / "ledger").state(cell).name == "missing"
    assert trained(tmp_path)["run"] == cell.run_id
    assert Ledger(tmp_path / "ledger").state(cell).name == "done"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"weights.safetensors", "sample.png", "result.json"}
    assert trained(tmp_path)["steps"] == 1  # found, not trained again


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--rate", "0.1"), "--rate came with --ledger"),
        (("--load-size", "4000"), "at most the method's own 512"),
    ],
)
def test_what_a_cell_cannot_say_is_refused(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        trained(tmp_path, *more)


def test_a_folder_of_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="make a manifest"):
        trained(tmp_path, "--data", str(tmp_path))
