"""Usual mistakes of new users: each ends in a right result or in a sentence that names the remedy.

docs/mistakes.md has a row for each of them, with the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.augment.epochs import RepeatedEpochWarning
from recolorist.errors import RecoloristError, StatisticsError
from recolorist.io.reading import Reading
from tests.commands import collection, picture, refused, run_here

IMAGE, STYLE = picture(0), picture(1)
UNIT = (IMAGE / 255).astype(np.float32)
TILES = np.stack([picture(seed) for seed in range(4)])
BANK = rc.StyleBank.build(TILES, split="train")

#: The mistake, what is called, and words of the answer.
IN_PYTHON: dict[str, tuple[Callable[[], Any], str]] = {
    "signed integers": (lambda: rc.match(IMAGE.astype(np.int64), STYLE), "has dtype int64; accepted are NumPy arrays"),
    "channels first": (lambda: rc.match(np.moveaxis(IMAGE, -1, 0), STYLE), "Channels come last here: numpy.moveaxis"),
    "normalised floats": (lambda: rc.match(UNIT * 4 - 2, UNIT), "mostly come from Normalize: put this before it"),
    "floats of 0 to 255": (lambda: rc.match(IMAGE.astype(np.float32), STYLE), "Declare the right one (data_range=255.0)"),
    "NaN": (lambda: rc.match(np.full((4, 5, 3), np.nan, np.float32), UNIT), "Repair them, or pass on_nonfinite='mask'"),
    "grey to colour": (lambda: rc.match(IMAGE[..., 0], STYLE), "Turn grey into colour with numpy.repeat"),
    "a list": (lambda: rc.match(IMAGE.tolist(), STYLE), "is a list; accepted are NumPy arrays"),
    "a path for an image": (lambda: rc.match("a.png", STYLE), "Open it first: PIL.Image.open(path)"),
    "a palette": (
        lambda: rc.match(Image.fromarray(IMAGE).quantize(), STYLE),
        "Convert it knowingly, for example image.convert('RGB')",
    ),
    "a mask of another shape": (
        lambda: rc.match(IMAGE, STYLE, mask=np.ones((3, 3), bool)),
        "the image it belongs to needs (37, 53)",
    ),
    "a mask of floats": (
        lambda: rc.match(IMAGE, STYLE, mask=np.ones((37, 53))),
        "accepted are boolean or unsigned integer arrays",
    ),
    "an empty mask": (
        lambda: rc.match(IMAGE, STYLE, mask=np.zeros((37, 53), bool)),
        "selects no pixel; check that True or 255 marks the inside",
    ),
    "a method nearly spelled right": (
        lambda: rc.match(IMAGE, STYLE, method="mean-std"),
        "method='mean-std' is unknown; choose from 'mean_std'",
    ),
    "a space nearly spelled right": (
        lambda: rc.match(IMAGE, STYLE, space="LAB"),
        "space='LAB' is unknown; choose from 'rgb', 'lab'",
    ),
    "percent for a share": (lambda: rc.match(IMAGE, STYLE, strength=50), "strength=50; accepted are numbers from 0 to 1"),
    "an image without pixels": (lambda: rc.match(IMAGE[:0], STYLE), "it has no pixels; pass an image of at least 1 x 1"),
    "more bits than a file has": (lambda: Reading(bits=99), "bits=99; accepted are whole numbers from 9 to 16"),
    "a bank of the test split": (
        lambda: rc.Colorist(rc.StyleBank.build(TILES, split="test")),
        "training with it would leak; build one from the training split",
    ),
    "percent for a probability": (lambda: rc.Colorist(BANK, p=30), "p=30; accepted are numbers from 0 to 1"),
    "a range that falls": (
        lambda: rc.Colorist(BANK, strength=(1, 0.5)),
        "or two of them in ascending order",
    ),
    "a negative gain": (lambda: rc.match(IMAGE, STYLE, max_gain=-1), "max_gain=-1; accepted are numbers from 0 to inf"),
    "a data range of zero": (
        lambda: rc.match(IMAGE, STYLE, data_range=0),
        "data_range=0 for content; it is the largest value the image may hold",
    ),
    "alpha of one channel": (
        lambda: rc.match(IMAGE[..., 0], STYLE[..., 0], alpha=True),
        "alpha needs a colour channel beside it",
    ),
    "a masked array": (lambda: rc.match(np.ma.masked_array(IMAGE), STYLE), "pass image.data and mask=~image.mask"),
    "an unknown place to apply": (
        lambda: rc.match(IMAGE, STYLE, apply_to="inside"),
        "apply_to='inside' is unknown; choose from 'all', 'mask'",
    ),
    "complex numbers": (lambda: rc.match(UNIT.astype(np.complex64), UNIT), "has dtype complex64; accepted are NumPy arrays"),
    "an unknown sampler": (lambda: rc.Colorist(BANK, sampler="random"), "sampler='random' is unknown; choose from 'uniform'"),
    "one image for a bank": (lambda: rc.StyleBank.build(IMAGE), "which is one image; pass [image]"),
    "labels of other images": (
        lambda: rc.StyleBank.build(TILES, labels=list("abcde")),
        "there are 5 labels for 4 images; give one for each",
    ),
    "images where samples belong": (
        lambda: rc.StyleBank.from_dataset(list(TILES)),
        "no parts; pass images to StyleBank.build()",
    ),
    "the key by position": (lambda: rc.Colorist(BANK)(IMAGE, "a.png"), "the key of an image is given by name, key="),
}

#: The mistake, the words of the command after the source folder, and words of the answer.
WITH_COMMANDS: dict[str, tuple[list[str], str]] = {
    "a folder that is not there": (["audit", "{tmp}/none"], "does not exist; give a folder, a manifest, a list or an image file"),
    "a folder without images": (["audit", "{tmp}/empty"], "holds no image file; 1 file of other kinds was ignored: .txt 1"),
    "the output inside the source": (
        ["harmonise", "{tmp}/data", "{tmp}/data/out", "--to", "{tmp}/a.png"],
        "lies inside the source; its files would be sources next time",
    ),
    "percent on the command line": (
        ["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.png", "--strength", "50"],
        "--strength 50.0; accepted are numbers from 0 to 1",
    ),
    "grey and colour": (
        ["match", "{tmp}/grey.png", "{tmp}/b.png", "-o", "{tmp}/o.png"],
        "Pass --grey rgb to read grey images as colour",
    ),
    "an output of another kind": (
        ["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.webp"],
        "files named .webp are not written; choose from .png",
    ),
    "an output that exists": (["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/b.png"], "pass --force to replace it"),
    "a web page named .png": (
        ["match", "{tmp}/page.png", "{tmp}/b.png", "-o", "{tmp}/o.png"],
        "the download has failed, fetch the file again",
    ),
    "a picture of a phone": (
        ["match", "{tmp}/photo.heic", "{tmp}/b.png", "-o", "{tmp}/o.png"],
        "begins like HEIC, which is not read; save it as PNG, JPEG or TIFF",
    ),
    "a split that must be chosen": (
        ["bank", "build", "{tmp}/table.csv", "-o", "{tmp}/x.rcb"],
        "say which one the bank is made of (--split train)",
    ),
    "an unknown mask rule": (
        ["audit", "{tmp}/data", "--mask", "liver"],
        "--mask liver is unknown; choose from 'tissue', 'fundus'",
    ),
    "a method that needs the pixels of the style": (
        ["harmonise", "{tmp}/data", "{tmp}/o", "--to", "{tmp}/a.png", "--method", "histogram"],
        "harmonise with mean_std or covariance",
    ),
    "a level that is negative": (["audit", "{tmp}/data", "--level", "-1"], "--level -1; accepted are whole numbers from 0"),
    "bits that do not exist": (["audit", "{tmp}/data", "--bits", "99"], "--bits 99; accepted are whole numbers from 9 to 16"),
    "quality in shares": (
        ["match", "{tmp}/a.png", "{tmp}/b.png", "-o", "{tmp}/o.jpg", "--quality", "0"],
        "--quality 0; accepted are whole numbers from 1 to 100",
    ),
    "a list without images": (["audit", "{tmp}/list.txt"], "the list is empty; give at least one image file"),
    "a manifest without paths": (["audit", "{tmp}/no_path.csv"], "has no column 'path'; a manifest has path and"),
    "an unknown engine": (["audit", "{tmp}/data", "--engine", "dask"], "--engine dask is unknown; choose from 'local', 'ray'"),
    "no process at all": (["audit", "{tmp}/data", "-j", "0"], "--jobs 0; at least one process is needed"),
    "a chart as PNG": (["drift", "{tmp}/data", "--bank", "{tmp}/x.rcb", "--plot", "p.png"], "charts are written as SVG"),
    "two reports on standard output": (
        ["audit", "{tmp}/data", "--lines", "-", "--json"],
        "takes one report at a time; give the others the name of a file",
    ),
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


@pytest.mark.parametrize("name", ["bank.rcb", "bank.pkl", "bank.json"])
def test_a_pickled_bank_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04\x95" + bytes(60))  # how a pickle begins
    with pytest.raises(StatisticsError, match=r"A bank is written by bank\.save\(path\); pickles are never read"):
        rc.Colorist(tmp_path / name)


def test_a_fixed_key_over_epochs_is_warned_of() -> None:
    class Data:
        colorist = rc.Colorist(BANK, p=1.0, seed=1)

        def __getitem__(self, index: int) -> Any:
            return self.colorist(TILES[index], key=str(index))

    data = Data()
    with pytest.warns(RepeatedEpochWarning, match=r"no epoch was ever set.*Call set_epoch\(epoch\)"):
        passes = [[data[index] for index in range(4)] for _ in range(6)]
    assert np.array_equal(passes[0], passes[5])  # what the warning is about
    data.colorist.set_epoch(1)
    assert not np.array_equal(passes[0], [data[index] for index in range(4)])


def test_workers_give_the_same_bits() -> None:
    pytest.importorskip("torch", reason="needs the extra recolorist[torch]")
    from torch.utils.data import DataLoader

    from recolorist.torch import ColoristDataset

    data = ColoristDataset(list(TILES), rc.Colorist(BANK, p=1.0, seed=1))
    passes = []
    for workers in (0, 2):
        data.set_epoch(3)
        context = "fork" if workers else None
        loader = DataLoader(data, batch_size=2, num_workers=workers, multiprocessing_context=context)
        passes.append(np.concatenate([batch.numpy() for batch in loader]))
    assert np.array_equal(passes[0], passes[1])
    assert not np.array_equal(passes[0], TILES)


def test_blue_first_cannot_be_detected_and_is_right_once_converted(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2", reason="needs OpenCV")
    Image.fromarray(IMAGE).save(tmp_path / "a.png")
    read = cv2.imread(str(tmp_path / "a.png"))
    expected = rc.match(IMAGE, STYLE)
    assert not np.array_equal(rc.match(read, STYLE), expected)  # no error: the colours are exchanged
    assert np.array_equal(rc.match(cv2.cvtColor(read, cv2.COLOR_BGR2RGB), STYLE), expected)


def test_a_blank_tile_is_left_as_it_is() -> None:
    blank = np.random.default_rng(0).integers(240, 242, IMAGE.shape, dtype=np.uint8)
    colorist = rc.Colorist(BANK, p=1.0, seed=1)
    assert np.array_equal(colorist(blank, index=0, epoch=0), blank)
    assert colorist.blank_images == 1
    assert not np.array_equal(rc.Colorist(BANK, p=1.0, seed=1, blank="match")(blank, index=0, epoch=0), blank)


def test_lost_detail_is_flagged_and_max_loss_keeps_it() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.normal(190, 12, (128, 128, 3))
    pixels[40:72, 40:72] = rng.normal(40, 14, (32, 32, 3))  # a nucleus
    cell, style = (np.clip(image, 0, 255).astype(np.uint8) for image in (pixels, rng.normal(150, 95, (128, 128, 3))))
    audit = rc.audit(cell, rc.plan(rc.measure(cell), rc.measure(style)))
    assert audit.flags == (("detail_lost",),) * 3
    assert audit.loss_share > 0.05
    colorist = rc.Colorist(rc.StyleBank.build([style], split="train"), p=1.0, seed=1, max_loss=0.01)
    decision = colorist.params(cell, index=0, epoch=0)
    assert decision.plan is not None
    assert rc.audit(cell, decision.plan).loss_share <= 0.01


def test_the_page_has_every_mistake_with_its_words() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "mistakes.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    shown = {row[0]: row[1].strip("`") for row in rows if row[1].startswith("`")}
    expected = {mistake: words for mistake, (_, words) in [*IN_PYTHON.items(), *WITH_COMMANDS.items()]}
    assert shown == expected
    assert all(len(row) == 3 and all(row) for row in rows)
