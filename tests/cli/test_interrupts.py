"""Ctrl-C, a scheduler's SIGTERM and kill -9, in the middle of real runs; then the run is resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist import collections as batch
from tests.commands import COMMAND, contents, picture, run_json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are not sent there")

COUNT = 200


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images large enough that a run takes a few seconds."""
    folder = tmp_path_factory.mktemp("data")
    base = np.tile(picture(0, (128, 128)), (2, 2, 1))
    for i in range(COUNT):
        Image.fromarray(np.roll(base, 7 * i, axis=1) // (1 + i % 3)).save(folder / f"{i:03d}.png", compress_level=1)
    return folder


@pytest.fixture(scope="module")
def bank(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "b.rcb"
    batch.build_bank(data, split="train").bank.save(path)
    return path


@pytest.fixture(scope="module")
def undisturbed(data: Path, bank: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "o"
    run_json("augment", data, out, "--bank", bank, "-j", "1")
    return contents(out)


def started(data: Path, bank: Path, out: Path) -> subprocess.Popen[str]:
    """Start a run in a group of its own and wait until it has written a part of the images."""
    words = [*COMMAND, "augment", str(data), str(out), "--bank", str(bank), "-j", "2"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)  # noqa: S603
    deadline = time.monotonic() + 300
    while len(list(out.glob("*.png"))) < 60:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def gone(group: int) -> bool:
    """Whether no process of the group is left, after a little patience."""
    for _ in range(4000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.025)
    return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_run_leaves_only_whole_files(
    how: signal.Signals, data: Path, bank: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    process = started(data, bank, tmp_path / "o")
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # a terminal sends it to the whole group
    else:
        process.send_signal(how)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors == "recolorist: interrupted; every file written is whole, and --resume goes on from here\n"
    assert gone(process.pid)
    left = contents(tmp_path / "o")
    pictures = {name: data for name, data in left.items() if name.endswith(".png")}
    assert 60 <= len(pictures) < COUNT
    assert all(undisturbed[name] == data for name, data in pictures.items())
    assert set(left) - set(pictures) == {".provenance.journal"}
    summary = run_json("augment", data, tmp_path / "o", "--bank", bank, "--resume")
    assert summary["written"] + summary["kept"] == COUNT
    assert summary["kept"] > 0
    assert contents(tmp_path / "o") == undisturbed


def test_after_kill_nothing_is_lost_and_nothing_torn(
    data: Path, bank: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    process = started(data, bank, tmp_path / "o")
    process.kill()
    process.communicate()
    assert gone(process.pid)  # workers do not outlive the main process
    for name, found in contents(tmp_path / "o").items():
        assert undisturbed[name] == found if name.endswith(".png") else True
    run_json("augment", data, tmp_path / "o", "--bank", bank, "--resume")
    assert contents(tmp_path / "o") == undisturbed
