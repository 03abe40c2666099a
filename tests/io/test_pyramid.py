"""The smaller levels of a pyramid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recolorist.io.pyramid import Spool, halve
from tests.commands import picture


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("width", [6, 7])
def test_means_of_four_pixels(dtype: Any, width: int) -> None:
    rows = np.random.default_rng(0).integers(0, 256, (4, width, 3)).astype(dtype)
    even = rows if width % 2 == 0 else np.concatenate([rows, rows[:, -1:]], axis=1)
    mean = even.astype(np.float64).reshape(2, 2, even.shape[1] // 2, 2, 3).mean(axis=(1, 3))
    assert np.array_equal(halve(rows), (np.rint(mean) if np.dtype(dtype).kind == "u" else mean).astype(dtype))


def test_largest_values_do_not_overflow() -> None:
    assert (halve(np.full((2, 2, 3), 65535, np.uint16)) == 65535).all()


@pytest.mark.parametrize("heights", [[1301], [1] * 1301, [7, 500, 793, 1]])
def test_levels_do_not_depend_on_the_bands(tmp_path: Path, heights: list[int]) -> None:
    image = picture(0, (1301, 1103))
    with Spool(tmp_path, (1301, 1103, 3), image.dtype, enabled=True) as spool:
        passed = list(spool.through(iter(np.split(image, np.cumsum(heights)[:-1]))))
        levels = [(shape, np.concatenate(list(rows))) for shape, rows in spool.levels()]
    assert np.array_equal(np.concatenate(passed), image)
    assert spool.count == 2
    assert [shape for shape, _ in levels] == [(651, 552, 3), (326, 276, 3)]
    expected = image
    for _, level in levels:
        expected = halve(expected if len(expected) % 2 == 0 else np.concatenate([expected, expected[-1:]]))
        assert np.array_equal(level, expected)
    assert list(tmp_path.iterdir()) == []


def test_small_images_and_plain_files_have_no_levels(tmp_path: Path) -> None:
    for shape, enabled in (((512, 512, 3), True), ((4000, 4000, 3), False)):
        with Spool(tmp_path, shape, np.dtype(np.uint8), enabled=enabled) as spool:
            assert spool.count == 0
            assert list(spool.levels()) == []
