"""MedMNIST archives: converted once, checked before a byte is written, and shared as one map by any number of processes."""

from __future__ import annotations

import io
import multiprocessing
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist_lab.data.arrays import NAMES, ArrayError, check_images, convert, open_array
from recolorist_lab.data.index import index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.registry import card_of
from tests.lab.fakes import medmnist

SMALL: dict[str, NDArray[Any]] = {
    name: np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5) if "images" in name else np.zeros((3, 1), np.uint8)
    for name in NAMES
}


def npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=array.dtype.hasobject)
    return buffer.getvalue()


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in members.items():
            made.writestr(f"{name}.npy", data)
    return path


def small(**changes: bytes) -> dict[str, bytes]:
    return {name: npy(array) for name, array in SMALL.items()} | changes


class TestConvert:
    def test_arrays_are_the_same(self, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "a.npz", **SMALL)  # type: ignore[arg-type]
        origin = convert(tmp_path / "a.npz", tmp_path / "a")
        folder = tmp_path / "a"
        assert sorted(path.stem for path in folder.glob("*.npy")) == sorted(NAMES) == sorted(origin.arrays)
        for name, array in SMALL.items():
            mapped = open_array(folder / f"{name}.npy")
            assert isinstance(mapped, np.memmap)
            assert np.array_equal(mapped, array)

    def test_once(self, tmp_path: Path) -> None:
        path = archive(tmp_path / "a.npz", small())
        first = convert(path, tmp_path / "a")
        written = (tmp_path / "a" / "train_images.npy").stat().st_mtime_ns
        assert convert(path, tmp_path / "a") == first
        path.unlink()
        assert convert(path, tmp_path / "a") == first
        assert (tmp_path / "a" / "train_images.npy").stat().st_mtime_ns == written

    def test_another_archive_is_converted_again(self, tmp_path: Path) -> None:
        first = convert(archive(tmp_path / "a.npz", small()), tmp_path / "a")
        archive(tmp_path / "a.npz", small(train_images=npy(255 - SMALL["train_images"])))
        second = convert(tmp_path / "a.npz", tmp_path / "a")
        assert second.md5 != first.md5
        assert np.array_equal(open_array(tmp_path / "a" / "train_images.npy"), 255 - SMALL["train_images"])

    def test_arrays_that_were_changed_are_made_again(self, tmp_path: Path) -> None:
        path = archive(tmp_path / "a.npz", small())
        convert(path, tmp_path / "a")
        np.save(tmp_path / "a" / "test_images.npy", np.zeros_like(SMALL["test_images"]))
        convert(path, tmp_path / "a")
        assert np.array_equal(open_array(tmp_path / "a" / "test_images.npy"), SMALL["test_images"])
        np.save(tmp_path / "a" / "test_images.npy", np.zeros_like(SMALL["test_images"]))
        path.unlink()
        with pytest.raises(ArrayError, match=r"are damaged and a\.npz is missing"):
            convert(path, tmp_path / "a")

    def test_the_map_cannot_be_written_to(self, tmp_path: Path) -> None:
        convert(archive(tmp_path / "a.npz", small()), tmp_path / "a")
        with pytest.raises(ValueError, match="read-only"):
            open_array(tmp_path / "a" / "train_images.npy")[0, 0, 0] = 1

    def test_leftovers_of_a_killed_conversion_are_no_hindrance(self, tmp_path: Path) -> None:
        (tmp_path / ".a.0123abcd.part").mkdir()
        (tmp_path / ".a.0123abcd.part" / "train_images.npy").write_bytes(b"half")
        for path in (tmp_path / ".a.0123abcd.part" / "train_images.npy", tmp_path / ".a.0123abcd.part"):
            os.utime(path, (0, 0))
        convert(archive(tmp_path / "a.npz", small()), tmp_path / "a")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.npz"]

    def test_the_copy_of_a_process_that_is_at_work_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / ".a.0123abcd.part").mkdir()
        convert(archive(tmp_path / "a.npz", small()), tmp_path / "a")
        assert (tmp_path / ".a.0123abcd.part").is_dir()


def _objects() -> bytes:
    return npy(np.array([{"run": "me"}], object))


def _bomb() -> bytes:
    return npy(np.zeros((300, 1000, 1000), np.uint8)[:30])


def _liar(shape: tuple[int, ...]) -> bytes:
    """A header that promises more than there is."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(60)


HOSTILE: dict[str, tuple[Callable[[], dict[str, bytes]], str]] = {
    "Python objects": (lambda: small(train_images=_objects()), "Python objects"),
    "a bomb": (lambda: small(train_images=_bomb()), "would unpack to"),
    "a header that lies": (lambda: small(train_images=_liar((3, 1000, 1000))), "which its"),
    "a huge header": (lambda: small(train_images=b"\x93NUMPY\x01\x00" + struct.pack("<H", 60_000) + b" " * 60_000), "refused"),
    "code in the header": (
        lambda: small(
            train_images=b"\x93NUMPY\x01\x00" + struct.pack("<H", 40) + b"__import__('os').system('touch canary')".ljust(40)
        ),
        "refused",
    ),
    "Fortran order": (lambda: small(train_images=npy(np.asfortranarray(np.ones((3, 4, 5), np.uint8)))), "which its"),
    "surplus bytes": (lambda: small(train_images=npy(SMALL["train_images"]) + b"x"), "which its"),
    "no array at all": (lambda: small(train_images=b"hello"), "refused"),
}


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_refused_before_anything_is_written(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        members, why = HOSTILE[name]
        path = archive(tmp_path / "a.npz", members())
        with pytest.raises(ArrayError, match=why):
            convert(path, tmp_path / "a")
        assert [one.name for one in tmp_path.iterdir()] == ["a.npz"]

    def test_a_missing_array(self, tmp_path: Path) -> None:
        members = small()
        del members["val_labels"]
        with pytest.raises(ArrayError, match="has no array 'val_labels'"):
            convert(archive(tmp_path / "a.npz", members), tmp_path / "a")

    @pytest.mark.parametrize("keep", [0, 10, 200, 900])
    def test_a_cut_archive(self, keep: int, tmp_path: Path) -> None:
        data = archive(tmp_path / "whole.npz", small()).read_bytes()
        (tmp_path / "a.npz").write_bytes(data[:keep])
        with pytest.raises(ArrayError, match="cannot be converted"):
            convert(tmp_path / "a.npz", tmp_path / "a")
        assert not (tmp_path / "a").exists()

    def test_a_changed_byte(self, tmp_path: Path) -> None:
        path = archive(tmp_path / "a.npz", small(), zipfile.ZIP_STORED)
        data = bytearray(path.read_bytes())
        data[data.index(bytes(range(20)))] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(ArrayError, match="CRC"):
            convert(path, tmp_path / "a")
        assert not (tmp_path / "a").exists()

    def test_pickle_is_not_read_from_npy_either(self, tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(_objects())
        with pytest.raises(ArrayError, match="cannot be mapped"):
            open_array(tmp_path / "a.npy")


class TestShapes:
    @pytest.mark.parametrize(
        ("images", "labels"),
        [
            (np.zeros((3, 4, 4), np.float32), np.zeros((3, 1), int)),
            (np.zeros((3, 4, 4, 4), np.uint8), np.zeros((3, 1), int)),
            (np.zeros((3, 4), np.uint8), np.zeros((3, 1), int)),
            (np.zeros((3, 0, 4), np.uint8), np.zeros((3, 1), int)),
            (np.zeros((3, 4, 4), np.uint8), np.zeros((2, 1), int)),
            (np.zeros((3, 4, 4), np.uint8), np.zeros(3, int)),
            (np.zeros((3, 4, 4), np.uint8), np.zeros((3, 1), float)),
        ],
    )
    def test_refused(self, images: NDArray[Any], labels: NDArray[Any]) -> None:
        with pytest.raises(ArrayError, match="accepted are"):
            check_images(images, labels, "train")

    def test_labels_of_the_wrong_kind(self, tmp_path: Path) -> None:
        two = {name: array if "images" in name else np.zeros((3, 2), np.uint8) for name, array in SMALL.items()}
        np.savez(tmp_path / "breastmnist_224.npz", **two)  # type: ignore[arg-type]
        with pytest.raises(ArrayError, match="has one label to an image"):
            index(card_of("breastmnist"), tmp_path)
        sevens = {name: array if "images" in name else np.full((3, 14), 7) for name, array in SMALL.items()}
        np.savez(tmp_path / "chestmnist_224.npz", **sevens)  # type: ignore[arg-type]
        with pytest.raises(ArrayError, match="14 columns of 0 and 1"):
            index(card_of("chestmnist"), tmp_path)


def _own_memory() -> int:
    """Bytes that this process shares with no other and with no file."""
    with Path("/proc/self/smaps_rollup").open() as lines:
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Anonymous:",)))


def _read_all(samples: Samples, results: Any) -> None:
    before = _own_memory()
    total = sum(int(sample.image.sum(dtype=np.int64)) for sample in samples)
    maps = [array for array in samples._maps.values() if isinstance(array, np.memmap)]
    results.put((total, _own_memory() - before, len(maps)))


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not tell how memory is shared")
def test_eight_workers_share_one_map(tmp_path: Path) -> None:
    """Forty mebibytes of images: eight readers of all of them need a few mebibytes each of their own."""
    count, side = 280, 224
    images = np.random.default_rng(1).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    arrays = {name: images[:2] if "images" in name else np.array([[0], [1]]) for name in NAMES}
    arrays |= {"train_images": images, "train_labels": np.arange(count)[:, None] % 2}
    np.savez(tmp_path / "breastmnist_224.npz", **arrays)  # type: ignore[arg-type]
    manifest = index(card_of("breastmnist"), tmp_path, allow_different=True)
    samples = Samples(manifest, "train", root=tmp_path, size=None)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    workers = [context.Process(target=_read_all, args=(samples, results)) for _ in range(8)]
    for worker in workers:
        worker.start()
    reports = [results.get(timeout=600) for _ in workers]
    for worker in workers:
        worker.join()
    assert {total for total, _, _ in reports} == {int(images.sum(dtype=np.int64))}
    assert {maps for _, _, maps in reports} == {1}
    assert max(own for _, own, _ in reports) < images.nbytes / 4


def test_fakes_are_a_few_kilobytes() -> None:
    assert all(len(data) < 100_000 for data in medmnist.make("pathmnist").served.values())
    assert os.sep  # the archives are the same on every system
