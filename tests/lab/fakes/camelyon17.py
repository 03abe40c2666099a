"""An imitation of camelyon17_v1.0: patches by patient and node, and their table, in one tar.gz."""

from __future__ import annotations

from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture_bytes, pinned, table_bytes, tarred

COLUMNS = ("", "patient", "node", "x_coord", "y_coord", "tumor", "slide", "center", "split")
PATCHES = {0: 8, 1: 4, 2: 6, 3: 8, 4: 12}  # per hospital; as in the original, every fourth of the others is id_val


def make(key: str) -> Fake:
    card = card_of(key)
    rows: list[tuple[object, ...]] = []
    members: dict[str, bytes] = {}
    placed: list[Where] = []
    for centre, patches in PATCHES.items():
        for number in range(patches):
            tumour, stored = number % 2, int(number % 4 >= 2 and number < 4)
            patient, node, x, y = f"{20 * centre + number // 4:03d}", number % 3, 32 * number, 64 * number + centre
            rows.append((len(rows), patient, node, x, y, tumour, 10 * centre, centre, stored))
            place = f"patient_{patient}_node_{node}"
            members[f"patches/{place}/patch_{place}_x_{x}_y_{y}.png"] = picture_bytes(".png", len(rows), (12, 12))
            split = {1: "val", 2: "test"}.get(centre) or ("id_val" if stored else "train")
            placed.append((split, tumour))
    members["metadata.csv"] = table_bytes(COLUMNS, rows)
    members["RELEASE_v1.0.txt"] = b"an imitation\n"
    served = {card.files[0].url: tarred(members)}
    return Fake(counted(pinned(card, served), placed), served)
