"""What is left when something gives way in the middle: a killed process, a full disk, a server that changes its mind."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from recolorist_lab.assets import archives
from recolorist_lab.assets.download import FetchError, Link
from recolorist_lab.assets.fetch import RECORD, fetch
from recolorist_lab.data import arrays
from recolorist_lab.data.cards import File
from recolorist_lab.data.index import index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, zipped
from tests.lab.server import Handler, Server

LaidOut = Callable[[str], tuple[Fake, Path]]
HOST = "files.example.org"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def killed_after(seconds: float, code: str, *words: str) -> int:
    """Run a piece of Python in a process of its own and kill it for good after some time."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", code, *words], env=environment, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
class TestKilled:
    def test_converting(self, tmp_path: Path) -> None:
        """Either the folder is not there, or it is whole."""
        images = np.random.default_rng(1).integers(0, 256, (120, 224, 224, 3), dtype=np.uint8)
        members = {name: images if "images" in name else np.zeros((120, 1), np.uint8) for name in arrays.NAMES}
        np.savez(tmp_path / "a.npz", **members)  # type: ignore[arg-type]
        code = "import sys, pathlib; from recolorist_lab.data.arrays import convert; convert(*map(pathlib.Path, sys.argv[1:]))"
        rng = random.Random(1)
        for _ in range(4):
            killed_after(rng.uniform(0.2, 0.6), code, str(tmp_path / "a.npz"), str(tmp_path / "a"))
            if (tmp_path / "a").exists():
                assert sorted(path.stem for path in (tmp_path / "a").glob("*.npy")) == sorted(arrays.NAMES)
                shutil.rmtree(tmp_path / "a")
        for leftover in tmp_path.glob(".a.*.part"):  # an hour later nobody can be writing there
            for path in (*leftover.iterdir(), leftover):
                os.utime(path, (0, 0))
        arrays.convert(tmp_path / "a.npz", tmp_path / "a")
        assert np.array_equal(arrays.open_array(tmp_path / "a" / "test_images.npy"), images)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.npz"]

    def test_unpacking(self, tmp_path: Path) -> None:
        members = {f"{number % 50}/{number}.bin": bytes([number % 256]) * 300 for number in range(6000)}
        (tmp_path / "a.zip").write_bytes(zipped(members))
        code = "import sys; from recolorist_lab.assets.archives import unpack; unpack(*sys.argv[1:])"
        rng = random.Random(2)
        for _ in range(4):
            killed_after(rng.uniform(0.2, 0.8), code, str(tmp_path / "a.zip"), str(tmp_path / "out"))
            if (tmp_path / "out").exists():
                assert sum(path.is_file() for path in (tmp_path / "out").rglob("*")) == 6000
                shutil.rmtree(tmp_path / "out")
        assert archives.unpack(tmp_path / "a.zip", tmp_path / "out") == 6000


class TestFullDisk:
    def test_unpacking_says_so_before_it_writes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.zip").write_bytes(zipped({"a.bin": bytes(1000)}))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10_000, 9_001, 999))
        with pytest.raises(archives.ArchiveError, match="needs 1,000 bytes and 999 are free"):
            archives.unpack(tmp_path / "a.zip", tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]

    def test_and_so_does_converting(self, laid_out: LaidOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        one, _ = laid_out("breastmnist")
        (tmp_path / "a.npz").write_bytes(one.served[one.card.files[0].url])
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 10, 0))
        with pytest.raises(arrays.ArrayError, match="and 0 are free"):
            arrays.convert(tmp_path / "a.npz", tmp_path / "a")
        assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]

    def test_a_write_that_fails_half_way_leaves_no_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.zip").write_bytes(zipped({f"{number}.bin": b"x" for number in range(9)}))
        written = archives._write_file

        def failing(path: Path, *rest: object) -> None:
            if path.name == "5.bin":
                raise OSError(28, "No space left on device")
            written(path, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(archives, "_write_file", failing)
        with pytest.raises(archives.ArchiveError, match="No space left"):
            archives.unpack(tmp_path / "a.zip", tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


class TestServer:
    def file(self, data: bytes) -> tuple[File, dict[str, bytes]]:
        return File("a.bin", f"https://{HOST}/a.bin", at_most=10 * len(data)), {f"https://{HOST}/a.bin": data}

    def test_a_part_longer_than_the_file_starts_again(self, server: Server, link: Link, tmp_path: Path) -> None:
        file, served = self.file(b"short now")
        server.serve(served)
        (tmp_path / "a.bin.part").write_bytes(bytes(500))
        (tmp_path / "a.bin.part.json").write_text(json.dumps({"url": file.url, "etag": '"one"'}))
        usual = server.files[f"/{HOST}/a.bin"]

        def answer(handler: Handler) -> None:
            if handler.headers.get("Range"):
                handler.send_error(416)
            else:
                handler.send_file(usual)

        server.answers[f"/{HOST}/a.bin"] = answer
        card = card_of("ddi")
        fetch(replace(card, sources=(replace(card.sources[0], files=(file,), request=()),)), tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == b"short now"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", RECORD]

    def test_a_weak_tag_is_no_tag(self, server: Server, link: Link, tmp_path: Path) -> None:
        file, served = self.file(bytes(5000))
        server.serve(served)
        server.etag, server.cut_after = 'W/"one"', [1000]
        card = card_of("ddi")
        fetch(replace(card, sources=(replace(card.sources[0], files=(file,), request=()),)), tmp_path, link=link)
        assert [asked for _, asked in server.asked] == [None, None]

    def test_files_before_a_failure_are_kept(self, server: Server, link: Link, tmp_path: Path) -> None:
        first, served = self.file(b"first")
        server.serve(served)
        second = replace(first, name="b.bin", url=f"https://{HOST}/b.bin")
        card = card_of("ddi")
        both = replace(card, sources=(replace(card.sources[0], files=(first, second), request=()),))
        with pytest.raises(FetchError, match="404"):
            fetch(both, tmp_path, link=link)
        assert (tmp_path / "a.bin").read_bytes() == b"first"
        server.files[f"/{HOST}/b.bin"] = b"second"
        done = fetch(both, tmp_path, link=link)
        assert (done.files, done.present) == (("b.bin",), ("a.bin",))


class TestWorkers:
    """The same images in the same order, whoever reads them."""

    def test_loader_of_torch(self, laid_out: LaidOut) -> None:
        data = pytest.importorskip("torch.utils.data")
        for key in ("bloodmnist", "ddi"):
            one, root = laid_out(key)
            samples = Samples(index(one.card, root), "train", root=root, size=16)
            want = [(sample.key, sample.label, sample.image.tobytes()) for sample in samples]
            for workers in (0, 2):
                loader = data.DataLoader(samples, batch_size=None, num_workers=workers)
                assert [(one.key, one.label, np.asarray(one.image).tobytes()) for one in loader] == want

    def test_another_process_reads_the_same(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = laid_out("ddi")
        path = index(one.card, root).write(tmp_path / "ddi.parquet")
        code = (
            "import sys, hashlib; from recolorist_lab.data.loader import Samples;"
            "found = hashlib.sha256();"
            "[found.update(sample.image.tobytes()) for sample in Samples(sys.argv[1], 'test', root=sys.argv[2], size=20)];"
            "print(found.hexdigest())"
        )
        child = subprocess.run([sys.executable, "-c", code, str(path), str(root)], capture_output=True, text=True, check=True)  # noqa: S603
        found = hashlib.sha256()
        for sample in Samples(path, "test", root=root, size=20):
            found.update(sample.image.tobytes())
        assert child.stdout.strip() == found.hexdigest()
