"""Draws: two independent endless shuffles, keyed by their number and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recolorist.augment.streams import stream
from recolorist.errors import ImageError, OptionError
from recolorist_lab.baselines.crops import Folder, Loader, SampleImages, _grown, images_of, tensor_of, view
from recolorist_lab.baselines.recipe import VIEWS, TrainingRecipe
from recolorist_lab.data.named import open_dataset
from recolorist_lab.data.pixels import Bytes
from tests.commands import picture

RECIPE = TrainingRecipe(batch=2, load_size=20, crop_size=16)


class Numbered:
    """Images that say which they are."""

    fingerprint = "numbered"

    def __init__(self, count: int = 5) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Bytes:
        return np.full((20, 20, 3), index, np.uint8)


def drawn(loader: Loader, shuffle: int, first: int, count: int) -> list[int]:
    batch = loader.batch(shuffle, first, count)
    assert bool((batch == batch[:, :1, :1, :1]).all())
    return [round(float(value) * 255) for value in batch[:, 0, 0, 0]]


class TestShuffles:
    def test_every_lap_takes_each_image_once(self) -> None:
        loader = Loader(Numbered(), RECIPE, seed=3)
        laps = [tuple(drawn(loader, 0, start, 5)) for start in range(0, 50, 5)]
        assert all(sorted(lap) == [0, 1, 2, 3, 4] for lap in laps)
        assert len(set(laps)) > 5

    def test_batches_straddle_laps_and_may_be_larger_than_the_set(self) -> None:
        loader = Loader(Numbered(3), RECIPE, seed=3)
        assert len(drawn(loader, 0, 2, 8)) == 8

    def test_the_two_shuffles_are_independent(self) -> None:
        loader = Loader(Numbered(50), RECIPE, seed=3)
        one, two = drawn(loader, 0, 0, 50), drawn(loader, 1, 0, 50)
        assert sum(a == b for a, b in zip(one, two, strict=True)) < 8
        assert one != drawn(Loader(Numbered(50), RECIPE, seed=4), 0, 0, 50)

    def test_a_draw_depends_on_its_number_only(self) -> None:
        one, other = (Loader(images_of("synthetic:hospitals=3,tiles=5,size=24"), RECIPE, seed=3, threads=n) for n in (1, 3))
        whole = one.batch(0, 0, 8)
        other.ask(1, 5, 2)
        parts = torch.cat([other.batch(0, 6, 2), other.batch(0, 0, 6)])
        assert torch.equal(whole, parts[[2, 3, 4, 5, 6, 7, 0, 1]])
        for loader in (one, other):
            loader.close()

    def test_distinct_draws_never_repeat_within_a_batch(self) -> None:
        plain, distinct = (Loader(Numbered(5), RECIPE, seed=1, distinct=count) for count in (0, 3))
        batches = [drawn(distinct, 0, start, 3) for start in range(0, 120, 3)]
        assert all(len(set(batch)) == 3 for batch in batches)
        assert {one for batch in batches for one in batch} == set(range(5))
        assert any(len(set(drawn(plain, 0, start, 3))) < 3 for start in range(0, 120, 3))
        with pytest.raises(OptionError, match="needs 6 different images and the data have 5"):
            Loader(Numbered(5), RECIPE, seed=1, distinct=6)


class TestViews:
    @pytest.mark.parametrize("name", VIEWS)
    def test_every_view_is_a_square_of_the_crops_size_and_repeats(self, name: str) -> None:
        image = picture(3, (30, 44))
        recipe = RECIPE.but(view=name)
        one, two, *others = (view(image, recipe, stream(1, draw)) for draw in (0, 0, 1, 2, 3))
        assert one.shape == (16, 16, 3)
        assert one.dtype == np.uint8
        assert np.array_equal(one, two)
        assert all(np.array_equal(one, other) for other in others) == (name in ("whole", "centre_crop", "padded"))

    def test_crops_are_parts_of_the_resized_image(self) -> None:
        image = picture(3, (20, 20))
        for draw in range(20):
            part = view(image, RECIPE, stream(1, draw))
            assert any(np.array_equal(part, image[top : top + 16, left : left + 16]) for top in range(5) for left in range(5))

    def test_turned_crops_are_turned_and_mirrored(self) -> None:
        image = picture(3, (16, 16))
        recipe = RECIPE.but(view="crop_turned", load_size=16)
        wanted = {np.rot90(side, turns).tobytes() for side in (image, image[:, ::-1]) for turns in range(4)}
        assert {view(image, recipe, stream(1, draw)).tobytes() for draw in range(80)} == wanted

    def test_a_narrow_image_still_gives_a_part(self) -> None:
        recipe = RECIPE.but(view="resized_crop")
        assert view(picture(1, (2, 300)), recipe, stream(1, 0)).shape == (16, 16, 3)

    def test_padding_keeps_the_shape_and_squashing_does_not(self) -> None:
        image = np.full((10, 20, 3), 200, np.uint8)
        padded, whole = (view(image, TrainingRecipe(view=name, crop_size=8), stream(0, 0, 0, 0)) for name in ("padded", "whole"))
        assert (int(padded[0].max()), int(padded[4].min()), int(whole.min())) == (0, 200, 200)

    @pytest.mark.parametrize(
        ("shape", "grown"), [((100, 300), (400, 1200)), ((400, 3000), (400, 3000)), ((900, 2000), (450, 1000))]
    )
    def test_images_grow_until_a_crop_fits_and_shrink_where_they_are_long(
        self, shape: tuple[int, int], grown: tuple[int, int]
    ) -> None:
        assert _grown(np.zeros((*shape, 3), np.uint8), 256).shape[:2] == grown

    def test_the_centre_is_the_centre(self) -> None:
        ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None, None], (64, 64, 3)).copy()
        crop = view(ramp, TrainingRecipe(view="centre_crop", crop_size=56), stream(0, 0, 0, 0))
        np.testing.assert_array_equal(crop, ramp[4:60, 4:60])


class TestSources:
    def test_folder_manifest_and_name(self, tmp_path: Path) -> None:
        for place in range(3):
            Image.fromarray(picture(place, (9, 7))).save(tmp_path / f"{place}.png")
        folder = images_of(tmp_path)
        assert isinstance(folder, Folder)
        assert len(folder) == 3
        assert folder[1].shape == (9, 7, 3)
        before = folder.fingerprint
        Image.fromarray(picture(9, (9, 9))).save(tmp_path / "9.png")
        assert images_of(tmp_path).fingerprint != before
        tiles = images_of("synthetic:hospitals=3,tiles=4,size=16")
        assert isinstance(tiles, SampleImages)
        assert tiles[0].shape == (16, 16, 3)
        assert tiles.fingerprint != images_of("synthetic:hospitals=3,tiles=4,size=16", split=None).fingerprint

    def test_bad_sources(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="contains no images"):
            images_of(tmp_path)
        Image.fromarray(picture(0, (9, 7))).save(tmp_path / "a.png")
        (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
        with pytest.raises(ImageError, match=r"b\.png"):
            images_of(tmp_path)[1]
        with pytest.raises(OptionError, match="size=None"):
            SampleImages(open_dataset("synthetic:hospitals=3,tiles=4,size=16").samples("train", size=32))

    def test_an_unreadable_image_stops_the_batch(self, tmp_path: Path) -> None:
        (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
        with pytest.raises(ImageError, match=r"b\.png"):
            Loader(images_of(tmp_path), RECIPE, seed=0).batch(0, 0, 1)


def test_tensors_are_eight_bit_levels() -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    made = tensor_of([image])
    assert made.is_contiguous()
    assert np.array_equal((made[0].permute(1, 2, 0) * 255).round().numpy(), image)
