"""The twelve MedMNIST+ sets at 224 pixels: one archive each, with fixed splits."""

from __future__ import annotations

from typing import Final, Literal

from recolorist_lab.data.cards import Card, Expected, File, Source, Task

_RECORD: Final = "https://zenodo.org/records/10519652"
_FREE: Final = "CC BY 4.0"
_ARRAYS: Final = "train_images, train_labels, val_images, val_labels, test_images, test_labels"
_ORGANS: Final = (
    "bladder",
    "femur-left",
    "femur-right",
    "heart",
    "kidney-left",
    "kidney-right",
    "liver",
    "lung-left",
    "lung-right",
    "pancreas",
    "spleen",
)
_SUMS: Final = "sizes are those of the medmnist package; class counts are public and sum to the training size"
_RECALLED: Final = "sizes are those of the medmnist package; class counts are recalled, and give the printed IR and H"


def _card(
    title: str,
    modality: str,
    colour: Literal["RGB", "Gray"],
    task: Task,
    classes: tuple[str, ...],
    file: tuple[int | None, str],
    sizes: tuple[int, int, int],
    printed: tuple[float, float],
    train: tuple[int, ...] | None,
    status: str = _SUMS,
    licence: str = _FREE,
    notes: tuple[str, ...] = (),
) -> Card:
    key = title.lower()
    name = f"{key}_224.npz"
    archive = File(name, f"{_RECORD}/files/{name}?download=1", file[0], f"md5:{file[1]}")
    layout = (f"{name}  (arrays {_ARRAYS})",)
    source = Source(
        "medmnist", f"MedMNIST+ {title}, 224 pixels", _RECORD, "Zenodo 10519652", licence, "open", "", layout, (archive,)
    )
    per_class = () if train is None else (("train", train),)
    expected = Expected(*sizes, *printed, per_class, status)
    rule = "the archive's own arrays train, val and test"
    return Card(key, title, modality, colour, task, classes, "medmnist", (source,), ("medmnist",), rule, expected, notes)


CARDS: Final = (
    _card(
        "PathMNIST",
        "Colon Pathology",
        "RGB",
        "multiclass",
        (
            "adipose",
            "background",
            "debris",
            "lymphocytes",
            "mucus",
            "smooth muscle",
            "normal colon mucosa",
            "cancer-associated stroma",
            "colorectal adenocarcinoma epithelium",
        ),
        (12_629_854_322, "2c51a510bcdc9cf8ddb2af93af1eadec"),
        (89_996, 10_004, 7_180),
        (1.63, 0.9943),
        (9366, 9509, 10360, 10401, 8006, 12182, 7886, 9401, 12885),
        notes=("The test images come from another centre than those for training.",),
    ),
    _card(
        "ChestMNIST",
        "Chest X-Ray",
        "Gray",
        "multilabel",
        (
            "atelectasis",
            "cardiomegaly",
            "effusion",
            "infiltration",
            "mass",
            "nodule",
            "pneumonia",
            "pneumothorax",
            "consolidation",
            "edema",
            "emphysema",
            "fibrosis",
            "pleural",
            "hernia",
        ),
        (None, "45bd33e6f06c3e8cdb481c74a89152aa"),
        (78_468, 11_219, 22_433),
        (96.62, 0.8610),
        (7996, 1950, 9261, 13914, 3988, 4375, 978, 3705, 3263, 1690, 1799, 1158, 2279, 144),
        _RECALLED,
        notes=(
            "Fourteen yes-or-no labels; many images have none. IR and H count positives.",
            "About 3.9 GB; the exact size is not known.",
        ),
    ),
    _card(
        "DermaMNIST",
        "Dermatoscopy",
        "RGB",
        "multiclass",
        (
            "actinic keratoses and intraepithelial carcinoma",
            "basal cell carcinoma",
            "benign keratosis-like lesions",
            "dermatofibroma",
            "melanoma",
            "melanocytic nevi",
            "vascular lesions",
        ),
        (1_091_112_502, "8974907d8e169bef5f5b96bc506ae45d"),
        (7_007, 1_003, 2_005),
        (58.66, 0.5808),
        (228, 359, 769, 80, 779, 4693, 99),
        licence="CC BY-NC 4.0",
        notes=("Images of one lesion may lie in different splits.",),
    ),
    _card(
        "OCTMNIST",
        "Retinal OCT",
        "Gray",
        "multiclass",
        ("choroidal neovascularization", "diabetic macular edema", "drusen", "normal"),
        (3_959_197_818, "abc493b6d529d5de7569faaef2773ba3"),
        (97_477, 10_832, 1_000),
        (5.94, 0.8361),
        (33484, 10213, 7754, 46026),
        _RECALLED,
    ),
    _card(
        "PneumoniaMNIST",
        "Chest X-Ray",
        "Gray",
        "binary",
        ("normal", "pneumonia"),
        (214_384_716, "d6a3c71de1b945ea11211b03746c1fe1"),
        (4_708, 524, 624),
        (2.88, 0.8235),
        (1214, 3494),
    ),
    _card(
        "RetinaMNIST",
        "Fundus Photo.",
        "RGB",
        "ordinal",
        ("0", "1", "2", "3", "4"),
        (127_992_567, "eae7e3b6f3fcbda4ae613ebdcbe35348"),
        (1_080, 120, 400),
        (7.36, 0.8744),
        (486, 128, 206, 194, 66),
        _RECALLED,
        notes=("Training and validation are the DeepDRiD images that also serve in Retina; the grades are those of the eye.",),
    ),
    _card(
        "BreastMNIST",
        "Breast US",
        "Gray",
        "binary",
        ("malignant", "normal, benign"),
        (30_903_564, "b56378a6eefa9fed602bb16d192d4c8b"),
        (546, 78, 156),
        (2.71, 0.8404),
        (147, 399),
        notes=("Malignant is class 0.", "Fewer images than the 800 pairs of the transfer protocol: passes are repeated."),
    ),
    _card(
        "BloodMNIST",
        "Blood Micr.",
        "RGB",
        "multiclass",
        (
            "basophil",
            "eosinophil",
            "erythroblast",
            "immature granulocytes",
            "lymphocyte",
            "monocyte",
            "neutrophil",
            "platelet",
        ),
        (1_540_731_655, "b718ff6835fcbdb22ba9eacccd7b2601"),
        (11_959, 1_712, 3_421),
        (2.74, 0.9632),
        (852, 2181, 1085, 2026, 849, 993, 2330, 1643),
        notes=("The same Acevedo 2020 images serve in Peripheral Blood.",),
    ),
    _card(
        "TissueMNIST",
        "Kidney Cortex Micr.",
        "Gray",
        "multiclass",
        (
            "Collecting Duct, Connecting Tubule",
            "Distal Convoluted Tubule",
            "Glomerular endothelial cells",
            "Interstitial endothelial cells",
            "Leukocytes",
            "Podocytes",
            "Proximal Tubule Segments",
            "Thick Ascending Limb",
        ),
        (3_433_703_243, "b077128c4a949f0a4eb01517f9037b9c"),
        (165_466, 23_640, 47_280),
        (9.05, 0.8675),
        (53075, 7814, 5866, 15406, 11789, 7705, 39203, 24608),
        _RECALLED,
        notes=("Enlarged from 32 pixels.",),
    ),
    _card(
        "OrganAMNIST",
        "Abdominal CT",
        "Gray",
        "multiclass",
        _ORGANS,
        (1_803_859_544, "50747347e05c87dd3aaf92c49f9f3170"),
        (34_561, 6_491, 17_778),
        (4.54, 0.9568),
        (1956, 1390, 1357, 1474, 3963, 3817, 6164, 3919, 3929, 3031, 3561),
        _RECALLED,
    ),
    _card(
        "OrganCMNIST",
        "Abdominal CT",
        "Gray",
        "multiclass",
        _ORGANS,
        (760_231_860, "050f5e875dc056f6768abf94ec9995d1"),
        (12_975, 2_392, 8_216),
        (5.02, 0.9496),
        None,
        "sizes are those of the medmnist package; class counts are not known, so IR and H are the paper's alone",
    ),
    _card(
        "OrganSMNIST",
        "Abdominal CT",
        "Gray",
        "multiclass",
        _ORGANS,
        (802_713_625, "b354719e553fbbb2513d5533f52a4cb1"),
        (13_932, 2_452, 8_827),
        (5.64, 0.9314),
        (1148, 630, 614, 721, 1132, 1119, 3464, 741, 803, 2004, 1556),
        _RECALLED,
    ),
)
