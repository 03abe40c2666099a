"""Every file of the corpus is refused with its words, by the function that a command would use."""

from __future__ import annotations

from pathlib import Path

import pytest

import recolorist as rc
from recolorist.io.images import read_image
from recolorist_lab.assets.archives import unpack
from tests.hostile.corpus import CORPUS


def read(path: Path, ending: str) -> None:
    if ending in ("json", "rcb"):
        rc.StyleBank.load(path)
    elif ending in ("zip", "tar.gz"):
        unpack(path, path.parent / "out")
    else:
        read_image(path)


@pytest.mark.parametrize("name", CORPUS)
def test_refused_with_its_words(name: str, tmp_path: Path) -> None:
    ending, make, words = CORPUS[name]
    if ending == "dcm":
        pytest.importorskip("pydicom")
    path = tmp_path / f"a.{ending}"
    path.write_bytes(make())
    assert path.stat().st_size < 1 << 20
    with pytest.raises(rc.RecoloristError, match=words):
        read(path, ending)
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name]
