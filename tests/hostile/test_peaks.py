"""Small files that unpack to hundreds of mebibytes are refused, or read, in little memory, as measured in a child process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.full import IS_FULL
from tests.hostile.peaks import BOMB_BYTES, BOMBS, measure, measure_file

MOST = 80 << 20  # a deflated DICOM may take 200 times its size, here 50 MiB; a run of DICOM 64 MiB above its pixels
ONCE_ACCEPTED = ("zarr zstd", "zarr zstd declared", "zarr gzip", "zarr shard", "zarr v2 zlib", "dcm rle", "dcm deflated")
NEEDS = {"zarr": "zarr", "tif": "imagecodecs", "dcm": "pydicom"}

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


@pytest.mark.parametrize("kind", BOMBS if IS_FULL else ONCE_ACCEPTED)
def test_the_peak(kind: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(kind.partition(" ")[0], "numpy"))
    row = measure(kind, tmp_path)
    assert row["peak"] < MOST < BOMB_BYTES // 3, row
    assert row["size"] < 5_000_000
    assert len(row["outcome"].split()) > 3 or row["outcome"] == "read", row


def test_memory_that_is_taken_is_noticed(tmp_path: Path) -> None:
    """The measurement itself: a valid image of 8,192 x 8,192 pixels takes what it needs."""
    from PIL import Image

    Image.new("RGB", (8192, 8192)).save(tmp_path / "large.png")
    row = measure_file(tmp_path / "large.png")
    assert row["outcome"] == "read"
    assert row["peak"] > 180 << 20
