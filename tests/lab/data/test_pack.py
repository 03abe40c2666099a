"""A pack holds the very bytes of the loader, is made once, goes on after an interruption, and notices damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from recolorist.errors import ImageError, OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.data import pack as packing
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.own import IndexOptions, index_folder
from recolorist_lab.data.pack import pack
from recolorist_lab.data.packed import check_packs


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve pictures of odd shapes in two classes, with a manifest; a pack of them has three chunks."""
    rng = np.random.default_rng(3)
    root = tmp_path / "data"
    for number in range(12):
        path = root / f"c{number % 2}" / f"{number:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = (9 + number, 20 - number, 3)
        Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(path)
    monkeypatch.setattr(packing, "CHUNK", 5)
    return index_folder(root, IndexOptions("mine")).write(root / "mine.parquet")


def squares(path: Path, **options: Any) -> list[Any]:
    return [(sample.image.tobytes(), sample.box, sample.label, sample.key) for sample in Samples(path, **options)]


@pytest.mark.parametrize("resize", ["letterbox", "squash"])
def test_the_bytes_are_those_of_the_loader(images: Path, resize: Any) -> None:
    plain = squares(images, size=8, resize=resize)
    folder = pack(Samples(images, size=8, resize=resize))
    samples = Samples(images, size=8, resize=resize)
    assert samples.packed is not None
    assert samples.packed.folder == folder
    assert squares(images, size=8, resize=resize) == plain
    assert samples[0].image.flags.writeable
    for path in images.parent.rglob("*.png"):
        path.unlink()
    assert squares(images, size=8, resize=resize) == plain  # nothing is decoded any more


def test_another_size_has_no_pack(images: Path) -> None:
    pack(Samples(images, size=8))
    assert Samples(images, size=8).packed is not None
    assert Samples(images, size=9).packed is None
    assert Samples(images, size=8, resize="letterbox").packed is None
    assert Samples(images, size=None).packed is None


def test_it_is_made_once(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pack(Samples(images, size=8))
    monkeypatch.setattr(packing, "_fill", None)
    assert pack(Samples(images, size=8)) == folder
    assert [path.name for path in images.parent.iterdir() if path.name.startswith(".")] == []


def test_processes_give_the_same_bytes(images: Path) -> None:
    alone = pack(Samples(images, size=8))
    several = pack(Samples(images, size=8, resize="letterbox"), jobs=2)
    plain = Samples(images.rename(images.with_name("other.parquet")), size=8, resize="letterbox")
    assert plain.packed is not None  # found by the images, not by the manifest's name
    assert alone != several
    assert json.loads((several / "pack.json").read_text())["resize"] == "letterbox"


class TestInterrupted:
    def cut_after(self, chunks: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Interrupt a pack after so many chunks; returns the list of chunks that later calls write."""
        fill = packing._fill
        written: list[int] = []

        def counted(part: Path, number: int) -> tuple[int, str]:
            if len(written) == chunks:
                raise KeyboardInterrupt
            written.append(number)
            return fill(part, number)

        monkeypatch.setattr(packing, "_fill", counted)
        with pytest.raises(KeyboardInterrupt):
            pack(Samples(path, size=8))
        later: list[int] = []

        def noted(part: Path, number: int) -> tuple[int, str]:
            later.append(number)
            return fill(part, number)

        monkeypatch.setattr(packing, "_fill", noted)
        return later

    def test_it_goes_on(self, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = squares(images, size=8)
        later = self.cut_after(2, images, monkeypatch)
        assert Samples(images, size=8).packed is None
        pack(Samples(images, size=8))
        assert later == [2]
        assert squares(images, size=8) == plain

    def test_what_does_not_verify_is_made_again(self, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = squares(images, size=8)
        later = self.cut_after(2, images, monkeypatch)
        (part,) = images.parent.glob(".*.part")
        np.lib.format.open_memmap(part / "images.npy", "r+")[1] = 0
        with (part / "done.jsonl").open("a") as journal:
            journal.write('[2, "cut')  # as a killed process leaves it
        pack(Samples(images, size=8))
        assert later == [0, 2]
        assert squares(images, size=8) == plain


def test_images_that_are_not_those_indexed_are_refused(images: Path) -> None:
    samples = Samples(images, size=8)
    Image.fromarray(np.zeros((9, 20, 3), np.uint8)).save(images.parent / "c0" / "00.png")
    with pytest.raises(ImageError, match=r"c0/00\.png of mine holds other pixels than when it was indexed"):
        pack(samples)


def test_damage_is_found(images: Path) -> None:
    folder, samples = pack(Samples(images, size=8)), Samples(images, size=8)
    assert check_packs(samples.manifest, images.parent) == []
    np.lib.format.open_memmap(folder / "images.npy", "r+")[7] = 0
    (sentence,) = check_packs(samples.manifest, images.parent)
    assert "damaged in 1 of 3 parts" in sentence


def test_a_folder_that_is_read_only(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    plain, before = squares(images, size=8), sorted(images.parent.iterdir())
    images.parent.chmod(0o555)
    try:
        assert pack(Samples(images, size=8)).parent == tmp_path / "cache" / "data"
        assert Samples(images, size=8).packed is not None
        assert squares(images, size=8) == plain
        assert sorted(images.parent.iterdir()) == before
    finally:
        images.parent.chmod(0o755)


@pytest.mark.parametrize("options", [{"size": None}, {"size": 8, "split": "train", "domain": "elsewhere"}])
def test_a_part_of_a_manifest_is_no_pack(images: Path, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"a pack holds all images|has no image"):
        pack(Samples(images, **options))


def test_the_command(images: Path) -> None:
    result = CliRunner().invoke(app, ["data", "pack", str(images), "--size", "8", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "12 images of 8 × 8 pixels, letterbox" in result.output
    assert Samples(images, size=8, resize="letterbox").packed is not None
    checked = CliRunner().invoke(app, ["data", "check", str(images)])
    assert "all as indexed" in checked.output, checked.output
