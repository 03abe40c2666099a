"""Options, limits and messages that all formats share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import ImageError
from recolorist.io.images import read_image
from recolorist.io.reading import HugeError, Reading, describe_error, display_path, refuse_dtype, refuse_huge


@pytest.mark.parametrize(
    ("reading", "dtype", "expected"),
    [
        (Reading(), "uint8", None),
        (Reading(bits=12), "uint8", None),
        (Reading(bits=12), "uint16", 4095.0),
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
