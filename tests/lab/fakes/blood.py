"""Imitations of the four haematology sources, and of the two benchmarks that are made of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from recolorist_lab.data.cards import Card
from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture, picture_bytes, pinned, zipped

# Raw label to how many images of it the imitation has, and where they lie.
MLL23 = dict.fromkeys(
    (
        "basophil",
        "eosinophil",
        "hairy_cell",
        "lymphocyte",
        "lymphocyte_large_granular",
        "lymphocyte_neoplastic",
        "lymphocyte_reactive",
        "metamyelocyte",
        "monocyte",
        "myeloblast",
        "myelocyte",
        "neutrophil_band",
        "neutrophil_segmented",
        "normoblast",
        "plasma_cell",
        "promyelocyte",
        "promyelocyte_atypical",
        "smudge_cell",
    ),
    5,
)
ACEVEDO20 = {
    "basophil/BA": "basophil",
    "eosinophil/EO": "eosinophil",
    "erythroblast/ERB": "erythroblast",
    "lymphocyte/LY": "lymphocyte_typical",
    "monocyte/MO": "monocyte",
    "ig/MMY": "metamyelocyte",
    "ig/MY": "myelocyte",
    "ig/PMY": "promyelocyte",
    "ig/IG": "",
    "neutrophil/BNE": "neutrophil_band",
    "neutrophil/SNE": "neutrophil_segmented",
    "neutrophil/NEUTROPHIL": "",
    "platelet/PLATELET": "",
}
MATEK19 = {
    "BAS": "basophil",
    "EBO": "erythroblast",
    "EOS": "eosinophil",
    "KSC": "smudge_cell",
    "LYA": "lymphocyte_atypical",
    "LYT": "lymphocyte_typical",
    "MMZ": "metamyelocyte",
    "MOB": "monoblast",
    "MON": "monocyte",
    "MYB": "myelocyte",
    "MYO": "myeloblast",
    "NGB": "neutrophil_band",
    "NGS": "neutrophil_segmented",
    "PMB": "promyelocyte",
    "PMO": "promyelocyte",
}
BMC = {
    "ABE": "eosinophil",
    "ART": "",
    "BAS": "basophil",
    "BLA": "blast",
    "EBO": "erythroblast",
    "EOS": "eosinophil",
    "FGC": "",
    "HAC": "lymphocyte_atypical",
    "KSC": "smudge_cell",
    "LYI": "",
    "LYT": "lymphocyte_typical",
    "MMZ": "metamyelocyte",
    "MON": "monocyte",
    "MYB": "myelocyte",
    "NGB": "neutrophil_band",
    "NGS": "neutrophil_segmented",
    "NIF": "",
    "OTH": "",
    "PEB": "erythroblast",
    "PLM": "lymphocyte_atypical",
    "PMO": "promyelocyte",
}
_FINE = {
    "hairy_cell": "lymphocyte_atypical",
    "lymphocyte": "lymphocyte_typical",
    "lymphocyte_large_granular": "lymphocyte_atypical",
    "lymphocyte_neoplastic": "lymphocyte_atypical",
    "lymphocyte_reactive": "lymphocyte_atypical",
    "normoblast": "erythroblast",
    "plasma_cell": "lymphocyte_atypical",
    "promyelocyte_atypical": "promyelocyte",
}
_BLASTS = {"monoblast": "blast", "myeloblast": "blast"}
PER_LABEL = 5
BROKEN = "BMC/MYB/5001-6000/MYB_05527.jpg"


def make(key: str) -> Fake:
    return {"peripheral_blood": _peripheral_blood, "bone_marrow": _bone_marrow}[key](card_of(key))


def _peripheral_blood(card: Card) -> Fake:
    placed: list[Where] = []
    for labels in (_mll23_labels(), [name for name in ACEVEDO20.values() if name for _ in range(PER_LABEL)]):
        placed += _divided(card, labels)
    placed += [("test", card.classes.index(name)) for name in MATEK19.values() if name != "monoblast" for _ in range(PER_LABEL)]
    served = _mll23(card)
    return Fake(counted(pinned(card, served), placed), served, _all_of(_acevedo20, _matek19))


def _bone_marrow(card: Card) -> Fake:
    train = [name for name in BMC.values() if name for _ in range(PER_LABEL)]
    val = [_BLASTS.get(name, name) for name in MATEK19.values() for _ in range(PER_LABEL)]
    test = [_BLASTS.get(name, name) for name in _mll23_labels()]
    placed = [
        (split, card.classes.index(name)) for split, names in zip(_SPLITS, (train, val, test), strict=True) for name in names
    ]
    served = _mll23(card)
    return Fake(counted(pinned(card, served), placed), served, _all_of(_bmc, _matek19), (BROKEN,))


_SPLITS = ("train", "val", "test")


def _divided(card: Card, names: list[str]) -> list[Where]:
    """One fifth for validation, rounded up; each class by its share, the remainders in order of size, then of class."""
    counts = Counter(card.classes.index(name) for name in names)
    keep = len(names) - math.ceil(len(names) / 5)
    exact = {number: count * keep / len(names) for number, count in counts.items()}
    kept = {number: math.floor(share) for number, share in exact.items()}
    for number in sorted(exact, key=lambda one: (kept[one] - exact[one], one))[: keep - sum(kept.values())]:
        kept[number] += 1
    train = [("train", number) for number in kept for _ in range(kept[number])]
    return train + [("val", number) for number in kept for _ in range(counts[number] - kept[number])]


def _mll23_labels() -> list[str]:
    return [_FINE.get(name, name) for name, count in MLL23.items() for _ in range(count)]


def _mll23(card: Card) -> dict[str, bytes]:
    """One zip per class, as on Zenodo, with the folder that macOS leaves."""
    served: dict[str, bytes] = {}
    for seed, (name, count) in enumerate(MLL23.items()):
        url = next(file.url for file in card.files if f"/{name}.zip" in file.url)
        members = {
            f"{name}/{name}_{number:04d}.TIF": picture_bytes(".TIF", 50 * seed + number, (9, 9)) for number in range(1, count + 1)
        }
        members[f"__MACOSX/{name}/._{name}_0001.TIF"] = b"resource fork"
        served[url] = zipped(members)
    return served


def _acevedo20(root: Path) -> None:
    for seed, place in enumerate(ACEVEDO20):
        for number in range(PER_LABEL):
            picture(
                root / "Acevedo20" / "PBC_dataset_normal_DIB" / f"{place}_{100 + number}.jpg", 5000 + 50 * seed + number, (9, 8)
            )
    (root / "Acevedo20" / "PBC_dataset_normal_DIB" / "ig" / ".DS_169665.jpg").write_bytes(b"hidden")


def _matek19(root: Path) -> None:
    for seed, code in enumerate(MATEK19):
        for number in range(1, PER_LABEL + 1):
            picture(root / "Matek19" / code / f"{code}_{number:04d}.tiff", 9000 + 50 * seed + number, (10, 10), 4)
    (root / "Matek19" / "annotations.dat").write_text("made-up\n")


def _bmc(root: Path) -> None:
    for seed, code in enumerate(BMC):
        for number in range(1, PER_LABEL + 1):
            folder = root / "BMC" / code / ("0001-1000" if seed % 2 else "")
            picture(folder / f"{code}_{number:05d}.jpg", 20_000 + 50 * seed + number, (10, 10))
    (root / BROKEN).parent.mkdir(parents=True)
    (root / BROKEN).write_bytes(picture_bytes(".jpg", 1)[:60])  # as in the original: one file that cannot be decoded


def _all_of(*parts: Callable[[Path], None]) -> Callable[[Path], None]:
    def lay_out(root: Path) -> None:
        for part in parts:
            part(root)

    return lay_out
