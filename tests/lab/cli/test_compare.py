"""`recolorist-lab compare`: what it refuses, in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.command import lab
from tests.lab.compare.conftest import lay_out
from tests.lab.compare.test_run import words


@pytest.fixture
def hospitals(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


@pytest.mark.parametrize(
    ("name", "more", "reason"),
    [("a", (), "--test-share"), (".", ("-m", "colour"), "'colour' is unknown"), (".", ("--weights", "no.pth"), "cannot be read")],
)
def test_refusals_are_one_sentence(hospitals: Path, tmp_path: Path, name: str, more: tuple[str, ...], reason: str) -> None:
    done = lab("compare", hospitals / name, "--out", tmp_path / "out", *words(*more))
    assert done.code == 1
    assert reason in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_folder_with_other_files_is_left_alone(hospitals: Path) -> None:
    done = lab("compare", hospitals, "--out", hospitals, *words())
    assert done.code == 1
    assert "holds other files" in done.err
