"""Contents, styles and outputs for the tests of evaluations."""

from __future__ import annotations

import recolorist
from recolorist_lab.metrics import (
    Triple,
)
from tests.lab.metrics.pictures import Image, noisy, scene

SIZE = (40, 48)


def contents(count: int = 6) -> list[Image]:
    return [scene(seed, SIZE) for seed in range(count)]


def styles(count: int = 6) -> list[Image]:
    return [noisy(scene(seed + 100, SIZE), 12) for seed in range(count)]


def matched(count: int = 6) -> list[Triple]:
    return [Triple(one, two, recolorist.match(one, two)) for one, two in zip(contents(count), styles(count), strict=True)]
