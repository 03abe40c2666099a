"""Measuring images for a bank, from arrays, folders, datasets and MedMNIST files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist import StyleBank
from recolorist.bank.build import histogram_of, measure_row
from recolorist.bank.table import Row
from recolorist.core import image as check
from recolorist.errors import ImageError, OptionError, StatisticsError
from tests.hostile.files import damaged_npz

Images = NDArray[np.uint8]


class TestBuild:
    def test_rows_are_the_moments_in_unit_range(self, tiles: Images, bank: StyleBank) -> None:
        for row, tile in enumerate(tiles):
            exact = rc.measure(tile)
            np.testing.assert_allclose(bank.mean[row] * 255, exact.mean, rtol=4e-16)  # two roundings
            np.testing.assert_allclose(bank.cov[row] * 255**2, exact.cov, rtol=6e-16, atol=1e-13)
            assert bank.pixels[row] == 13 * 17
        assert bank.size == (13, 17)

    def test_an_unknown_option_is_named_with_those_there_are(self, tiles: Images) -> None:
        with pytest.raises(OptionError, match=r"option='mask' is unknown; choose from 'masks', 'preprocessing'"):
            StyleBank.build(tiles, mask="tissue")

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

    @pytest.mark.parametrize(("given", "message"), [(2, "only 2 masks"), (4, "more masks than the 3 images")])
    def test_there_is_a_mask_for_each_image_or_none(self, tiles: Images, given: int, message: str) -> None:
        masks = [np.ones((13, 17), bool)] * given
        with pytest.raises(OptionError, match=message):
            StyleBank.build(tiles[:3], masks=masks)

    def test_no_mask_stands_for_all_pixels(self, tiles: Images) -> None:
        half = np.zeros((13, 17), bool)
        half[:5] = True
        bank = StyleBank.build(tiles[:2], masks=iter([None, half]))
        assert bank.pixels.tolist() == [13 * 17, 5 * 17]

    def test_a_mask_that_selects_nothing_is_refused(self, tiles: Images) -> None:
        with pytest.raises(ImageError, match="selects no pixel"):
            StyleBank.build(tiles[:1], masks=[np.zeros((13, 17), bool)])

    def test_a_batch_in_the_place_of_an_image_is_refused(self, tiles: Images) -> None:
        with pytest.raises(ImageError, match="four dimensions"):
            StyleBank.build([tiles])

    def test_progress_sees_every_image_and_their_number(self, tiles: Images) -> None:
        calls: list[int | None] = []

        def progress(items: Iterable[Any], count: int | None) -> Iterable[Any]:
            calls.append(count)
            return items

        assert len(StyleBank.build(tiles, progress=progress)) == 6
        assert len(StyleBank.build(iter(tiles), progress=progress)) == 6
        assert calls == [6, None]

    def test_one_colour_image_is_no_collection(self, tiles: Images) -> None:
        """Its rows were taken for grey images."""
        with pytest.raises(OptionError, match=r"shape \(13, 17, 3\), which is one image; pass \[image\]"):
            StyleBank.build(tiles[0])
        assert len(StyleBank.build(tiles[..., 0])) == 6  # grey ones

    def test_images_of_two_sizes_have_no_common_one(self, tiles: Images) -> None:
        assert StyleBank.build([tiles[0], tiles[1][:7]]).size is None


class TestRow:
    """One row is what `measure` gives, whichever way it was computed."""

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    @pytest.mark.parametrize("channels", [1, 3, 4])
    @pytest.mark.parametrize("masked", [False, True])
    def test_exact_sums_give_the_numbers_of_measure(self, dtype: type, channels: int, masked: bool) -> None:
        rng = np.random.default_rng(3)
        image = rng.integers(0, np.iinfo(dtype).max, (11, 7, channels), dtype=dtype, endpoint=True)
        mask = rng.random((11, 7)) < 0.5 if masked else None
        row = measure_row(check.open_image(image), mask, "ycbcr" if channels > 1 else "rgb", with_histogram=False)
        exact = rc.measure(image, mask).rescaled(1.0)
        assert (row.mean, row.cov, row.pixels) == (exact.mean.tolist(), exact.cov.tolist(), exact.count)
        assert (row.size, row.histogram) == ((11, 7), None)

    @pytest.mark.parametrize("space", ["rgb", "lab"])
    def test_floats_and_declared_ranges(self, tiles: Images, space: str) -> None:
        for image, data_range in ((tiles[0].astype(np.float32) / 200, 1.5), (tiles[0].astype(np.uint16), 1023.0)):
            row = measure_row(check.open_image(image, data_range), None, space, with_histogram=False)
            exact = rc.measure(image, data_range=data_range, space=space).rescaled(1.0)
            assert (row.mean, row.cov) == (exact.mean.tolist(), exact.cov.tolist())

    @pytest.mark.parametrize(("dtype", "white"), [(np.uint16, 65535), (np.float32, 1.0)])
    def test_histograms_of_other_dtypes_have_256_bins_too(self, tiles: Images, dtype: type, white: float) -> None:
        scaled = (tiles[0] * (white / 255)).astype(dtype)
        found = histogram_of(check.open_image(scaled), None)
        np.testing.assert_array_equal(found, histogram_of(check.open_image(tiles[0]), None))

    def test_rows_make_the_bank_that_images_make(self, tiles: Images) -> None:
        rows = [measure_row(check.open_image(tile), None, "rgb", with_histogram=True) for tile in tiles]
        keys = [str(i) for i in range(6)]
        made = StyleBank.from_rows(rows, keys, list("xyxyxy"), split="train", name="demo", mask="none")
        built = StyleBank.build(tiles, labels=list("xyxyxy"), split="train", name="demo", with_histograms=True)
        assert (made.to_json(), made.fingerprint) == (built.to_json(), built.fingerprint)
        np.testing.assert_array_equal(made.histograms, built.histograms)

    def test_no_rows_make_no_bank(self) -> None:
        with pytest.raises(ImageError, match="no image to measure"):
            StyleBank.from_rows([], [])

    def test_rows_are_plain_numbers(self) -> None:
        """They travel between processes."""
        row = measure_row(check.open_image(np.zeros((2, 2, 3), np.uint8)), None, "rgb", with_histogram=False)
        assert row == Row([0.0] * 3, [[0.0] * 3] * 3, 4, (2, 2), is_blank=True)
        assert type(row.mean[0]) is float


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

    def test_folder_with_a_transform_and_options(self, tmp_path: Path, tiles: Images) -> None:
        Image.fromarray(tiles[0]).save(tmp_path / "a.png")
        bank = StyleBank.from_folder(
            tmp_path, transform=lambda image: image[:4, :5], label_from=None, with_histograms=True, preprocessing="crop"
        )
        assert (bank.size, bank.preprocessing, bank.labels, bank.name) == ((4, 5), "crop", (), tmp_path.name)
        assert bank.histograms is not None

    def test_levels_beyond_the_folders_name_nothing(self, tmp_path: Path, tiles: Images) -> None:
        Image.fromarray(tiles[0]).save(tmp_path / "a.png")
        assert StyleBank.from_folder(tmp_path, label_from=3, domain_from=-1).domains == ()

    def test_dataset_of_tensors_and_a_function_for_the_domain(self, tiles: Images) -> None:
        torch = pytest.importorskip("torch")
        samples = [{"image": torch.from_numpy(tile).permute(2, 0, 1), "file": f"site{i % 2}/{i}"} for i, tile in enumerate(tiles)]
        bank = StyleBank.from_dataset(samples, image="image", label=None, domain=lambda sample: sample["file"][:5])
        assert bank.domains == ("site0", "site1")
        assert bank.fingerprint == StyleBank.build(tiles).fingerprint

    def test_a_dataset_without_labels(self, tiles: Images) -> None:
        assert StyleBank.from_dataset([(tile,) for tile in tiles]).labels == ()

    @pytest.mark.parametrize("kind", ["array", "tensor"])
    def test_samples_that_are_images_are_refused(self, tiles: Images, kind: str) -> None:
        """Part 0 of an array is its first row, which became a grey image; its second row became the label."""
        samples = list(tiles) if kind == "array" else list(pytest.importorskip("torch").from_numpy(tiles))
        with pytest.raises(OptionError, match=r"have shape \(13, 17, 3\) and no parts; pass images to StyleBank.build"):
            StyleBank.from_dataset(samples)

    def test_a_part_that_is_not_there_is_named(self, tiles: Images) -> None:
        with pytest.raises(OptionError, match="no part 'picture'"):
            StyleBank.from_dataset([{"image": tiles[0]}], image="picture")

    def test_what_is_no_medmnist_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "text.npz").write_text("not a zip")
        for path in (tmp_path / "text.npz", tmp_path / "missing.npz"):
            with pytest.raises(ImageError, match="cannot be read as a MedMNIST file"):
                StyleBank.from_npz(path)

    @pytest.mark.parametrize("how", ["packed bytes", "method", "encrypted"])
    def test_a_damaged_medmnist_file_is_refused_in_a_sentence(self, tmp_path: Path, tiles: Images, how: str) -> None:
        """It ended in an error of zlib or zipfile."""
        path = tmp_path / "a.npz"
        path.write_bytes(damaged_npz(how, train_labels=np.zeros((len(tiles), 1), np.uint8), train_images=tiles))
        with pytest.raises(ImageError, match=r"a\.npz cannot be read as a MedMNIST file"):
            StyleBank.from_npz(path)

    def test_labels_that_are_one_number_are_refused(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", train_images=np.zeros((2, 8, 8, 3), np.uint8), train_labels=np.uint8(3))
        with pytest.raises(ImageError, match="one row for each image"):
            StyleBank.from_npz(tmp_path / "a.npz")

    def test_a_member_that_ends_early_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        path = tmp_path / "a.npz"
        zeros = np.zeros((20, 64, 64, 3), np.uint8)
        path.write_bytes(damaged_npz("packed size", train_labels=np.zeros((20, 1), np.uint8), train_images=zeros))
        with pytest.raises(ImageError, match=r"a\.npz cannot be read as a MedMNIST file"):
            StyleBank.from_npz(path)
