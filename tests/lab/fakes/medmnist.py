"""Imitations of the twelve MedMNIST+ archives: the six arrays, 224 pixels replaced by 16."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recolorist_lab.data.cards import Card
from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, noise, pinned, saved_arrays

SIDE = 16


def make(key: str) -> Fake:
    card = card_of(key)
    arrays: dict[str, NDArray[Any]] = {}
    placed: list[Where] = []
    sizes: dict[str, int] = {}
    for number, split in enumerate(("train", "val", "test")):
        labels = _labels(card, 3 - number)
        sizes[split] = len(labels)
        images = [noise(1000 * number + row, SIDE, SIDE, 3 if card.colour == "RGB" else 1) for row in range(len(labels))]
        arrays[f"{split}_images"] = np.stack(images)
        arrays[f"{split}_labels"] = labels
        chosen = np.argwhere(labels)[:, 1] if card.multilabel else labels[:, 0]
        placed += [(split, int(label)) for label in chosen]
    served = {card.files[0].url: saved_arrays(arrays)}
    return Fake(replace(counted(pinned(card, served), placed, sizes), pixels=SIDE), served)


def _labels(card: Card, most: int) -> NDArray[Any]:
    """One or two more of every class than of the one before, so that no two counts can be mixed up; ChestMNIST: 0 and 1."""
    classes = len(card.classes)
    if not card.multilabel:
        return np.concatenate([np.full((most + label % 3, 1), label, np.uint8) for label in range(classes)])
    rows = np.zeros((classes * most + 2, classes), np.int64)  # the last two have no label
    for row in range(classes * most):
        rows[row, row % classes] = 1
        rows[row, 0] = 1
    return rows
