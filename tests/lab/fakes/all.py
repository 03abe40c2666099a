"""The fake of every dataset, by its key. Run as `python -m tests.lab.fakes.all FOLDER` to look at them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from recolorist_lab.data.registry import CARDS
from tests.lab.fakes import blood, camelyon17, ddi, epistr, fitzpatrick17k, medmnist, retina
from tests.lab.fakes.parts import Fake

FAKES: Final[dict[str, Callable[[str], Fake]]] = {
    "camelyon17": camelyon17.make,
    "epistr": epistr.make,
    "peripheral_blood": blood.make,
    "bone_marrow": blood.make,
    "fitzpatrick17k": fitzpatrick17k.make,
    "ddi": ddi.make,
    "retina": retina.make,
    **{key: medmnist.make for key, card in CARDS.items() if card.layout == "medmnist"},
}


def fake(key: str) -> Fake:
    return FAKES[key](key)


def main() -> None:
    for key in FAKES:
        one = fake(key)
        one.lay_out(Path(sys.argv[1]) / key)
        size = sum(len(data) for data in one.served.values())
        sys.stdout.write(f"{key}: {sum(one.card.expected.sizes.values())} images, {size:,} bytes to serve\n")


if __name__ == "__main__":
    main()
