"""Hostile folders: the command names what is wrong, does the rest, and writes into the target folder only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist import collections as batch
from recolorist.io.write import encode
from tests.commands import collection, contents, picture, refused, run_here, run_json, run_process


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "b.rcb"
    batch.build_bank(collection(tmp_path_factory.mktemp("styles")), split="train").bank.save(path)
    return path


@pytest.fixture(scope="module")
def horrors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bad files of every kind among four good ones."""
    folder = tmp_path_factory.mktemp("horrors")
    for i, name in enumerate(("good.png", "with space.jpg", "new\nline.png", "\udcff\udcfe.png")):
        (folder / name).write_bytes(encode(picture(i), Path(name).suffix))
    whole = encode(picture(), ".png")
    for cut in (0, 7, 20, 60, len(whole) // 2, len(whole) - 1):
        (folder / f"cut {cut}.png").write_bytes(whole[:cut])
    (folder / "postscript.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (folder / "objects.npy").write_bytes(b"")
    np.save(folder / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.savez_compressed(folder / "bomb.npz", np.zeros((9000, 9000, 3), np.uint8))
    (folder / "folder.png").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.png")
    (folder / "away.png").symlink_to("/etc/passwd")
    return folder


class TestBadFiles:
    def test_augment_does_the_rest(self, horrors: Path, tmp_path: Path, bank: Path) -> None:
        result = run_process("augment", horrors, tmp_path / "o", "--bank", bank, "-j", "2")  # a stream refuses odd names
        assert result.code == 3
        assert result.out.startswith("4 written, 9 failed")
        assert all(line.startswith("recolorist: ") for line in result.err.splitlines())
        written = {os.fsencode(name) for name in contents(tmp_path / "o")}
        assert written == {b"good.png", b"with space.jpg", b"new\nline.png", b"\xff\xfe.png", b"provenance.jsonl"}
        assert len((tmp_path / "o" / "provenance.jsonl").read_text("utf-8").splitlines()) == 4

    @pytest.mark.parametrize("command", ["audit", "bank"])
    def test_the_others_too(self, horrors: Path, tmp_path: Path, command: str) -> None:
        words = ["audit", horrors] if command == "audit" else ["bank", "build", horrors, "-o", tmp_path / "b.rcb"]
        summary = run_json(*words, code=3)
        assert summary["images" if command == "audit" else "styles"] == 4
        assert len(summary["failures"]) == 9
        assert all(failure["error"] for failure in summary["failures"])

    def test_an_odd_bank_is_one_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "b.rcb").write_bytes(b"PK\x03\x04 nothing")
        folder = collection(tmp_path / "d", 2)
        for words in (["augment", folder, tmp_path / "o"], ["audit", folder], ["drift", folder]):
            assert "b.rcb" in refused(*words, "--bank", tmp_path / "b.rcb")
        assert not (tmp_path / "o").exists()


class TestTargets:
    def test_links_in_the_target_are_not_followed(self, tmp_path: Path, bank: Path) -> None:
        folder, elsewhere, out = collection(tmp_path / "d", 4), tmp_path / "elsewhere", tmp_path / "o"
        elsewhere.mkdir()
        out.mkdir()
        (out / "hospital_a").symlink_to(elsewhere, target_is_directory=True)
        for force in ([], ["--force"]):
            result = run_here("augment", folder, out, "--bank", bank, *force)
            assert result.code == 3
            assert "links there are not followed" in result.err
        assert list(elsewhere.iterdir()) == []

    def test_a_file_where_a_folder_is_needed(self, tmp_path: Path, bank: Path) -> None:
        folder = collection(tmp_path / "d", 4)
        (tmp_path / "o").write_bytes(b"mine")
        result = run_here("augment", folder, tmp_path / "o", "--bank", bank)
        assert (result.code, (tmp_path / "o").read_bytes()) == (1, b"mine")
        assert result.err.count("\n") == 1

    def test_reports_are_not_overwritten(self, tmp_path: Path, bank: Path) -> None:
        folder = collection(tmp_path / "d", 4)
        (tmp_path / "mine.svg").write_text("mine", "utf-8")
        for words in (
            ["audit", folder, "--html", tmp_path / "mine.svg"],
            ["audit", folder, "--lines", tmp_path / "mine.svg"],
            ["drift", folder, "--bank", bank, "--plot", tmp_path / "mine.svg"],
            ["bank", "build", folder, "-o", tmp_path / "mine.svg"],
            ["bank", "plot", bank, "-o", tmp_path / "mine.svg"],
        ):
            assert "exists" in refused(*words)
        assert (tmp_path / "mine.svg").read_text("utf-8") == "mine"


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system in memory, where the test may make one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        pytest.skip(f"no file system of a limited size can be made here: {error}")
    if made.returncode:
        pytest.skip(f"no file system of a limited size can be made here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607


class TestDisks:
    def test_a_full_disk_ends_the_run_and_what_is_there_is_whole(self, tmp_path: Path, bank: Path) -> None:
        folder = collection(tmp_path / "d", 60)
        with mounted(tmp_path / "o", "size=96k") as out:
            result = run_here("augment", folder, out, "--bank", bank, "-j", "2")
            assert result.code == 1
            assert "No space left on device" in result.err
            assert result.err.count("\n") == 1
            names = [path for path in out.rglob("*") if path.is_file()]
            pictures = [path for path in names if path.suffix == ".png"]
            assert len(pictures) > 3
            assert not [path for path in names if "part" in path.name]
            for path in pictures:
                with Image.open(path) as image:
                    image.load()

    def test_a_bank_that_does_not_fit(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "d", 40)
        with mounted(tmp_path / "o", "size=4k") as out:
            result = run_here("bank", "build", folder, "-o", out / "b.rcb")
            assert result.code == 1
            assert list(out.iterdir()) == []

    def test_read_only(self, tmp_path: Path, bank: Path) -> None:
        folder = collection(tmp_path / "d", 4)
        with mounted(tmp_path / "o", "size=96k,ro") as out:
            for words in (["augment", folder, out / "x", "--bank", bank], ["augment", folder, out, "--bank", bank]):
                assert "ead-only file system" in refused(*words)
