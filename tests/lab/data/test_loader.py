"""The loader: the stored pixels, one size, RGB, labels, and no border in the statistics; the pairs of the transfer protocol."""

from __future__ import annotations

import copyreg
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist.errors import ImageError, OptionError
from recolorist_lab.data.index import index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.pairs import COUNT, draw_pairs
from recolorist_lab.data.pixels import resize_square, to_rgb8
from tests.lab.fakes.parts import Fake, noise, picture, saved_arrays

LaidOut = Callable[[str], tuple[Fake, Path]]
FACTS = Facts("demo", "Demo", "binary", ("no", "yes"))


def files(folder: Path, *arrays: NDArray[Any], **options: Any) -> Samples:
    """Samples of arrays that were written as PNG files."""
    entries = []
    for number, array in enumerate(arrays):
        Image.fromarray(array).save(folder / f"{number}.png")
        entries.append(Entry("demo", "train", "here", f"{number}.png", (number % 2,)))
    return Samples(Manifest.of(entries, FACTS), "train", root=folder, **options)


class TestPixels:
    @pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 3), (5, 7, 4)])
    def test_all_become_rgb(self, shape: tuple[int, ...]) -> None:
        pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
        out = to_rgb8(pixels)
        assert out.shape == (5, 7, 3)
        assert out.flags.c_contiguous
        first = pixels if pixels.ndim == 2 else pixels[..., 0]
        assert np.array_equal(out[..., 0], first)

    def test_grey_stays_grey(self) -> None:
        out = to_rgb8(noise(1, 6, 9, 1))
        assert np.array_equal(out[..., 0], out[..., 1])
        assert np.array_equal(out[..., 1], out[..., 2])

    def test_sixteen_bits_are_rounded(self) -> None:
        out = to_rgb8(np.array([[0, 128, 129, 257, 65535]], np.uint16))
        assert out[0, :, 0].tolist() == [0, 0, 1, 1, 255]

    @pytest.mark.parametrize(
        "pixels", [np.zeros((4, 4), np.float32), np.zeros((4, 4, 2), np.uint8), np.zeros((2, 4, 4, 3), np.uint8)]
    )
    def test_others_are_refused(self, pixels: NDArray[Any]) -> None:
        with pytest.raises(ImageError, match="the loader takes"):
            to_rgb8(pixels)

    def test_squash_is_pillows_bilinear(self) -> None:
        image = noise(2, 37, 91)
        out, box = resize_square(image, 24)
        want = np.asarray(Image.fromarray(image).resize((24, 24), Image.Resampling.BILINEAR))
        assert np.array_equal(out, want)
        assert box == (0, 0, 24, 24)

    @pytest.mark.parametrize(
        ("shape", "box"), [((40, 80), (0, 8, 32, 24)), ((80, 40), (8, 0, 24, 32)), ((50, 50), (0, 0, 32, 32))]
    )
    def test_letterbox_keeps_the_shape(self, shape: tuple[int, int], box: tuple[int, int, int, int]) -> None:
        image = np.full((*shape, 3), 150, np.uint8)
        out, found = resize_square(image, 32, "letterbox")
        x0, y0, x1, y1 = found
        assert found == box
        assert (out[y0:y1, x0:x1] == 150).all()
        assert int((out == 150).sum()) == 3 * (x1 - x0) * (y1 - y0)

    def test_a_very_flat_picture_keeps_a_line(self) -> None:
        out, box = resize_square(np.full((1, 500, 3), 9, np.uint8), 32, "letterbox")
        assert box[3] - box[1] == 1
        assert out.max() == 9

    def test_no_size_is_no_change(self) -> None:
        image = noise(2, 7, 9)
        assert resize_square(image, None)[0] is image

    def test_refused(self) -> None:
        with pytest.raises(OptionError, match="'squash' and 'letterbox'"):
            resize_square(noise(1, 4, 4), 8, "crop")  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="size=0"):
            resize_square(noise(1, 4, 4), 0)


class TestSamples:
    def test_stored_pixels_come_back(self, tmp_path: Path) -> None:
        arrays = [noise(1, 8, 11), noise(2, 9, 6, 1), noise(3, 5, 5, 4)]
        samples = files(tmp_path, *arrays, size=None)
        assert np.array_equal(samples[0].image, arrays[0])
        assert np.array_equal(samples[1].image[..., 2], arrays[1])
        assert np.array_equal(samples[2].image, arrays[2][..., :3])

    def test_an_image_is_the_callers_own(self, laid_out: LaidOut, tmp_path: Path) -> None:
        """It may be written to, and the data do not change by it."""
        one, root = laid_out("bloodmnist")
        stored = Samples(index(one.card, root), "val", root=root, size=None)
        for samples in (stored, files(tmp_path, noise(1, 8, 8), size=None), files(tmp_path, noise(1, 8, 8), size=4)):
            before = samples[0].image.copy()
            samples[0].image[:] = 0
            assert np.array_equal(samples[0].image, before)

    def test_labels_domains_and_keys(self, tmp_path: Path) -> None:
        samples = files(tmp_path, noise(1, 8, 8), noise(2, 8, 8))
        assert [(one.label, one.domain, one.key, one.place) for one in samples] == [
            (0, "here", "0.png", 0),
            (1, "here", "1.png", 1),
        ]
        assert samples.labels == [(0,), (1,)]
        assert samples.classes == ("no", "yes")

    def test_several_labels_become_zeros_and_ones(self, laid_out: LaidOut) -> None:
        one, root = laid_out("chestmnist")
        samples = Samples(index(one.card, root), "train", root=root, size=16)
        labels = np.stack([np.asarray(sample.label) for sample in samples])
        assert labels.shape == (one.card.expected.train, 14)
        assert labels.dtype == np.float32
        assert tuple(labels.sum(0).astype(int)) == one.card.expected.classes("train")
        assert (labels.sum(1) == 0).sum() == 2

    def test_rows_of_an_array(self, laid_out: LaidOut) -> None:
        one, root = laid_out("bloodmnist")
        samples = Samples(index(one.card, root), "val", root=root, size=None)
        stored = np.load(io.BytesIO(one.served[one.card.files[0].url]))
        for number in (0, 7, len(samples) - 1):
            assert np.array_equal(samples[number].image, stored["val_images"][number])
            assert samples[number].label == stored["val_labels"][number, 0]

    def test_a_box_is_cut_out(self, tmp_path: Path) -> None:
        image = noise(4, 20, 30)
        Image.fromarray(image).save(tmp_path / "a.png")
        entry = Entry("demo", "train", "d", "a.png", (0,), box=(3, 2, 13, 10))
        sample = Samples(Manifest.of([entry], FACTS), root=tmp_path, size=None)[0]
        assert np.array_equal(sample.image, image[2:10, 3:13])

    def test_a_border_takes_no_part_in_the_statistics(self, tmp_path: Path) -> None:
        image = noise(5, 40, 80)
        boxed = files(tmp_path, image, size=32, resize="letterbox")[0]
        without = rc.measure(np.asarray(Image.fromarray(image).resize((32, 16), Image.Resampling.BILINEAR)))
        assert np.array_equal(boxed.moments().mean, without.mean)
        assert np.array_equal(boxed.moments().cov, without.cov)
        assert rc.measure(boxed.image).mean[0] < 0.6 * without.mean[0]
        assert boxed.mask is not None
        assert boxed.mask.sum() == 16 * 32
        assert rc.measure(boxed.image, boxed.mask).mean.tolist() == without.mean.tolist()

    def test_without_a_border_there_is_no_mask(self, tmp_path: Path) -> None:
        sample = files(tmp_path, noise(5, 40, 80), size=32)[0]
        assert sample.mask is None
        assert sample.picture.shape == (32, 32, 3)

    def test_places_from_the_end_and_beyond(self, tmp_path: Path) -> None:
        samples = files(tmp_path, noise(1, 8, 8), noise(2, 8, 8))
        assert samples[-1].key == "1.png"
        assert samples[-1].place == 1
        with pytest.raises(IndexError):
            samples[2]

    def test_one_domain(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        manifest = index(one.card, root)
        train = Samples(manifest, "train", root=root)
        parts = [Samples(manifest, "train", domain=domain, root=root) for domain in ("MLL23", "Acevedo20")]
        assert len(train) == sum(map(len, parts))
        assert {sample.domain for sample in (parts[0][0], parts[0][-1])} == {"MLL23"}

    def test_a_copy_leaves_the_maps_behind(self, laid_out: LaidOut) -> None:
        one, root = laid_out("bloodmnist")
        samples = Samples(index(one.card, root), "val", root=root, size=None)
        before = samples[3].image
        assert samples._maps
        state = samples.__getstate__()
        assert state["_maps"] == {}
        clone = copyreg.__newobj__(Samples)  # type: ignore[attr-defined]
        clone.__dict__.update(state)
        assert np.array_equal(clone[3].image, before)

    def test_arrays_in_memory(self) -> None:
        images = np.stack([noise(number, 6, 6) for number in range(4)])
        entries = [Entry("demo", "train", "d", "mem.npy", (row % 2,), row) for row in range(4)]
        samples = Samples(Manifest.of(entries, FACTS), size=None, arrays={"mem.npy": images})
        assert all(np.array_equal(sample.image, image) for sample, image in zip(samples, images, strict=True))

    def test_a_manifest_by_its_path_brings_its_folder(self, tmp_path: Path) -> None:
        picture(tmp_path / "a.png", 1)
        path = Manifest.of([Entry("demo", "test", "d", "a.png", (0,))], FACTS).write(tmp_path / "m.parquet")
        assert Samples(path, "test", size=8)[0].image.shape == (8, 8, 3)


class TestErrors:
    def test_a_lost_file_is_named(self, tmp_path: Path) -> None:
        samples = files(tmp_path, noise(1, 8, 8))
        (tmp_path / "0.png").unlink()
        with pytest.raises(ImageError, match=r"0\.png of Demo"):
            samples[0]

    def test_no_images(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="has no image in split 'val'"):
            files(tmp_path, noise(1, 8, 8)).__class__(
                Manifest.of([Entry("d", "train", "d", "a", (0,))], FACTS), "val", root=tmp_path
            )

    def test_no_root(self) -> None:
        with pytest.raises(OptionError, match="root is missing"):
            Samples(Manifest.of([Entry("d", "train", "d", "a", (0,))], FACTS))

    def test_a_wrong_size_is_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="size=-3"):
            files(tmp_path, noise(1, 8, 8), size=-3)
        with pytest.raises(OptionError, match="resize='fit'"):
            files(tmp_path, noise(1, 8, 8), resize="fit")

    def test_archives_are_not_loaded_as_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "a.npz").write_bytes(saved_arrays({"x": noise(1, 4, 4)}))
        manifest = Manifest.of([Entry("d", "train", "d", "a.npz", (0,), 0)], FACTS)
        with pytest.raises(ImageError, match=r"a\.npz#0 of Demo"):
            Samples(manifest, root=tmp_path)[0]

    def test_a_row_that_is_not_there(self) -> None:
        manifest = Manifest.of([Entry("d", "train", "d", "a.npy", (0,), 7)], FACTS)
        with pytest.raises(ImageError, match="has 2 rows"):
            Samples(manifest, arrays={"a.npy": np.zeros((2, 4, 4), np.uint8)})[0]


class TestPairs:
    @pytest.mark.parametrize("images", [2, 3, 208, 546, 799, 800, 801, 4862, 165_466])
    def test_800_pairs_of_two_different_images(self, images: int) -> None:
        pairs = draw_pairs(images, seed=3)
        assert len(pairs) == COUNT == 800
        assert (pairs.content != pairs.style).all()
        for side in (pairs.content, pairs.style):
            assert side.min() >= 0
            assert side.max() < images

    @pytest.mark.parametrize("images", [800, 801, 5000])
    def test_large_sets_repeat_nothing(self, images: int) -> None:
        pairs = draw_pairs(images, seed=3)
        assert not pairs.repeats
        assert len(set(pairs.content.tolist())) == len(set(pairs.style.tolist())) == 800

    @pytest.mark.parametrize("images", [2, 208, 546])
    def test_small_sets_are_gone_through_in_whole_passes(self, images: int) -> None:
        """No image comes twice more often than another: whole passes, of which the last is cut."""
        pairs = draw_pairs(images, seed=3)
        assert pairs.repeats
        for side in (pairs.content, pairs.style):
            counts = Counter(side.tolist())
            assert len(counts) == images
            assert max(counts.values()) - min(counts.values()) <= 1
        for start in range(0, 800 - images, images):
            assert len(set(pairs.content[start : start + images].tolist())) == images

    def test_seeds(self) -> None:
        one, same, other = draw_pairs(900, 1), draw_pairs(900, 1), draw_pairs(900, 2)
        assert np.array_equal(one.content, same.content)
        assert np.array_equal(one.style, same.style)
        assert not np.array_equal(one.content, other.content)
        assert not np.array_equal(one.content, one.style)

    def test_contents_and_styles_are_drawn_apart(self) -> None:
        """Of 8,000 images two independent draws of 800 share about 80."""
        pairs = draw_pairs(8000, 5)
        assert 40 < len(set(pairs.content.tolist()) & set(pairs.style.tolist())) < 130

    def test_contents_do_not_depend_on_styles(self) -> None:
        assert np.array_equal(draw_pairs(900, 1, 10).content, draw_pairs(900, 1, 800).content[:10])

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize(("images", "count"), [(2, 1), (2, 2), (2, 3), (3, 4), (5, 1)])
    def test_few(self, images: int, count: int, seed: int) -> None:
        pairs = draw_pairs(images, seed, count)
        assert len(pairs) == count
        assert (pairs.content != pairs.style).all()

    def test_a_single_image_is_paired_with_itself(self) -> None:
        pairs = draw_pairs(1, 0, 5)
        assert pairs.content.tolist() == pairs.style.tolist() == [0] * 5

    @pytest.mark.parametrize(("images", "count"), [(0, 800), (5, 0), (-1, 2)])
    def test_refused(self, images: int, count: int) -> None:
        with pytest.raises(OptionError, match="must be at least 1"):
            draw_pairs(images, 0, count)
