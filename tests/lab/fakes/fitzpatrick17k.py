"""An imitation of Fitzpatrick17k: the table with all its columns, and photographs named by their md5."""

from __future__ import annotations

import hashlib
from pathlib import Path

from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture_bytes, pinned, table_bytes

COLUMNS = (
    "md5hash",
    "fitzpatrick_scale",
    "fitzpatrick_centaur",
    "label",
    "nine_partition_label",
    "three_partition_label",
    "qc",
    "url",
    "url_alphanum",
)
LABELS = ("non-neoplastic", "benign", "malignant")


def make(key: str) -> Fake:
    card = card_of(key)
    rows: list[tuple[object, ...]] = []
    images: dict[str, bytes] = {}
    placed: list[Where] = []
    for scale in (-1, 1, 2, 3, 4, 5, 6):
        for number, label in enumerate(LABELS):
            for copy in range(3 - number):
                data = picture_bytes(".jpg", 100 * (scale + 1) + 10 * number + copy, (10, 14))
                name = hashlib.md5(data, usedforsecurity=False).hexdigest()
                rows.append((name, scale, 1, "acne", "inflammatory", label, "", f"http://example.org/{name}", f"{name}.jpg"))
                images[f"data/{name}.jpg"] = data
                split = {1: "train", 2: "train", 3: "val", 4: "val", 5: "test", 6: "test"}.get(scale)
                placed += [(split, number)] if split else []

    def lay_out(root: Path) -> None:
        (root / "data").mkdir(parents=True)
        for name, data in images.items():
            (root / name).write_bytes(data)

    served = {card.files[0].url: table_bytes(COLUMNS, rows)}
    return Fake(counted(pinned(card, served), placed), served, lay_out)
