"""The interface of images that are read by rows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io import strips as module
from recolorist.io.images import Reading, open_strips
from recolorist.io.strips import ArrayStrips, ColourStrips, refuse_bomb
from tests.commands import picture
from tests.io.kit import save, sixteen


@pytest.mark.parametrize("step", [1, 7, 64, 2048])
def test_bands_are_the_whole_image_in_order(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(module, "BAND_BYTES", 1)
    image = picture(0, (613, 41))
    bands = list(ArrayStrips(image, step=step).bands())
    assert np.array_equal(np.concatenate([rows for _, rows in bands]), image)
    assert [start for start, _ in bands] == list(range(0, 613, step))


def test_a_band_holds_whole_steps_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BAND_BYTES", 41 * 3 * 250)
    assert ArrayStrips(picture(0, (613, 41)), step=100).band == 200
    assert ArrayStrips(picture(0, (613, 41)), step=1).band == 250
    monkeypatch.setattr(module, "BAND_BYTES", 41 * 3 * 600)
    assert ArrayStrips(picture(0, (613, 41)), step=1).band == 512  # whole tiles of the output


def test_one_enormous_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BAND_BYTES", 10_000)
    with pytest.raises(ImageError, match=r"stored in blocks of 613 rows.*save it in tiles first"):
        _ = ArrayStrips(picture(0, (613, 41)), step=613).band


def test_grey_arrays_have_one_channel() -> None:
    assert ArrayStrips(picture()[..., 0]).shape == (37, 53, 1)


def test_rows_are_copies() -> None:
    image = picture()
    ArrayStrips(image).rows(0, 5)[:] = 0
    assert np.array_equal(image, picture())


def test_a_bomb_is_closed_and_refused() -> None:
    closed = []

    class Noting(ArrayStrips):
        def close(self) -> None:
            closed.append(True)

    source = Noting(np.zeros((100, 100, 3), np.uint8))
    refuse_bomb(source, 60)
    assert not closed
    with pytest.raises(ImageError, match="declares 30,000 bytes of pixels, over 500 times its own size"):
        refuse_bomb(source, 59)
    assert closed


class TestOpen:
    def test_other_formats_only_if_asked_for(self, tmp_path: Path) -> None:
        path = save(tmp_path / "a.png", picture())
        with pytest.raises(ImageError, match=r"a\.png: PNG files are decoded as a whole"):
            open_strips(path, Reading())
        with open_strips(path, Reading(), always=True) as strips:
            assert np.array_equal(strips.rows(0, 37), picture())

    def test_the_range_is_declared(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", sixteen())
        with open_strips(tmp_path / "a.npy", Reading(bits=10)) as strips:
            assert strips.data_range == 1023.0


class TestGrey:
    """A grey image that is read by rows as three equal channels."""

    def test_rows_are_repeated_and_the_rest_is_that_of_the_grey_image(self) -> None:
        grey = ArrayStrips(sixteen()[..., 0], 4095.0, step=9)
        colour = ColourStrips(grey)
        assert colour.shape == (*grey.shape[:2], 3)
        assert (colour.dtype.name, colour.data_range, colour.step, colour.orientation) == ("uint16", 4095.0, 9, grey.orientation)
        for (start, pixels), (expected_start, expected) in zip(colour.bands(), grey.bands(), strict=True):
            assert start == expected_start
            assert np.array_equal(pixels, np.repeat(expected, 3, axis=2))

    @pytest.mark.parametrize("grey", ["keep", "rgb"])
    def test_it_is_read_so_only_if_asked_for(self, tmp_path: Path, grey: Literal["keep", "rgb"]) -> None:
        np.save(tmp_path / "a.npy", picture()[..., 0])
        with open_strips(tmp_path / "a.npy", Reading(max_pixels=300, grey=grey)) as source:
            assert source.shape[2] == (1 if grey == "keep" else 3)

    def test_closing_it_closes_the_file(self) -> None:
        closed = []

        class Noting(ArrayStrips):
            def close(self) -> None:
                closed.append(self)

        with ColourStrips(Noting(picture()[..., 0])):
            assert closed == []
        assert len(closed) == 1
