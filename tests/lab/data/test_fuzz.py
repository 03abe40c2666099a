"""Damaged files of every kind: an error of ours or the right answer, nothing else, and nothing outside the folder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recolorist.errors import RecoloristError
from recolorist_lab.assets.archives import ArchiveError, safe_name, unpack
from recolorist_lab.data.arrays import NAMES, ArrayError, convert, open_array
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.own import IndexOptions, index_table
from tests.lab.fakes import medmnist
from tests.lab.fakes.parts import picture, tarred, write_table, zipped

MEMBERS = {"a.txt": b"one" * 50, "deep/b.bin": bytes(range(256)), "deep/er/c.txt": b"three"}
TURNS = 150


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, a piece cut out, doubled, or the end lost."""
    changed = bytearray(data)
    kind = rng.randrange(4)
    place, length = rng.randrange(len(changed)), rng.randrange(1, 40)
    if kind == 0:
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    elif kind == 1:
        del changed[place : place + length]
    elif kind == 2:
        changed[place:place] = changed[place : place + length]
    else:
        del changed[place:]
    return bytes(changed)


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_archives(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    good = zipped(MEMBERS) if kind == "zip" else tarred(MEMBERS)
    refused = 0
    for turn in range(TURNS):
        place = tmp_path / str(turn)
        place.mkdir()
        (place / "archive").write_bytes(damaged(good, rng))
        try:
            count = unpack(place / "archive", place / "out")
        except ArchiveError:
            refused += 1
            assert files_below(place) == {"archive"}
        else:
            assert len(files_below(place / "out")) == count
            assert all(path == "archive" or path.startswith("out/") for path in files_below(place))
    assert refused > TURNS / 2


def test_arrays(tmp_path: Path) -> None:
    rng = random.Random(1)
    fake = medmnist.make("breastmnist")
    (good,) = fake.served.values()
    refused = 0
    for turn in range(TURNS):
        place = tmp_path / str(turn)
        place.mkdir()
        (place / "a.npz").write_bytes(damaged(good, rng))
        try:
            convert(place / "a.npz", place / "a")
        except ArrayError:
            refused += 1
            assert files_below(place) == {"a.npz"}
        else:
            assert all(len(open_array(place / "a" / f"{name}.npy")) for name in NAMES)
    assert refused > TURNS / 2


def test_manifests(tmp_path: Path) -> None:
    rng = random.Random(2)
    entries = [Entry("d", "train", "x", f"{number}.png", (number % 2,)) for number in range(30)]
    manifest = Manifest.of(entries, Facts("d", "D", "binary", ("a", "b")))
    good = manifest.write(tmp_path / "good.parquet").read_bytes()
    for _ in range(TURNS):
        (tmp_path / "bad.parquet").write_bytes(damaged(good, rng))
        try:
            again = Manifest.read(tmp_path / "bad.parquet")
        except RecoloristError:
            continue
        assert len(again) == len(manifest)


def test_images(tmp_path: Path) -> None:
    """Whatever a file holds, indexing goes on with the others."""
    rng = random.Random(3)
    good = {suffix: picture(tmp_path / f"good{suffix}", 1).read_bytes() for suffix in (".png", ".jpg", ".tif")}
    names = []
    for number in range(90):
        suffix = rng.choice(list(good))
        (tmp_path / f"{number}{suffix}").write_bytes(damaged(good[suffix], rng))
        names.append(f"{number}{suffix}")
    rows = [*((name, "a") for name in names), ("good.png", "b")]
    manifest = index_table(write_table(tmp_path / "l.csv", ("path", "label"), rows), IndexOptions("x"))
    assert len(manifest) + len(manifest.facts.excluded) == 91
    assert "good.png" in manifest.column("path")
    assert len(manifest.facts.excluded) > 20


@given(st.text(st.characters(exclude_categories=()), max_size=40))
@settings(max_examples=300)
def test_names(name: str) -> None:
    """A name that passes stays inside whatever folder it is put into, and means itself."""
    try:
        parts = safe_name(name)
    except ArchiveError:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\\" not in part and ":" not in part for part in parts)
    assert Path("some", "folder", *parts).is_relative_to(Path("some", "folder"))
    assert "/".join(parts).isprintable()


@given(st.lists(st.sampled_from(["..", ".", "a", "", "C:", "b c", "\u202e", "nul"]), min_size=1, max_size=6).map("/".join))
@settings(max_examples=300)
def test_paths(name: str) -> None:
    try:
        parts = safe_name(name)
    except ArchiveError:
        return
    assert set(parts) <= {"a", "b c"}
