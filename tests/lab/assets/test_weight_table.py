"""The table of files of weights."""

from __future__ import annotations

from recolorist_lab.assets.weight_table import WEIGHTS


def test_no_two_are_of_one_name() -> None:
    files = [file for weights in WEIGHTS.values() for file in (weights.file, *weights.names)]
    assert len(set(files)) == len(files)
