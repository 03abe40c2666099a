"""Features on disk: what is right is found, what is not is as good as absent, and processes do not disturb each other."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recolorist.errors import RecoloristError
from recolorist_lab.metrics import FeatureCache
from recolorist_lab.metrics.cache import digest_of
from tests.commands import picture as scene
from tests.lab.metrics.shelves import expected, write_often

ROWS = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
NAMES = [digest_of(scene(seed)) for seed in range(5)]


def filled(folder: Path, network: str = "net", key: str = "set") -> Path:
    shelf = FeatureCache(folder).shelf(network, key)
    shelf.add(NAMES, ROWS)
    shelf.save()
    assert shelf.path is not None
    return shelf.path


def test_what_was_put_there_is_found_to_the_bit(tmp_path: Path) -> None:
    filled(tmp_path / "new" / "folder")
    shelf = FeatureCache(tmp_path / "new" / "folder").shelf("net", "set")
    assert list(shelf.rows) == NAMES
    assert np.array_equal(shelf.stack(NAMES[::-1]), ROWS[::-1].astype(np.float64))
    assert shelf.added == 0


def test_another_network_or_key_finds_nothing(tmp_path: Path) -> None:
    filled(tmp_path)
    cache = FeatureCache(tmp_path)
    assert cache.shelf("other", "set").rows == {}
    assert cache.shelf("net", "other").rows == {}
    assert cache.shelf("net/set", "").rows == cache.shelf("net", "/set").rows == {}


def test_a_shelf_under_the_name_of_another_is_not_believed(tmp_path: Path) -> None:
    path = filled(tmp_path)
    other = FeatureCache(tmp_path).shelf("other", "set")
    assert other.path is not None
    other.path.write_bytes(path.read_bytes())
    assert FeatureCache(tmp_path).shelf("other", "set").rows == {}


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(place: float, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("flip")
    path = filled(folder)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)
    found = FeatureCache(folder).shelf("net", "set").rows
    assert all(np.array_equal(found[name], row) for name, row in zip(NAMES, ROWS, strict=True) if name in found)
    assert found.keys() <= set(NAMES)


@pytest.mark.parametrize("keep", [0, 1, 8, 100, -1])
def test_a_damaged_shelf_is_replaced(keep: int, tmp_path: Path) -> None:
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:keep])
    shelf = FeatureCache(tmp_path).shelf("net", "set")
    assert shelf.rows == {}
    shelf.add(NAMES[:1], ROWS[:1])
    shelf.save()
    assert list(FeatureCache(tmp_path).shelf("net", "set").rows) == NAMES[:1]


def test_what_another_process_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    first, second = (FeatureCache(tmp_path).shelf("net", "set") for _ in range(2))
    first.add(NAMES[:2], ROWS[:2])
    second.add(NAMES[2:], ROWS[2:])
    first.save()
    second.save()
    assert set(FeatureCache(tmp_path).shelf("net", "set").rows) == set(NAMES)


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path)
    before = path.stat().st_mtime_ns
    shelf = FeatureCache(tmp_path).shelf("net", "set")
    shelf.add(NAMES[:2], ROWS[:2])
    shelf.save()
    assert path.stat().st_mtime_ns == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_processes_that_write_at_once_leave_one_whole_shelf(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pool.starmap(write_often, [(tmp_path, seed) for seed in range(4)])
    rows = FeatureCache(tmp_path).shelf("net", "set").rows
    assert rows  # who wrote last kept what it had seen; a lost row is computed again
    assert all(np.array_equal(row, expected(name)) for name, row in rows.items())
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RecoloristError, match=r"cannot be made .*choose another folder for features"):
        FeatureCache(tmp_path / "file" / "x").shelf("net", "set")


def test_the_usual_place_is_in_the_cache(tmp_path: Path) -> None:
    assert FeatureCache().folder == tmp_path / "cache" / "features"


def test_a_digest_tells_images_apart() -> None:
    image = scene(1)
    changed = image.copy()
    changed[-1, -1, -1] ^= 1
    assert digest_of(image) == digest_of(np.asfortranarray(image))
    assert len({digest_of(one) for one in (image, changed, image.reshape(53, 37, 3), image[:-1])}) == 4
