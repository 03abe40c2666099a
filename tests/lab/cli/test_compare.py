"""`recolorist-lab compare`: what it refuses, in one sentence, and how many trainings it runs at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.compare.run import Request
from tests.lab.command import lab
from tests.lab.compare.conftest import lay_out
from tests.lab.compare.test_run import words


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


@pytest.mark.parametrize(
    ("name", "more", "reason"),
    [("a", (), "--test-share"), (".", ("-m", "colour"), "'colour' is unknown"), (".", ("--weights", "no.pth"), "were not found")],
)
def test_refusals_are_one_sentence(hospitals: Path, tmp_path: Path, name: str, more: tuple[str, ...], reason: str) -> None:
    done = lab("compare", hospitals / name, "--out", tmp_path / "out", *words(*more))
    assert done.code == 1
    assert reason in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_folder_with_other_files_is_left_alone(hospitals: Path) -> None:
    done = lab("compare", hospitals, "--out", hospitals, *words())
    assert done.code == 1
    assert "contains other files" in done.err


@pytest.mark.parametrize(
    ("visible", "more", "jobs", "gpus"), [("4,5", ("-j", "8"), 2, 1), ("4,5", ("-j", "1"), 1, 1), ("", ("-j", "8"), 8, 0)]
)
def test_each_training_has_a_gpu_of_its_own(
    hospitals: Path, monkeypatch: pytest.MonkeyPatch, visible: str, more: tuple[str, ...], jobs: int, gpus: int
) -> None:
    """By their names only: there is no GPU here."""
    requests = []

    def stop(request: Request, **_: object) -> None:
        requests.append(request)
        raise OptionError("far enough")

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr("recolorist_lab.compare.run.compare", stop)
    assert "far enough" in lab("compare", hospitals, *more).err
    assert (requests[0].jobs, requests[0].training.gpus) == (jobs, gpus)
