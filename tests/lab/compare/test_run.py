"""A comparison to its end: killed and begun again, and on one hospital."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from recolorist_lab.compare.images import ImageSource
from recolorist_lab.compare.plan import Training
from recolorist_lab.compare.run import Request, compare
from tests.lab.command import answer, begun, lab
from tests.lab.fakes.parts import picture

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
    _, errors = process.communicate()
    before = finished(out)
    assert 4 <= len(before) < 8  # two timings and six trainings
    done = lab("compare", hospitals, "--out", out, *words())
    assert done.code == 0, done.err
    assert b"Two short trainings first" in errors
    assert "Two short trainings first" not in done.err
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


def test_killed_while_images_are_stored_it_goes_on(hospitals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def half_store(_manifest: object, _root: Path, folder: Path, _size: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".images.part.npy").write_bytes(b"half")
        raise Killed

    monkeypatch.setattr("recolorist_lab.compare.run.store_images", half_store)
    request = Request(ImageSource(hospitals), tmp_path / "out", Training())
    for _ in range(2):  # the second time it gets as far again, and does not take its own files for those of others
        with pytest.raises(Killed):
            compare(request, say=print, shown=lambda _: nullcontext(print))


def test_a_refused_comparison_leaves_nothing_behind(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a" / "ill" / "1.png", 1)
    picture(tmp_path / "images" / "b" / "ill" / "1.png", 2)
    done = lab("compare", tmp_path / "images", "--out", tmp_path / "out", *words())
    assert done.code == 1
    assert "there is one class, 'ill'" in done.err
    assert not (tmp_path / "out").exists()


def test_one_hospital_is_divided_by_patient(hospitals: Path, tmp_path: Path) -> None:
    share = ("--test-share", "0.25", "--group-pattern", r"(p\d+)_", "--out", tmp_path / "out")
    numbers = answer("compare", hospitals / "a", *share, *words())
    assert numbers["is_one_hospital"] is True
    assert numbers["targets"] == ["split 1"]
    assert "all images, trained on and tested on, are of one" in numbers["cannot_conclude"][0]
