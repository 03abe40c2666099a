"""A small collection, its bank and a pair of pictures, which every command reads and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from recolorist import collections
from tests.commands import collection, picture


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collection(tmp_path_factory.mktemp("data"), 20)


@pytest.fixture(scope="package")
def bank(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bank") / "train.rcb"
    collections.build_bank(data, split="train", domain_from=0).bank.save(path)
    return path


@pytest.fixture(scope="package")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    for i in (0, 1):
        Image.fromarray(picture(i)).save(folder / f"{i}.png")
    return folder / "0.png", folder / "1.png"


@pytest.fixture
def with_broken(tmp_path: Path) -> Path:
    """Four good pictures and a file that is none."""
    folder = collection(tmp_path / "with broken", 4)
    (folder / "broken.png").write_bytes(b"nothing")
    return folder
