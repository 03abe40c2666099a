"""Options, limits and messages that all formats share."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import ImageError, OptionError
from recolorist.io.images import read_image
from recolorist.io.reading import (
    HugeError,
    Reading,
    check_whole,
    describe_error,
    describe_unopened,
    display_path,
    refuse_dtype,
    refuse_huge,
    refuse_huge_shape,
    refuse_huge_tiles,
    spread_grey,
)


@pytest.mark.parametrize(
    ("reading", "dtype", "expected"),
    [
        (Reading(), "uint8", None),
        (Reading(bits=12), "uint8", None),
        (Reading(bits=12), "uint16", 4095.0),
        (Reading(bits=12), ">u2", 4095.0),
        (Reading(bits=16), "uint16", 65535.0),
        (Reading(bits=12), "float32", None),
        (Reading(data_range=2.5), "float32", 2.5),
        (Reading(data_range=2.5), "uint16", None),
    ],
)
def test_the_range_to_declare(reading: Reading, dtype: str, expected: float | None) -> None:
    assert reading.range_of(np.dtype(dtype)) == expected


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">u2", "float16", "float32", "float64"])
def test_accepted_dtypes(dtype: str) -> None:
    refuse_dtype(np.dtype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "uint64", "bool", "complex64", "longdouble", "O", "S3"])
def test_refused_dtypes(dtype: str) -> None:
    with pytest.raises(ImageError, match="accepted are unsigned integers of 8 or 16 bits and floats"):
        refuse_dtype(np.dtype(dtype))


def test_the_limit_is_inclusive() -> None:
    refuse_huge(100, 100)
    with pytest.raises(HugeError, match="declares 1,001 pixels, over the limit of 1,000; raise max_pixels"):
        refuse_huge(1001, 1000)


@pytest.mark.parametrize("name", ["a\nb\x1b[31m.png", "\u202egnp.a.png", "\udc80.png"])
def test_messages_stay_on_one_line(tmp_path: Path, name: str) -> None:
    assert display_path(name).isprintable()
    with pytest.raises(ImageError) as caught:
        read_image(tmp_path / name)
    assert str(caught.value).isprintable()


def test_ordinary_names_are_shown_as_they_are() -> None:
    assert display_path(Path("a/b ä.png")) == str(Path("a/b ä.png"))


def test_errors_without_a_message_give_their_class() -> None:
    assert (describe_error(MemoryError()), describe_error(ValueError("why"))) == ("MemoryError", "why")


@pytest.mark.parametrize(
    ("value", "low", "high", "message"),
    [
        (0, 1, None, "n=0; accepted are whole numbers from 1"),
        (101, 1, 100, "n=101; accepted are whole numbers from 1 to 100"),
        (1.0, 1, 100, "n=1.0; accepted"),
        (True, 1, 100, "n=True; accepted"),
        ("3", 1, 100, "n='3'; accepted"),
        (None, 1, 100, "n=None; accepted"),
    ],
)
def test_whole_numbers_within_limits(value: object, low: int, high: int | None, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        check_whole(value, low, high, "n")
    check_whole(low, low, high, "n")
    check_whole(100, low, high, "n")


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1)])
def test_grey_becomes_three_equal_channels_only_if_asked_for(shape: tuple[int, ...]) -> None:
    grey = np.arange(20, dtype=np.uint16).reshape(shape)
    assert spread_grey(grey, Reading()) is grey
    colour = spread_grey(grey, Reading(grey="rgb"))
    assert (colour.shape, colour.dtype.name) == ((4, 5, 3), "uint16")
    assert all(np.array_equal(colour[..., c], grey.reshape(4, 5)) for c in range(3))


@pytest.mark.parametrize("channels", [3, 4])
def test_colours_stay_as_they_are(channels: int) -> None:
    pixels = np.zeros((4, 5, channels), np.uint8)
    assert spread_grey(pixels, Reading(grey="rgb")) is pixels


@pytest.mark.parametrize(("shape", "counted"), [((10, 10), 100), ((10, 10, 4), 100), ((10, 10, 5), 200), ((10, 10, 9), 300)])
def test_many_channels_count_as_more_pixels(shape: tuple[int, ...], counted: int) -> None:
    refuse_huge_shape(shape, counted)
    with pytest.raises(HugeError, match=f"it declares {counted} pixels, over the limit of {counted - 1}"):
        refuse_huge_shape(shape, counted - 1)


def test_a_tile_may_be_as_large_as_the_limit() -> None:
    refuse_huge_tiles(100, 100)
    with pytest.raises(HugeError, match="its tiles have 101 pixels each"):
        refuse_huge_tiles(101, 100)


def test_a_missing_file_and_a_forbidden_one_are_told_apart(tmp_path: Path) -> None:
    assert describe_unopened(tmp_path / "a.png", FileNotFoundError(2, "No such file")).endswith(
        "a.png does not exist; check its name and its folder"
    )
    assert describe_unopened("a.png", PermissionError(13, "Permission denied")) == "a.png cannot be opened: Permission denied"
