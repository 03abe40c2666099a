"""From stored pixels to what a network sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import ImageError, OptionError
from recolorist_lab.data.pixels import digest_of, resize_square, shape_of, to_rgb8

RGB = np.random.default_rng(2).integers(0, 256, (10, 20, 3), dtype=np.uint8)


def test_resizing_is_pillows_bilinear_of_all_pixels() -> None:
    image, box = resize_square(RGB, 8)
    assert np.array_equal(image, np.asarray(Image.fromarray(RGB).resize((8, 8), Image.Resampling.BILINEAR)))
    assert box == (0, 0, 8, 8)


def test_a_letterbox_is_centred_on_black() -> None:
    image, (x0, y0, x1, y1) = resize_square(RGB, 8, "letterbox")
    assert (x0, y0, x1, y1) == (0, 2, 8, 6)
    assert np.array_equal(image[2:6], np.asarray(Image.fromarray(RGB).resize((8, 4), Image.Resampling.BILINEAR)))
    assert not image[:2].any()
    assert not image[6:].any()


def test_no_size_keeps_the_image() -> None:
    assert resize_square(RGB, None)[0] is RGB


@pytest.mark.parametrize(("size", "how"), [(0, "squash"), (8, "crop")])
def test_wrong_sizes_and_ways_are_refused(size: int, how: Any) -> None:
    with pytest.raises(OptionError, match="accepted are"):
        resize_square(RGB, size, how)


def test_colours() -> None:
    assert np.array_equal(to_rgb8(RGB[..., 0]), np.repeat(RGB[..., :1], 3, axis=2))
    assert np.array_equal(to_rgb8(np.dstack([RGB, RGB[..., :1]])), RGB)
    assert to_rgb8(np.array([[128, 129, 65535]], np.uint16))[0, :, 0].tolist() == [0, 1, 255]
    for wrong in (RGB.astype(np.float32), RGB[..., :2]):
        with pytest.raises(ImageError, match="the loader takes"):
            to_rgb8(wrong)


def test_digests_and_shapes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(RGB.tobytes())
    assert digest_of(tmp_path / "a") == digest_of(RGB) == digest_of(np.asfortranarray(RGB))
    assert digest_of(RGB[::-1]) != digest_of(RGB)
    assert (shape_of(RGB), shape_of(RGB[..., 0])) == ("10x20x3", "10x20x1")
