"""Zarr arrays and OME-Zarr images, whole and by rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io.images import HugeError, Reading, open_strips, read_image, read_picture
from recolorist.io.strips import ArrayStrips
from recolorist.io.zarr import write_zarr
from tests.commands import picture
from tests.io.kit import sixteen

zarr: Any = pytest.importorskip("zarr")


def save_zarr(path: Path, pixels: Any, chunks: tuple[int, ...] | None = None) -> Path:
    chunks = chunks or (*(8,) * 2, *pixels.shape[2:])
    zarr.create_array(str(path), shape=pixels.shape, dtype=pixels.dtype, chunks=chunks)[:] = pixels
    return path


def save_ome(path: Path, axes: str = "tczyx", *, old: bool = False) -> Path:
    group = zarr.open_group(str(path), mode="w")
    scales = [{"axes": [{"name": name} for name in axes], "datasets": [{"path": "0"}, {"path": "1"}]}]
    group.attrs.update({"multiscales": scales} if old else {"ome": {"multiscales": scales}})
    for level in (0, 1):
        data = np.moveaxis(picture(level), -1, 0)[None, :, None] if axes == "tczyx" else np.moveaxis(picture(level), -1, 0)
        group.create_array(str(level), shape=data.shape, dtype="uint8", chunks=(*(1,) * (data.ndim - 2), 16, 16))[:] = data
    return path


@pytest.mark.parametrize("depth", [1, 3, 4])
def test_arrays(tmp_path: Path, depth: int) -> None:
    path = save_zarr(tmp_path / "a.zarr", sixteen(depth=depth))
    assert np.array_equal(read_image(path), sixteen(depth=depth))


def test_grey(tmp_path: Path) -> None:
    path = save_zarr(tmp_path / "a.zarr", picture()[..., 0])
    assert np.array_equal(read_image(path)[..., 0], picture()[..., 0])


def test_rows_by_chunks(tmp_path: Path) -> None:
    with open_strips(save_zarr(tmp_path / "a.zarr", sixteen()), Reading(bits=12)) as strips:
        assert (strips.shape, strips.step, strips.packed, strips.data_range) == ((31, 23, 3), 8, True, 4095.0)
        assert np.array_equal(strips.rows(5, 21), sixteen()[5:21])


@pytest.mark.parametrize("axes", ["tczyx", "cyx"])
@pytest.mark.parametrize("old", [False, True])
def test_levels_of_ome_zarr(tmp_path: Path, axes: str, old: bool) -> None:
    path = save_ome(tmp_path / "a.zarr", axes, old=old)
    for level in (0, 1):
        assert np.array_equal(read_picture(path, Reading(level=level)).pixels, picture(level))
    with pytest.raises(ImageError, match=r"2 level\(s\), and level 2"):
        read_picture(path, Reading(level=2))


@pytest.mark.parametrize(
    ("shape", "dtype", "words"),
    [((4, 4, 9), "uint8", "at most 4 channels"), ((4,), "uint8", "expected is"), ((4, 4), "int16", "int16")],
)
def test_refused(tmp_path: Path, shape: tuple[int, ...], dtype: str, words: str) -> None:
    save_zarr(tmp_path / "a.zarr", np.zeros(shape, dtype), chunks=shape)
    with pytest.raises(ImageError, match=words):
        read_image(tmp_path / "a.zarr")


def test_a_group_without_an_image(tmp_path: Path) -> None:
    zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    with pytest.raises(ImageError, match="group without an image"):
        read_image(tmp_path / "a.zarr")


@pytest.mark.parametrize("axes", ["yx", "yxc?", "yxx", "cxx", "zyx"])
def test_axes_that_do_not_fit_the_array(tmp_path: Path, axes: str) -> None:
    """Some of them ended in an error of Python when the image was read by rows."""
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("0", shape=(6, 5, 3), dtype="uint8", chunks=(6, 5, 3))
    group.attrs["ome"] = {"multiscales": [{"axes": [{"name": name} for name in axes], "datasets": [{"path": "0"}]}]}
    for read in (read_image, lambda path: open_strips(path, Reading())):
        with pytest.raises(ImageError, match=r"a\.zarr: its axes .* \(6, 5, 3\); one image is expected"):
            read(tmp_path / "a.zarr")


def test_the_limit(tmp_path: Path) -> None:
    with pytest.raises(HugeError, match="over the limit of 100"):
        read_image(save_zarr(tmp_path / "a.zarr", picture()), max_pixels=100)


def test_damaged_metadata(tmp_path: Path) -> None:
    path = save_zarr(tmp_path / "a.zarr", picture())
    (path / "zarr.json").write_text("{")
    with pytest.raises(ImageError, match="cannot be read as Zarr"):
        read_image(path)


def test_a_damaged_chunk(tmp_path: Path) -> None:
    path = save_zarr(tmp_path / "a.zarr", picture())
    chunk = next(found for found in sorted((path / "c").rglob("*")) if found.is_file())
    chunk.write_bytes(b"nothing")
    with pytest.raises(ImageError, match="rows 0 to 37 cannot be decoded"):
        read_image(path)


def test_a_folder_that_only_has_the_name(tmp_path: Path) -> None:
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(ImageError, match="has a Zarr's name but not its files"):
        read_image(tmp_path / "a.zarr")


def test_bands_are_written_as_one_array(tmp_path: Path) -> None:
    pixels = sixteen()
    like = ArrayStrips(pixels, step=10)
    write_zarr(tmp_path / "o.zarr", (rows for _, rows in like.bands()), like)
    assert np.array_equal(read_image(tmp_path / "o.zarr"), pixels)


def test_missing_chunks_are_counted_before_they_are_looked_for(tmp_path: Path) -> None:
    """An array of 9,000 x 9,000 in chunks of 16, nearly all missing, took more than 100 seconds."""
    zarr.create_array(str(tmp_path / "a.zarr"), shape=(9000, 9000, 3), dtype="uint8", chunks=(16, 16, 3))[:32, :32] = 7
    with pytest.raises(ImageError, match="declares 316,969 chunks and holds only 5 files"):
        read_image(tmp_path / "a.zarr")
    with pytest.raises(ImageError, match="declares 316,969 chunks"):
        open_strips(tmp_path / "a.zarr", Reading())


def test_missing_chunks_are_blank(tmp_path: Path) -> None:
    """Zarr does not write chunks of zeros, ours included."""
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[:8, :8] = 9
    path = save_zarr(tmp_path / "a.zarr", pixels)
    assert len([file for file in (path / "c").rglob("*") if file.is_file()]) == 1
    assert np.array_equal(read_image(path), pixels)


def test_chunks_far_larger_than_the_array(tmp_path: Path) -> None:
    path = save_zarr(tmp_path / "a.zarr", picture())
    text = (path / "zarr.json").read_text()
    header = json.loads(text)
    header["chunk_grid"]["configuration"]["chunk_shape"] = [1 << 20, 1 << 20, 3]
    (path / "zarr.json").write_text(json.dumps(header))
    with pytest.raises(HugeError, match="tiles have 3,298,534,883,328 pixels"):
        read_image(path)


def test_shards(tmp_path: Path) -> None:
    pixels = sixteen()
    array = zarr.create_array(str(tmp_path / "a.zarr"), shape=pixels.shape, dtype="uint16", chunks=(8, 8, 3), shards=(16, 16, 3))
    array[:] = pixels
    assert np.array_equal(read_image(tmp_path / "a.zarr"), pixels)
