"""Usual mistakes of new users: each ends in a right result or in a sentence that names the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.errors import RecoloristError
from recolorist.io.reading import Reading
from tests.commands import collection, picture, refused, run_here

IMAGE, STYLE = picture(0), picture(1)
UNIT = (IMAGE / 255).astype(np.float32)
TILES = np.stack([picture(seed) for seed in range(4)])

#: The mistake, what is called, and words of the answer.
IN_PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "signed integers": (lambda: rc.match(IMAGE.astype(int), STYLE), "accepted are NumPy arrays"),
    "channels first": (lambda: rc.match(np.moveaxis(IMAGE, -1, 0), STYLE), "numpy.moveaxis"),
    "normalised floats": (lambda: rc.match(UNIT * 4 - 2, UNIT), "put this before it"),
    "floats of 0 to 255": (lambda: rc.match(IMAGE.astype(np.float32), STYLE), "data_range=255"),
    "NaN": (lambda: rc.match(np.full((4, 5, 3), np.nan, np.float32), UNIT), "on_nonfinite='mask'"),
    "grey to colour": (lambda: rc.match(IMAGE[..., 0], STYLE), "numpy.repeat"),
    "a list": (lambda: rc.match(IMAGE.tolist(), STYLE), "numpy.asarray"),
    "a path for an image": (lambda: rc.match("a.png", STYLE), "accepted are NumPy arrays"),
    "a palette": (lambda: rc.match(Image.fromarray(IMAGE).quantize(), STYLE), "image.convert('RGB')"),
    "a mask of another shape": (lambda: rc.match(IMAGE, STYLE, mask=np.ones((3, 3), bool)), "needs (37, 53)"),
    "a mask of floats": (lambda: rc.match(IMAGE, STYLE, mask=np.ones((37, 53))), "accepted are boolean"),
    "an empty mask": (lambda: rc.match(IMAGE, STYLE, mask=np.zeros((37, 53), bool)), "selects no pixel"),
    "a method nearly spelled right": (lambda: rc.match(IMAGE, STYLE, method="mean-std"), "choose from 'mean_std'"),
    "a space nearly spelled right": (lambda: rc.match(IMAGE, STYLE, space="LAB"), "choose from 'rgb'"),
    "percent for a share": (lambda: rc.match(IMAGE, STYLE, strength=50), "accepted are numbers from 0 to 1"),
    "an image without pixels": (lambda: rc.match(IMAGE[:0], STYLE), "at least 1 x 1"),
    "16 bits in use of 99": (lambda: Reading(bits=99), "accepted are whole numbers from 9 to 16"),
    "a bank of the test split": (lambda: rc.Colorist(rc.StyleBank.build(TILES, split="test")), "training split"),
    "percent for a probability": (lambda: rc.Colorist(rc.StyleBank.build(TILES, split="train"), p=30), "from 0 to 1"),
    "a range that falls": (
        lambda: rc.Colorist(rc.StyleBank.build(TILES, split="train"), strength=(1, 0.5)),
        "in ascending order",
    ),
    "a negative gain": (lambda: rc.match(IMAGE, STYLE, max_gain=-1), "accepted are numbers from"),
    "a range of nothing": (lambda: rc.match(IMAGE, STYLE, data_range=0), "the largest value the image may hold"),
    "alpha of one channel": (lambda: rc.match(IMAGE[..., 0], STYLE[..., 0], alpha=True), "needs a colour channel"),
    "a masked array": (lambda: rc.match(np.ma.masked_array(IMAGE), STYLE), "mask=~image.mask"),
    "where to apply": (lambda: rc.match(IMAGE, STYLE, apply_to="inside"), "choose from 'all', 'mask'"),
    "too many bits": (lambda: rc.match(UNIT.astype(np.complex64), UNIT), "accepted are NumPy arrays"),
    "an unknown sampler": (lambda: rc.Colorist(rc.StyleBank.build(TILES, split="train"), sampler="random"), "choose from"),
}

#: The mistake, the words of the command after the source folder, and words of the answer.
WITH_COMMANDS: dict[str, tuple[list[str], str]] = {
    "a folder that is not there": (["audit", "{tmp}/none"], "does not exist; give a folder"),
    "a folder without images": (["audit", "{tmp}/empty"], "1 file of other kinds was ignored: .txt 1"),
    "the output inside the source": (
        ["harmonise", "{tmp}/data", "{tmp}/data/out", "--to", "{tmp}/a.png"],
        "lies inside the source",
    ),
    "percent on the command line": (
        ["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.png", "--strength", "50"],
        "--strength 50",
    ),
    "grey and colour": (["match", "{tmp}/grey.png", "{tmp}/b.png", "-o", "{tmp}/o.png"], "--grey rgb"),
    "an output of another kind": (["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.webp"], "choose from .png"),
    "an output that exists": (["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/b.png"], "pass --force to replace it"),
    "a web page named .png": (["match", "{tmp}/page.png", "{tmp}/b.png", "-o", "{tmp}/o.png"], "the download has failed"),
    "a picture of a phone": (["match", "{tmp}/photo.heic", "{tmp}/b.png", "-o", "{tmp}/o.png"], "save it as PNG"),
    "a split that must be chosen": (["bank", "build", "{tmp}/table.csv", "-o", "{tmp}/x.rcb"], "--split train"),
    "an unknown rule": (["audit", "{tmp}/data", "--mask", "liver"], "choose from 'tissue', 'fundus'"),
    "a style by its pixels": (
        ["harmonise", "{tmp}/data", "{tmp}/o", "--to", "{tmp}/a.png", "--method", "histogram"],
        "mean_std",
    ),
    "a level that is negative": (["audit", "{tmp}/data", "--level", "-1"], "--level -1; accepted are whole numbers from 0"),
    "bits that do not exist": (["audit", "{tmp}/data", "--bits", "99"], "--bits 99; accepted are whole numbers from 9 to 16"),
    "quality in shares": (["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.jpg", "--quality", "0"], "from 1 to 100"),
    "a list without images": (["audit", "{tmp}/list.txt"], "the list is empty; give at least one image file"),
    "a manifest without paths": (["audit", "{tmp}/no_path.csv"], "has no column 'path'"),
    "an unknown engine": (["audit", "{tmp}/data", "--engine", "dask"], "choose from 'local', 'ray'"),
    "no process at all": (["audit", "{tmp}/data", "-j", "0"], "--jobs 0; at least one process is needed"),
    "a chart as PNG": (["drift", "{tmp}/data", "--bank", "{tmp}/x.rcb", "--plot", "p.png"], "charts are written as SVG"),
    "two reports on standard output": (["audit", "{tmp}/data", "--lines", "-", "--json"], "one report at a time"),
}


@pytest.mark.parametrize("mistake", IN_PYTHON)
def test_in_python(mistake: str) -> None:
    call, words = IN_PYTHON[mistake]
    with pytest.raises(RecoloristError) as caught:
        call()
    assert words in str(caught.value)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    collection(folder / "data")
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("")
    for name, pixels in (("a", IMAGE), ("b", STYLE), ("grey", IMAGE[..., 0])):
        Image.fromarray(pixels).save(folder / f"{name}.png")
    Image.fromarray(IMAGE).save(folder / "a.bmp")
    (folder / "table.csv").write_text("path,split\na.png,train\nb.png,test\n")
    (folder / "list.txt").write_text("")
    (folder / "no_path.csv").write_text("file\na.png\n")
    (folder / "page.png").write_bytes(b"<!DOCTYPE html><p>404")
    (folder / "photo.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    return folder


@pytest.mark.parametrize("mistake", WITH_COMMANDS)
def test_with_commands(mistake: str, place: Path) -> None:
    command, words = WITH_COMMANDS[mistake]
    assert words in refused(*(word.format(tmp=place) for word in command))


def test_a_bitmap_is_read(place: Path, tmp_path: Path) -> None:
    assert run_here("match", place / "a.bmp", place / "b.png", "-o", tmp_path / "o.png").code == 0
    assert np.array_equal(np.asarray(Image.open(tmp_path / "o.png")), rc.match(IMAGE, STYLE))


def test_an_option_nearly_spelled_right_is_named(place: Path) -> None:
    assert "--strength" in refused("match", place / "a.png", place / "b.png", "-o", "o.png", "--stregth", "1", code=2)
