"""Data that are not there are an error of ours, which says where they were looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import RecoloristError
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.named import open_dataset


def test_it_names_place_and_command(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no .*pathmnist_28\.parquet.*data index pathmnist_28 --root") as caught:
        open_dataset("pathmnist_28", tmp_path)
    assert isinstance(caught.value, RecoloristError)
