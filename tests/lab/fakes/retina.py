"""Imitations of APTOS, DeepDRiD, IDRiD (the re-host) and MESSIDOR-2, with the traps of the originals."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.data.registry import card_of
from tests.lab.fakes.parts import Fake, Where, counted, picture, write_table

GRADES = range(5)
DEEPDRID = (
    "patient_id",
    "image_id",
    "image_path",
    "Overall quality",
    "left_eye_DR_Level",
    "right_eye_DR_Level",
    "patient_DR_Level",
    "Clarity",
    "Field definition",
    "Artifact",
)


def make(key: str) -> Fake:
    placed: list[Where] = []
    for grade in GRADES:
        placed += [("train", grade)] * (grade + 1)  # APTOS
        placed += [("train", grade)] * 4  # DeepDRiD: one patient of each grade, four images
        placed += [("val", grade)] * 2
        placed += [("test", grade)] * 3

    def lay_out(root: Path) -> None:
        _aptos(root / "APTOS")
        _deepdrid(root / "DeepDRiD" / "regular-fundus-training")
        _idrid(root / "IDRiD")
        _messidor2(root / "MESSIDOR2")

    return Fake(counted(card_of(key), placed), lay_out=lay_out)


def _aptos(root: Path) -> None:
    rows = [(f"{grade}{number}a7f", grade) for grade in GRADES for number in range(grade + 1)]
    write_table(root / "train.csv", ("id_code", "diagnosis"), rows, "\n\n")
    for seed, (name, _) in enumerate(rows):
        picture(root / "train_images" / f"{name}.png", seed, (12, 18))


def _deepdrid(root: Path) -> None:
    """The eye's grade is always 0 here, so that reading the wrong column cannot pass."""
    rows: list[tuple[object, ...]] = []
    for patient in GRADES:
        for view in ("l1", "l2", "r1", "r2"):
            left = "" if view.startswith("r") else "0.0"
            right = "0.0" if view.startswith("r") else ""
            name = f"{patient}_{view}"
            path = f"\\regular-fundus-training\\{patient}\\{name}.jpg"
            rows.append((patient, name, path, 1, left, right, f"{patient}.0", 10, 10, 0))
            picture(root / "Images" / str(patient) / f"{name}.jpg", 300 + len(rows), (12, 15))
    write_table(root / "regular-fundus-training.csv", DEEPDRID, rows)


def _idrid(root: Path) -> None:
    names = [(f"IDRiD_{10 * grade + number:03d}{'test' if number else ''}", grade) for grade in GRADES for number in range(2)]
    write_table(root / "idrid_labels.csv", ("id_code", "diagnosis", "Unnamed: 2"), [(*name, "") for name in names], ",,\n")
    for seed, (name, _) in enumerate(names):
        picture(root / "Imagenes" / "Imagenes" / f"{name}.jpg", 600 + seed, (10, 16))


def _messidor2(root: Path) -> None:
    """Endings in another case than in the table, and one image without a grade."""
    rows: list[tuple[object, ...]] = []
    for grade in GRADES:
        for number in range(3):
            name = f"IM00{grade}{number}.jpg" if number else f"2006_{grade}_PP.png"
            rows.append((name, grade, 0, 1))
            picture(root / "IMAGES" / name.replace(".jpg", ".JPG"), 900 + len(rows), (10, 15))
    rows.append(("IM002385.jpg", "", "", 0))
    picture(root / "IMAGES" / "IM002385.JPG", 999)
    write_table(root / "messidor_data.csv", ("image_id", "adjudicated_dr_grade", "adjudicated_dme", "adjudicated_gradable"), rows)
