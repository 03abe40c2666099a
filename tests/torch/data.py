"""Datasets and banks for the tests of the torch package; a module of its own, so that spawned workers can import it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from numpy.typing import NDArray

from recolorist import StyleBank

HEIGHT, WIDTH = 9, 7  # not square, so that exchanged axes cannot hide


def tiles(count: int, seed: int = 0, size: tuple[int, int] = (HEIGHT, WIDTH)) -> NDArray[np.uint8]:
    """Images of different colours and contrasts."""
    rng = np.random.default_rng(seed)
    centre, spread = rng.uniform(60, 200, (count, 1, 1, 3)), rng.uniform(5, 50, (count, 1, 1, 3))
    noise = rng.standard_normal((count, *size, 3))
    return np.clip(np.rint(centre + spread * noise), 0, 255).astype(np.uint8)


def bank_of(images: NDArray[np.uint8], **options: Any) -> StyleBank:
    """A training bank."""
    return StyleBank.build(images, split="train", **options)


class Tiles:
    """A plain map-style dataset: (image, number)."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self.images = tiles(count, seed)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint8], int]:
        return self.images[index], index


def digest(loader: Any) -> dict[int, str]:
    """SHA-256 of every image of a pass, by the number of its sample."""
    found: dict[int, str] = {}
    for images, numbers in loader:
        for image, number in zip(images, numbers.tolist(), strict=True):
            assert number not in found
            found[number] = hashlib.sha256(np.ascontiguousarray(torch.as_tensor(image).numpy()).tobytes()).hexdigest()
    return found
