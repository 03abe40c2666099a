"""A small collection and its bank."""

from __future__ import annotations

from pathlib import Path

import pytest

import recolorist as rc
from recolorist import collections as batch
from tests.commands import collection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return collection(tmp_path / "data")


@pytest.fixture
def bank(folder: Path) -> rc.StyleBank:
    return batch.build_bank(folder, split="train", domain_from=0).bank
