"""An imitation of DDI with a made-up table; the real one may not be passed on."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture, write_table

COLUMNS = ("", "DDI_ID", "DDI_file", "skin_tone", "malignant", "disease")
SPLITS = {12: "train", 34: "val", 56: "test"}


def make(key: str) -> Fake:
    rows: list[tuple[object, ...]] = []
    placed: list[Where] = []
    for tone, split in SPLITS.items():
        for number in range(9 + tone % 5):
            malignant = int(number % 3 == 0)
            answer = str(bool(malignant)).upper() if number % 2 else bool(malignant)
            rows.append((len(rows), len(rows) + 1, f"{len(rows) + 1:06d}.png", tone, answer, "made-up"))
            placed.append((split, malignant))

    def lay_out(root: Path) -> None:
        write_table(root / "ddi_metadata.csv", COLUMNS, rows)
        for row in rows:
            picture(root / str(row[2]), int(str(row[1])), (11, 7), 4 if int(str(row[1])) % 4 == 0 else 3)

    return Fake(counted(card_of(key), placed), lay_out=lay_out)
