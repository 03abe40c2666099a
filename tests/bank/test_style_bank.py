"""The style bank: what it stores, how it travels, what it refuses."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist import StyleBank
from recolorist.bank import file as bank_file
from recolorist.errors import ImageError, OptionError, StatisticsError

Images = NDArray[np.uint8]


@pytest.fixture
def tiles() -> Images:
    """Six small tiles of two hospitals, the second one brighter."""
    rng = np.random.default_rng(5)
    images = rng.integers(20, 180, (6, 13, 17, 3), dtype=np.uint8)
    images[3:] += 60
    return images


@pytest.fixture
def bank(tiles: Images) -> StyleBank:
    return StyleBank.build(tiles, labels=list("xyxyxy"), domains=["a"] * 3 + ["b"] * 3, name="demo", split="train")


class TestBuild:
    def test_rows_are_the_moments_in_unit_range(self, tiles: Images, bank: StyleBank) -> None:
        for row, tile in enumerate(tiles):
            exact = rc.measure(tile)
            np.testing.assert_allclose(bank.mean[row] * 255, exact.mean, rtol=4e-16)  # two roundings
            np.testing.assert_allclose(bank.cov[row] * 255**2, exact.cov, rtol=6e-16, atol=1e-13)
            assert bank.pixels[row] == 13 * 17
        assert bank.size == (13, 17)

    def test_a_bank_of_bytes_serves_every_dtype(self, tiles: Images, bank: StyleBank) -> None:
        content = tiles[0]
        from_bytes = rc.match(content, bank.moments(4)) / 255
        as_float = rc.match((content / 255).astype(np.float64), bank.moments(4))
        as_words = rc.match(content.astype(np.uint16) * 257, bank.moments(4)) / 65535
        np.testing.assert_allclose(as_float, from_bytes, atol=0.5 / 255 + 1e-12)  # the rounding of bytes
        np.testing.assert_allclose(as_words, from_bytes, atol=0.5 / 255 + 0.5 / 65535 + 1e-12)

    def test_masks_and_named_rules(self, tiles: Images) -> None:
        slide = np.full((10, 20, 3), 245, np.uint8)
        slide[:, :10] = tiles[0][:10, :10]
        tissue = slide.min(axis=-1) < 0.86 * 255
        by_rule, by_mask = StyleBank.build([slide], masks="tissue"), StyleBank.build([slide], masks=[tissue])
        assert by_rule.pixels[0] == tissue.sum() < 200
        np.testing.assert_array_equal(by_rule.mean, by_mask.mean)

    def test_histograms_count_every_value(self, tiles: Images) -> None:
        counts = StyleBank.build(tiles, with_histograms=True).histograms
        assert counts is not None
        np.testing.assert_array_equal(counts[2, 1], np.bincount(tiles[2, ..., 1].ravel(), minlength=256))

    def test_another_space_is_measured_there(self, tiles: Images) -> None:
        lab = StyleBank.build(tiles, space="lab")
        assert lab.space == "lab"
        np.testing.assert_array_equal(lab.mean[0], rc.measure(tiles[0], space="lab").mean)

    @pytest.mark.parametrize("images", [[], [np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2), np.uint8)]])
    def test_nothing_and_mixtures_are_refused(self, images: list[Any]) -> None:
        with pytest.raises(ImageError):
            StyleBank.build(images)

    def test_keys_tell_images_apart(self, tiles: Images) -> None:
        with pytest.raises(StatisticsError, match="share a key"):
            StyleBank.build(tiles[:2], keys=["same", "same"])


class TestSources:
    def test_folder(self, tmp_path: Path, tiles: Images) -> None:
        for i, tile in enumerate(tiles):
            place = tmp_path / ("north" if i < 3 else "south") / "xy"[i % 2]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(tile).save(place / f"{i}.png")
        bank = StyleBank.from_folder(tmp_path, domain_from=0, label_from=1, split="train")
        assert (bank.domains, bank.labels, len(bank)) == (("north", "south"), ("x", "y"), 6)
        row = bank.row_of("south/y/5.png")
        assert row is not None
        assert (bank.domain(row), bank.label(row)) == ("south", "y")
        np.testing.assert_array_equal(bank.mean[row], rc.measure(tiles[5]).rescaled(1.0).mean)

    def test_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="holds no"):
            StyleBank.from_folder(tmp_path)

    def test_dataset_of_tuples_and_of_dictionaries(self, tiles: Images) -> None:
        pairs = [(Image.fromarray(tile), np.array([i % 2])) for i, tile in enumerate(tiles)]
        records = [{"image": tile, "label": i % 2, "site": "ab"[i > 2]} for i, tile in enumerate(tiles)]
        first = StyleBank.from_dataset(pairs, split="train")
        second = StyleBank.from_dataset(records, image="image", label="label", domain="site", split="train")
        assert first.labels == second.labels == ("0", "1")
        assert second.domains == ("a", "b")
        assert first.fingerprint == second.fingerprint

    def test_the_split_is_read_off_the_dataset(self, tiles: Images) -> None:
        class Held(list[Any]):
            split = "test"
            flag = "pathmnist"

        bank = StyleBank.from_dataset(Held((tile, 0) for tile in tiles))
        assert (bank.split, bank.name) == ("test", "pathmnist")

    def test_medmnist_file(self, tmp_path: Path, tiles: Images) -> None:
        labels = np.arange(6)[:, None] % 3
        np.savez_compressed(
            tmp_path / "toy.npz", train_images=tiles, train_labels=labels, val_images=tiles[:1], val_labels=labels[:1]
        )
        bank = StyleBank.from_npz(tmp_path / "toy.npz")
        assert (len(bank), bank.labels, bank.split, bank.name) == (6, ("0", "1", "2"), "train", "toy")
        with pytest.raises(ImageError, match="no 'test_images'"):
            StyleBank.from_npz(tmp_path / "toy.npz", "test")

    def test_a_bomb_is_refused_before_it_unpacks(self, tmp_path: Path) -> None:
        np.savez_compressed(
            tmp_path / "bomb.npz", train_images=np.zeros((3000, 64, 64, 3), np.uint8), train_labels=np.zeros(3000)
        )
        with pytest.raises(ImageError, match="200 times"):
            StyleBank.from_npz(tmp_path / "bomb.npz")


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

    def test_json_is_plain_numbers(self, bank: StyleBank) -> None:
        entries = json.loads(bank.to_json())
        assert entries["format"] == "recolorist.bank/1"
        assert entries["count"] == 6
        assert np.array(entries["cov"]).shape == (6, 6)
        np.testing.assert_array_equal(np.array(entries["cov"])[:, [0, 3, 5]], np.diagonal(bank.cov, axis1=1, axis2=2))

    def test_formats_are_those_of_banks_already_written(self, tmp_path: Path, bank: StyleBank) -> None:
        """Both names are in files that people keep; where the code lies does not change them."""
        assert json.loads(bank.to_json())["format"] == "recolorist.bank/1"
        with np.load(bank.save(tmp_path / "bank.rcb")) as members:
            assert json.loads(members["facts"].tobytes())["format"] == "recolorist.bank.file/1"

    def test_keys_that_do_not_fit_are_refused(self) -> None:
        block, lengths = bank_file.packed(["one", "two"])
        with pytest.raises(ValueError, match="fit"):
            bank_file.unpacked(block, lengths + 1)


def _outcome(path: Path, bank: StyleBank) -> int:
    """1 if refused; 0 if read as exactly the same bank. Anything else fails the test."""
    try:
        again = StyleBank.load(path)
    except StatisticsError:
        return 1
    assert again.to_json() == bank.to_json()
    return 0


class TestAlgebra:
    def test_subset(self, bank: StyleBank) -> None:
        assert bank.subset(domain="b", label="y").keys == ("3", "5")
        assert bank.subset(rows=[4, 0]).keys == ("4", "0")
        with pytest.raises(OptionError, match="'a', 'b'"):
            bank.subset(domain="c")

    def test_merge_keeps_rows_and_resolves_keys(self, bank: StyleBank) -> None:
        both = bank.subset(domain="a").merge(bank.subset(domain="b"))
        assert both.fingerprint == bank.fingerprint
        doubled = bank.merge(bank)
        assert len(doubled) == len(set(doubled.keys)) == 12

    def test_merge_refuses_to_hide_a_split(self, tiles: Images, bank: StyleBank) -> None:
        with pytest.raises(StatisticsError, match="different splits"):
            bank.merge(StyleBank.build(tiles, split="test"))

    def test_outliers_go(self, tiles: Images) -> None:
        blank = np.full((13, 17, 3), 250, np.uint8)
        bank = StyleBank.build([*tiles[:3], *tiles[:3], blank])
        assert bank.outliers().tolist() == [6]
        assert len(bank.drop_outliers()) == 6

    def test_summary_counts(self, bank: StyleBank) -> None:
        summary = bank.summary()
        assert summary["labels"] == {"x": 3, "y": 3}
        assert summary["domains"]["b"]["mean"][0] > summary["domains"]["a"]["mean"][0]
        assert json.loads(json.dumps(summary))["styles"] == 6

    def test_arrays_cannot_be_written(self, bank: StyleBank) -> None:
        with pytest.raises(ValueError, match="read-only"):
            bank.mean[0] = 0


@pytest.mark.parametrize("split", ["val", "validation", "test"])
def test_only_training_styles_train(tiles: Images, split: str) -> None:
    held_out = StyleBank.build(tiles, split=split)
    with pytest.raises(OptionError, match="leak"):
        rc.Colorist(held_out)
    assert rc.Colorist(held_out, allow_split=True).bank is held_out


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
