"""The format of a file is found from its first bytes, and compared with its name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io.formats import FORMATS, HUGE_FORMATS, format_from_start, sniff
from recolorist.io.images import open_file, read_image
from recolorist.io.write import encode
from tests.commands import picture


@pytest.mark.parametrize(
    ("name", "start", "form"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", "PNG"),
        ("a.jpeg", b"\xff\xd8\xff\xe0", "JPEG"),
        ("a.tif", b"II*\0", "TIFF"),
        ("a.tiff", b"MM\0*", "TIFF"),
        ("a.TIF", b"II+\0", "TIFF"),
        ("a.npy", b"\x93NUMPY\x01\0", "NPY"),
        ("a.npz", b"PK\x03\x04", "NPZ"),
        ("a.dcm", b"\0" * 128 + b"DICM", "DICOM"),
        ("no_suffix", b"\xff\xd8\xff\xe0", "JPEG"),
        ("a.bmp", b"BM", "BMP"),
        ("a.gif", b"GIF89a", "GIF"),
        ("a.webp", b"RIFF\x2c\x03\0\0WEBPVP8 ", "WEBP"),
        ("a.jp2", b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG2000"),
        ("a.j2k", b"\xff\x4f\xff\x51", "JPEG2000"),
        ("a.svs", b"II*\0", "SLIDE"),
    ],
)
def test_recognised(tmp_path: Path, name: str, start: bytes, form: str) -> None:
    (tmp_path / name).write_bytes(start + b"\0" * 200)
    assert sniff(tmp_path / name) == form
    assert open_file(tmp_path / name)[0] == form


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.png", b"%!PS-Adobe-3.0 EPSF-3.0\n"), ("a.jpg", b"RIFF\0\0\0\0WAVE" + b"\0" * 50),
     ("a.png", b"\x93NUMPY\x01\0"),
     ("a.npy", encode(picture(), ".png")), ("a.dcm", encode(picture(), ".png"))],
)  # fmt: skip
def test_not_what_the_name_says(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ImageError, match=r"is not what its name says|rename it to what it is"):
        read_image(tmp_path / name)


def test_pictures_may_be_misnamed_for_one_another(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encode(picture(), ".tif"))
    assert (sniff(tmp_path / "a.png"), open_file(tmp_path / "a.png")[0]) == ("TIFF", "TIFF")
    assert np.array_equal(read_image(tmp_path / "a.png"), picture())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_folders_are_refused_and_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").mkdir()
    for name in ("a.png", "b.png", "missing.png"):
        for read in (sniff, read_image, open_file):
            with pytest.raises(ImageError, match=name):
                read(tmp_path / name)


def test_zarr_folders(tmp_path: Path) -> None:
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(ImageError, match="has a Zarr's name but not its files"):
        sniff(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / ".zgroup").write_text("{}")
    assert sniff(tmp_path / "a.zarr") == "ZARR"


def test_every_format_of_strips_is_known() -> None:
    assert set(HUGE_FORMATS) <= set(FORMATS.values())


def test_the_message_lists_what_is_read() -> None:
    with pytest.raises(ImageError, match=r"no format that is read here \(PNG, JPEG, TIFF, BMP, GIF, WEBP, JPEG2000, NPY, NPZ,"):
        format_from_start(b"?", "PNG", "a.png")


@pytest.mark.parametrize(
    ("name", "start", "sentence"),
    [
        ("a.png", b"", "a.png is empty (0 bytes); fetch or save it again"),
        ("a.png", b"<!DOCTYPE html>", "the download has failed, fetch the file again"),
        ("a.tif", b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
        ("a.heic", b"\0\0\0\x18ftypheic", "a.heic is not read: it begins like HEIC, which is not read; save it as PNG"),
        ("a.jpg", b"\0\0\0\x18ftypavif", "a.jpg is not what its name says: it begins like AVIF"),
        ("a.nii.gz", b"\x1f\x8b", "a.nii.gz is not read: it begins like a gzip archive; unpack it first"),
        ("a.xyz", b"?", "a.xyz is of a kind that is not read; formats that are: PNG, JPEG"),
    ],
)
def test_what_to_do_with_files_that_are_not_read(name: str, start: bytes, sentence: str) -> None:
    with pytest.raises(ImageError, match=re.escape(sentence)) as caught:
        format_from_start(start, FORMATS.get(Path(name).suffix), name)
    assert ("its name says" in str(caught.value)) == (Path(name).suffix in FORMATS and bool(start))
