"""What a run may be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.config import identity_of
from recolorist_lab.training.settings import Settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "emr"}, "algorithm"),
        ({"precision": "8-bit"}, "precision"),
        ({"batch": 3, "accumulate": 2}, "each part needs at least two images"),
        ({"warmup_epochs": 100}, "leaves nothing of epochs=100"),
        ({"learning_rate": 0.0}, "accepted is a positive number"),
        ({"probability": 1.5}, "accepted are numbers from 0 to 1"),
        ({"hang_seconds": -1.0}, "hang_seconds=-1.0; accepted is at least 0"),
        ({"source_share": 1.0}, "leave images to train on"),
        ({"augmentation": "colorist+random_flip", "probability": 0.5}, "each says its own"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Settings("synthetic", 0, **changes)


def test_where_and_how_fast_are_no_part_of_the_identity() -> None:
    one = Settings("synthetic", 0)
    other = Settings("synthetic", 0, root="x", workers=0, threads=2, hang_seconds=1.0, checkpoint_seconds=0.0, accelerator="cpu")
    assert identity_of(one) == identity_of(other)
    for change in ({"memory_format": "contiguous"}, {"compile": True}, {"accumulate": 2}, {"devices": 2}):
        assert identity_of(Settings("synthetic", 0, **change)) != identity_of(one)
