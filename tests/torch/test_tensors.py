"""Tensors with channels first, through the core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch

import recolorist as rc
from recolorist.augment.streams import stream
from recolorist.errors import ImageError, OptionError
from recolorist.torch.draws import Affine
from recolorist.torch.tensors import channels_last, image_of, images_last, recolour_tensor, write_planes

TILES = np.random.default_rng(4).integers(20, 230, (6, 9, 7, 3), dtype=np.uint8)
BATCH = torch.from_numpy(TILES).permute(0, 3, 1, 2)
CORE = rc.Colorist(rc.StyleBank.build(TILES, split="train"), seed=0)


def test_an_image_shares_its_memory() -> None:
    tensor = torch.zeros(3, 4, 5)
    channels_last(tensor)[1, 2, 0] = 7.0
    assert tensor[0, 1, 2] == 7.0


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4, 5)])
def test_other_shapes_are_no_image(shape: tuple[int, ...]) -> None:
    with pytest.raises(ImageError, match="accepted is one image"):
        channels_last(torch.zeros(shape))


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4, 5), (2, 6, 3, 4, 5), (0, 3, 4, 5)])
def test_images_one_after_another(shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape[:-3]))
    assert images_last(torch.zeros(shape)).shape == (count, 4, 5, 3)


@pytest.mark.parametrize(("sample", "place"), [((1, 2), 0), ([1, 2], -2), ({"a": 1}, "a"), (1, 0), ("text", 5)])
def test_the_image_of_a_sample(sample: Any, place: Any) -> None:
    assert image_of(sample, place) == ("text" if sample == "text" else 1)


@pytest.mark.parametrize(("sample", "place"), [((1,), 3), ({"a": 1}, "b"), ((1,), "a")])
def test_a_sample_without_the_part(sample: Any, place: Any) -> None:
    with pytest.raises(OptionError, match="has no part"):
        image_of(sample, place)


class TestRecolour:
    draw = CORE.draw_from(stream(2))

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
    def test_each_image_as_the_core_does(self, dtype: Any) -> None:
        batch = BATCH if dtype == torch.uint8 else (BATCH / 255).to(dtype)
        changed = recolour_tensor(CORE, batch, self.draw)
        assert (changed.shape, changed.dtype) == (batch.shape, dtype)
        for image, found in zip(batch, changed, strict=True):
            expected = CORE.recolour(channels_last(image), self.draw)
            np.testing.assert_array_equal(channels_last(found), expected)

    def test_bfloat16_goes_through_float32(self) -> None:
        half = (BATCH / 255).to(torch.bfloat16)
        expected = recolour_tensor(CORE, half.float(), self.draw).to(torch.bfloat16)
        assert torch.equal(recolour_tensor(CORE, half, self.draw), expected)

    def test_leading_dimensions_stay(self) -> None:
        nested = BATCH.reshape(2, 3, 3, 9, 7)
        assert torch.equal(recolour_tensor(CORE, nested, self.draw).flatten(0, 1), recolour_tensor(CORE, BATCH, self.draw))

    def test_masks_are_arrays_or_tensors(self) -> None:
        inside = torch.zeros(9, 7, dtype=torch.bool)
        inside[:4] = True
        by_tensor = recolour_tensor(CORE, BATCH[0], self.draw, inside)
        assert torch.equal(by_tensor, recolour_tensor(CORE, BATCH[0], self.draw, inside.numpy()))
        np.testing.assert_array_equal(channels_last(by_tensor), CORE.recolour(TILES[0], self.draw, inside.numpy()))

    def test_the_input_is_not_changed(self) -> None:
        before = BATCH.clone()
        recolour_tensor(CORE, BATCH, self.draw)
        assert torch.equal(BATCH, before)

    def test_no_image_is_refused(self) -> None:
        with pytest.raises(ImageError, match="accepted are images"):
            recolour_tensor(CORE, torch.zeros(4, 5), self.draw)


@pytest.mark.parametrize(("dtype", "data_range"), [(torch.int16, 65535), (torch.int8, 255), (torch.int32, 2.0**31)])
def test_a_range_that_the_type_cannot_hold_is_refused(dtype: Any, data_range: float) -> None:
    """Else bright results would come round as negative numbers."""
    colorist = rc.Colorist(CORE.bank, seed=1, data_range=data_range)
    with pytest.raises(ImageError, match=r"int\d+ ends at \d+, below data_range"):
        recolour_tensor(colorist, torch.zeros(3, 4, 5, dtype=dtype), colorist.draw_from(stream(0, 0)))


def test_planes_are_rounded_half_to_even_and_clipped() -> None:
    pixels = np.array([[[1, 0], [3, 200]]], np.uint8)
    target = np.empty((2, 1, 2), np.uint8).transpose(1, 2, 0)  # channel first in memory
    write_planes(pixels, target, Affine([0.5, 2.0], [0.0, -1.0], 255.0))
    assert target.tolist() == [[[0, 0], [2, 255]]]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_signed_numbers_beyond_sixteen_bits_are_matched_in_float64_and_rounded(dtype: Any) -> None:
    colorist = rc.Colorist(CORE.bank, seed=1, data_range=2.0**20)
    draw = colorist.draw_from(stream(0, 0))
    levels = BATCH[0].to(dtype) * 4099
    changed = recolour_tensor(colorist, levels, draw)
    expected = colorist.recolour(channels_last(levels.double()), draw)
    assert changed.dtype == dtype
    np.testing.assert_array_equal(channels_last(changed), np.rint(expected))
    assert int(changed.max()) > 2**16
