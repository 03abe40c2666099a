"""An imitation of the EpiStr archive: four domains, of which one is not used, each with folders train and test to be pooled."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture

SPLITS = {"NKI": "train", "VGH": "val", "IHC": "test", "NCH": ""}
COUNTS = {"epi": 4, "str": 3}


def make(key: str) -> Fake:
    placed: list[Where] = []
    plan: list[tuple[str, int]] = []
    for domain, split in SPLITS.items():
        for part in ("train", "test"):
            for number, (label, count) in enumerate(COUNTS.items()):
                for index in range(count - (part == "test")):
                    suffix = "png" if index == 0 else "jpg"
                    plan.append((f"{domain}/{part}/{label}/{part}_{index}.{suffix}", len(plan)))
                    placed += [(split, number)] if split else []

    def lay_out(root: Path) -> None:
        for path, seed in plan:
            picture(root / path, seed, (8, 8 + seed % 3))
        (root / "NKI" / "Thumbs.db").write_bytes(b"not an image")

    return Fake(counted(card_of(key), placed), lay_out=lay_out)
