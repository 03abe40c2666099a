"""Histology over hospitals: Camelyon17-WILDS and EpiStr."""

from __future__ import annotations

from typing import Final

from recolorist_lab.data.cards import Card, Expected, File, Source

CAMELYON17: Final = Card(
    key="camelyon17",
    title="Camelyon17",
    modality="H&E Histopath.",
    colour="RGB",
    task="binary",
    classes=("normal", "tumour"),
    layout="camelyon17",
    sources=(
        Source(
            key="WILDS",
            title="Camelyon17-WILDS v1.0",
            page="https://wilds.stanford.edu",
            record="CodaLab bundle 0xe45e15f39fb54e9d9e919556af67aabe",
            licence="CC0",
            access="open",
            folder="camelyon17_v1.0",
            layout=(
                "camelyon17_v1.0/metadata.csv",
                "camelyon17_v1.0/patches/patient_<p>_node_<n>/patch_patient_<p>_node_<n>_x_<x>_y_<y>.png",
            ),
            files=(
                File(
                    "camelyon17_v1.0.tar.gz",
                    "https://worksheets.codalab.org/rest/bundles/0xe45e15f39fb54e9d9e919556af67aabe/contents/blob/",
                    bytes=10_658_709_504,
                    unpack="camelyon17_v1.0",
                ),
            ),
            notes=(
                "The host has been out of order for months at a time. Any copy in the layout above will do; index checks it.",
                "A mirror whose validation split has 68,464 images has merged id_val into val: separate them by hospital.",
            ),
        ),
    ),
    domains=("hospital_0", "hospital_1", "hospital_2", "hospital_3", "hospital_4"),
    split_rule="hospital 1 is val, hospital 2 test, whatever is stored; of the others, stored split 0 is train and 1 id_val",
    expected=Expected(302_436, 34_904, 85_054, 1.00, 1.0000, (), "sizes as documented by WILDS; not recomputed"),
    notes=("Training uses three hospitals (0, 3, 4), not four.", "id_val (33,560 images) is in the manifest and in no count."),
)

_EPISTR_LAYOUT: Final = tuple(
    f"{domain}/{part}/{label}/*.jpg or *.png"
    for domain in ("NKI", "VGH", "IHC")
    for part in ("train", "test")
    for label in ("epi", "str")
)

EPISTR: Final = Card(
    key="epistr",
    title="EpiStr",
    modality="H&E Histopath.",
    colour="RGB",
    task="binary",
    classes=("epithelium", "stroma"),
    layout="epistr",
    sources=(
        Source(
            key="Task-Aug",
            title="Epithelium and stroma, as prepared by Li and others (2022)",
            page="https://github.com/chenxinli001/Task-Aug",
            record="Google Drive file 1YeFcs2yeJmxCFI3puQKUZuac13La1BpW; arXiv 2106.06908",
            licence="public domain (NKI, VGH) and CC BY 4.0 (IHC), as the paper says",
            access="by hand",
            folder="",
            layout=_EPISTR_LAYOUT,
            request=(
                "Open https://drive.google.com/file/d/1YeFcs2yeJmxCFI3puQKUZuac13La1BpW in a browser.",
                "Download the archive; Google asks for a confirmation that a program cannot give.",
                "Unpack it with: recolorist-lab data unpack ARCHIVE FOLDER",
            ),
            notes=(
                "A folder NCH may lie beside the three; it is ignored.",
                "The link is not versioned, and its bytes are not known.",
            ),
        ),
    ),
    domains=("NKI", "VGH", "IHC"),
    split_rule="NKI is train, VGH is val, IHC is test; the archive's own train and test folders are pooled within each",
    expected=Expected(8_337, 5_920, 1_376, 1.42, 0.9783, (), "not recomputed: which class is larger in training is not known"),
    notes=("NKI and VGH are stained with haematoxylin and eosin; IHC is an immunostain.",),
)
