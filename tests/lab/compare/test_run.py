"""A comparison to its end: killed and begun again, and on one hospital."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from tests.lab.command import answer, begun, lab

SMALL = ("--size", 16, "--epochs", 1, "--seeds", 1, "--batch", 8, "--jobs", 1, "-m", "colorist")


def words(*more: object) -> list[str]:
    return [str(word) for word in (*more, *SMALL)]


def finished(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in (folder / "ledger").glob("runs/*/*/result.json")}


def test_killed_and_begun_again_it_ends_with_a_report(hospitals: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = begun("compare", hospitals, "--out", out, *words())
    while len(finished(out)) < 4 and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = finished(out)
    assert 4 <= len(before) < 8  # two timings and six trainings
    done = lab("compare", hospitals, "--out", out, *words())
    assert done.code == 0, done.err
    assert "6 trainings (" in done.err
    assert "done before) of about" in done.err
    assert "What can be concluded" in done.out
    after = finished(out)
    assert len(after) == 8
    assert before.items() <= after.items()
    numbers = json.loads((out / "results.json").read_text("utf-8"))
    assert numbers["targets"] == ["a", "b", "c"]
    assert [method["name"] for method in numbers["methods"]] == ["none", "colorist"]
    assert answer("compare", hospitals, "--out", out, *words()) == numbers


def test_one_hospital_is_divided_by_patient(hospitals: Path, tmp_path: Path) -> None:
    share = ("--test-share", "0.25", "--group-pattern", r"(p\d+)_", "--out", tmp_path / "out")
    numbers = answer("compare", hospitals / "a", *share, *words())
    assert numbers["is_one_hospital"] is True
    assert numbers["targets"] == ["split 1"]
    assert "all images, trained on and tested on, are of one" in numbers["cannot_conclude"][0]
