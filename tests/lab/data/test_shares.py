"""Shares of the images that are held out: alike in class, whole patients, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.own import IndexOptions, index_folder
from recolorist_lab.data.shares import split_by_shares
from tests.lab.fakes.parts import picture


@pytest.fixture
def patients(tmp_path: Path) -> Manifest:
    """Ten patients of each class with three images each."""
    for number in range(60):
        patient = number // 3
        picture(tmp_path / f"p{patient:02}" / ("benign", "malignant")[patient % 2] / f"{number:02}.png", number)
    return index_folder(tmp_path, IndexOptions("scans", group_pattern=r"(p\d+)/"))


def test_a_patient_is_in_one_split_only(patients: Manifest) -> None:
    divided = split_by_shares(patients, test=0.3, val=0.2)
    homes: dict[str, set[str]] = {}
    for entry in divided:
        homes.setdefault(entry.group, set()).add(entry.split)
    assert len(homes) == 20
    assert all(len(splits) == 1 for splits in homes.values())
    assert Counter(splits.pop() for splits in homes.values()) == Counter(train=10, test=6, val=4)


def test_classes_keep_their_shares(patients: Manifest) -> None:
    divided = split_by_shares(patients, test=0.5)
    assert divided.class_counts("test") == divided.class_counts("train") == (15, 15)


def test_another_seed_holds_out_others(patients: Manifest) -> None:
    first, again, other = (split_by_shares(patients, test=0.3, seed=seed).column("split") for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("test", "val"), [(0.5, 0.5), (-0.1, 0.0), (1.5, 0.0), (0.01, 0.0)])
def test_shares_that_cannot_be(patients: Manifest, test: float, val: float) -> None:
    with pytest.raises(OptionError, match="share"):
        split_by_shares(patients, test=test, val=val)


@pytest.mark.parametrize(("pattern", "reason"), [("(", "is not a regular expression"), ("slide", "matches nothing in")])
def test_a_pattern_that_finds_no_patient(tmp_path: Path, pattern: str, reason: str) -> None:
    picture(tmp_path / "benign" / "p1.png", 1)
    with pytest.raises(OptionError, match=reason):
        index_folder(tmp_path, IndexOptions("scans", group_pattern=pattern))
