"""The binary file of a bank: it returns what was written, or refuses."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist import StyleBank
from recolorist.bank.file import pack_keys, unpack_keys
from recolorist.errors import StatisticsError

Images = NDArray[np.uint8]


class TestFile:
    def test_round_trip(self, tmp_path: Path, tiles: Images) -> None:
        bank = StyleBank.build(
            tiles,
            labels=["x", None, "y", "x", "y", "x"],
            keys=["a/ü.png", "b\n", "c", "d", "e", "f"],
            name="n",
            split="train",
            preprocessing="resize 17",
            with_histograms=True,
        )
        again = StyleBank.load(bank.save(tmp_path / "bank.npz"))
        assert again.summary() == bank.summary()
        assert again.to_json() == bank.to_json()
        assert (again.keys, again.label(1)) == (bank.keys, None)
        np.testing.assert_array_equal(again.histograms, bank.histograms)

    def test_same_bank_same_bytes(self, tmp_path: Path, bank: StyleBank) -> None:
        assert bank.save(tmp_path / "a").read_bytes() == bank.save(tmp_path / "b").read_bytes()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

    def test_any_changed_byte_is_noticed(self, tmp_path: Path, bank: StyleBank) -> None:
        data = bank.save(tmp_path / "bank.npz").read_bytes()
        rng = np.random.default_rng(0)
        path = tmp_path / "bad.npz"
        refused = 0
        for place in rng.integers(0, len(data), 150):
            path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
            refused += _outcome(path, bank)
        for stop in rng.integers(0, len(data), 50):
            path.write_bytes(data[:stop])
            with pytest.raises(StatisticsError):
                StyleBank.load(path)
        assert refused > 100  # the rest fell into zip fields that carry no data

    def test_foreign_and_pickled_members_are_refused(self, tmp_path: Path, bank: StyleBank) -> None:
        path = bank.save(tmp_path / "bank.npz")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("evil.npy", b"x")
        with pytest.raises(StatisticsError, match="something else"):
            StyleBank.load(path)
        np.savez(path, facts=np.array([{}], dtype=object))
        with pytest.raises(StatisticsError):
            StyleBank.load(path)

    def test_a_missing_folder_loses_nothing(self, tmp_path: Path, bank: StyleBank) -> None:
        with pytest.raises(rc.RecoloristError, match="cannot be written"):
            bank.save(tmp_path / "no" / "bank.npz")

    def test_formats_are_those_of_banks_already_written(self, tmp_path: Path, bank: StyleBank) -> None:
        """Both names are in files that people keep; where the code lies does not change them."""
        assert json.loads(bank.to_json())["format"] == "recolorist.bank/2"
        with np.load(bank.save(tmp_path / "bank.rcb")) as members:
            assert json.loads(members["facts"].tobytes())["format"] == "recolorist.bank.file/1"

    def test_how_the_bank_was_made_comes_back(self, tmp_path: Path, tiles: NDArray[np.uint8]) -> None:
        glass = np.full((13, 17, 3), 243, np.uint8)
        bank = StyleBank.build([*tiles, glass], masks="tissue", domains=list("aaabbbc"))
        for name in ("bank.rcb", "bank.json"):
            again = StyleBank.load(bank.save(tmp_path / name))
            assert (again.mask, again.blank, again.left_out) == ("tissue", "left out", (("6", None, "c"),))

    def test_keys_that_do_not_fit_are_refused(self) -> None:
        block, lengths = pack_keys(["one", "two"])
        with pytest.raises(ValueError, match="fit"):
            unpack_keys(block, lengths + 1)

    def test_keys_beyond_their_block_are_not_unpacked(self) -> None:
        block, lengths = pack_keys(["a" * 10_000])
        with pytest.raises(ValueError, match="far more"):
            unpack_keys(block, lengths * 200)
        with pytest.raises(ValueError, match="fit together"):
            unpack_keys(block, lengths - 1)

    def test_another_format_is_refused(self, tmp_path: Path, bank: StyleBank, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recolorist.bank.file.FORMAT", "recolorist.bank.file/2")
        path = bank.save(tmp_path / "bank.rcb")
        monkeypatch.undo()
        with pytest.raises(StatisticsError, match="its format is not"):
            StyleBank.load(path)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StatisticsError, match=r"nothing\.rcb does not exist"):
            StyleBank.load(tmp_path / "nothing.rcb")


def _outcome(path: Path, bank: StyleBank) -> int:
    """1 if refused; 0 if read as exactly the same bank. Anything else fails the test."""
    try:
        again = StyleBank.load(path)
    except StatisticsError:
        return 1
    assert again.to_json() == bank.to_json()
    return 0


def test_a_large_bank_stays_small(tmp_path: Path) -> None:
    count = 302_436
    rng = np.random.default_rng(0)
    half = rng.random((count, 3, 3)) * 0.1
    cov = half @ half.transpose(0, 2, 1)
    bank = StyleBank(
        rng.random((count, 3)),
        (cov + cov.transpose(0, 2, 1)) / 2,
        np.full(count, 96 * 96),
        [f"patches/patient_{i % 50:03d}_node_{i % 5}/patch_{i:07d}.png" for i in range(count)],
        [str(i % 2) for i in range(count)],
        [f"hospital {i % 5}" for i in range(count)],
        split="train",
    )
    path = bank.save(tmp_path / "camelyon.npz")
    assert path.stat().st_size < 40e6
    assert StyleBank.load(path).fingerprint == bank.fingerprint


@pytest.mark.parametrize("shape", [(10**12, 3), (10**6, 10**6), (6, 2)])
def test_a_member_that_declares_another_size_is_refused(tmp_path: Path, bank: StyleBank, shape: tuple[int, ...]) -> None:
    """A header of 10^12 items ended in a MemoryError."""
    path = bank.save(tmp_path / "a.rcb")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    members["mean.npy"] = header.getvalue() + bytes(6 * 3 * 8)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(StatisticsError, match=r"mean\.npy declares .* bytes of numbers and holds 144"):
        StyleBank.load(path)


def test_a_member_that_declares_more_packed_bytes_than_it_has_is_refused(tmp_path: Path, bank: StyleBank) -> None:
    """The zip's directory holds two sizes; a buffer of the packed one was allocated, 1 GiB for a file of 3 kB."""
    path = bank.save(tmp_path / "bank.rcb")
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\1\2")
    data[entry + 23] = 0x7F  # the highest byte of the packed size
    path.write_bytes(data)
    with pytest.raises(StatisticsError, match="something else than the arrays"):
        StyleBank.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda facts: facts.update(format="recolorist-bank-9"), "its format is not"),
        (lambda facts: facts.update(name="another"), "its checksum does not fit"),
        (lambda facts: facts.pop("sha256"), "its checksum does not fit"),
    ],
    ids=["format", "changed", "no checksum"],
)
def test_facts_of_another_kind_are_refused_in_a_sentence(tmp_path: Path, change: Any, words: str) -> None:
    path = StyleBank.build(np.random.default_rng(0).integers(0, 255, (3, 8, 8, 3), np.uint8)).save(tmp_path / "a.rcb")
    with np.load(path) as archive:
        arrays = dict(archive)
    facts = json.loads(arrays["facts"].tobytes())
    change(facts)
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with (tmp_path / "b.rcb").open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(StatisticsError, match=words):
        StyleBank.open(tmp_path / "b.rcb")
