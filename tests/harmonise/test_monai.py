"""Harmonising under MONAI: the bytes of the core, for arrays and dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("monai", reason="MONAI is an extra")

import recolorist as rc
from recolorist.errors import ImageError, OptionError
from recolorist.monai import Harmonise, Harmonised
from tests.augment.test_harmoniser import BANK, LIKE, OTHER

CORE = rc.Harmoniser(BANK, "edge")


def channel_first(image: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(image, -1, 0))


@pytest.mark.parametrize("image", [LIKE[0], OTHER[0]], ids=["inside", "outside"])
def test_gives_the_bytes_of_the_core(image: Any) -> None:
    out = Harmonise(BANK, "edge")(channel_first(image))
    assert (type(out).__name__, str(out.dtype)) == ("MetaTensor", "torch.uint8")
    assert np.array_equal(out.numpy(), channel_first(CORE(image)))


def test_dictionaries_are_judged_key_by_key() -> None:
    change = Harmonised(["a", "b"], BANK, "edge")
    out = change({"a": channel_first(LIKE[0]), "b": channel_first(OTHER[0]), "label": 3})
    assert np.array_equal(out["a"].numpy(), channel_first(LIKE[0]))
    assert np.array_equal(out["b"].numpy(), channel_first(CORE(OTHER[0])))
    assert out["label"] == 3
    assert "gate='edge'" in repr(change)
    with pytest.raises(KeyError):
        change({"a": channel_first(LIKE[0])})


def test_a_volume_is_judged_as_a_whole() -> None:
    volume = np.stack([channel_first(OTHER[0]), channel_first(OTHER[1])], -1)  # (C, H, W, D)
    out = Harmonise(BANK, "edge")(volume)
    wide = np.moveaxis(volume, 0, -1).reshape(19, -1, 3)
    assert np.array_equal(np.moveaxis(out.numpy(), 0, -1).reshape(19, -1, 3), CORE(wide))


@pytest.mark.parametrize("shape", [(4, 5), (3, 0, 5)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ImageError, match=r"\(C, H, W\)"):
        Harmonise(BANK)(np.zeros(shape, np.uint8))


def test_sixteen_bits_are_matched_as_such_and_stay_what_monai_made_of_them() -> None:
    """MONAI makes int32 of uint16 arrays, and the transform refused int32, which nobody had given."""
    levels = OTHER[0].astype(np.uint16) * 257
    out = Harmonise(BANK, "edge")(channel_first(levels))
    assert str(out.dtype) == "torch.int32"
    assert np.array_equal(np.moveaxis(out.numpy(), 0, -1), CORE(levels))


def test_a_missing_key_is_passed_over_if_that_is_allowed() -> None:
    change = Harmonised(["a", "b"], BANK, "edge", allow_missing_keys=True)
    out = change({"a": channel_first(OTHER[0])})
    assert list(out) == ["a"]
    assert np.array_equal(out["a"].numpy(), channel_first(CORE(OTHER[0])))


@pytest.mark.parametrize("wrong", [{"gate": "inside"}, {"method": "histogram"}, {"space": "rbg"}, {"coverage": 2.0}])
def test_wrong_options_are_refused_when_the_transform_is_made(wrong: dict[str, Any]) -> None:
    for make in (Harmonise, lambda bank, **options: Harmonised("a", bank, **options)):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            make(BANK, **wrong)
