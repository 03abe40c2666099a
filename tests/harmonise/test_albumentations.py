"""Harmonising under Albumentations: the bytes of the core, and a pipeline that can be written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

A = pytest.importorskip("albumentations", reason="Albumentations is an extra")

import recolorist as rc  # noqa: E402 - skipped without the framework
from recolorist.albumentations import Harmonise  # noqa: E402
from tests.augment.test_harmoniser import BANK, LIKE, OTHER  # noqa: E402

CORE = rc.Harmoniser(BANK, "edge")


@pytest.mark.parametrize("image", [LIKE[0], OTHER[0]], ids=["inside", "outside"])
def test_gives_the_bytes_of_the_core(image: Any) -> None:
    mask = image[..., 0]
    out = A.Compose([Harmonise(BANK, "edge")])(image=image, mask=mask)
    assert np.array_equal(out["image"], CORE(image))
    assert np.array_equal(out["mask"], mask)


def test_a_stack_is_judged_image_by_image() -> None:
    stack = np.stack([LIKE[0], OTHER[0]])
    out = A.Compose([Harmonise(BANK, "edge")])(images=stack)["images"]
    assert np.array_equal(out, np.stack([CORE(image) for image in stack]))


@pytest.mark.parametrize("by", ["bank", "path"])
def test_is_written_and_read(by: str, tmp_path: Path) -> None:
    BANK.save(tmp_path / "ours.rcb")
    pipeline = A.Compose([Harmonise(BANK if by == "bank" else str(tmp_path / "ours.rcb"), "edge", coverage=0.9)])
    again = A.from_dict(json.loads(json.dumps(A.to_dict(pipeline))))
    assert np.array_equal(again(image=OTHER[1])["image"], pipeline(image=OTHER[1])["image"])
    assert "coverage=0.9" in repr(again)


@pytest.mark.parametrize("wrong", [{"gate": "inside"}, {"method": "histogram"}, {"space": "rbg"}, {"coverage": 2.0}])
def test_wrong_options_are_refused_when_the_transform_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Harmonise(BANK, **wrong)


def test_it_is_always_applied_unless_asked_otherwise() -> None:
    assert Harmonise(BANK).p == 1
    assert np.array_equal(A.Compose([Harmonise(BANK, p=0.0)])(image=OTHER[0])["image"], OTHER[0])
