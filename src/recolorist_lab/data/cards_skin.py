"""Clinical photographs of skin, split by skin type: Fitzpatrick17k and DDI."""

from __future__ import annotations

from typing import Final

from recolorist_lab.data.cards import Card, Expected, File, Source

FITZPATRICK17K: Final = Card(
    key="fitzpatrick17k",
    title="Fitzpatrick17k",
    modality="Dermatoscopy",
    colour="RGB",
    task="multiclass",
    classes=("non-neoplastic", "benign", "malignant"),
    layout="fitzpatrick17k",
    sources=(
        Source(
            key="Fitzpatrick17k",
            title="Fitzpatrick17k",
            page="https://github.com/mattgroh/fitzpatrick17k",
            record="CVPR Workshops 2021",
            licence="CC BY-NC-SA 3.0",
            access="agreement",
            folder="",
            layout=("fitzpatrick17k.csv", "data/<md5hash>.jpg"),
            files=(
                File(
                    "fitzpatrick17k.csv",
                    "https://raw.githubusercontent.com/mattgroh/fitzpatrick17k/main/fitzpatrick17k.csv",
                    bytes=4_104_341,
                ),
            ),
            request=(
                "Ask for the images with the form https://forms.gle/4fS35Kg8x9pkG2Bn9.",
                "Put them into the folder data, each named by the column md5hash with the ending .jpg.",
            ),
            notes=(
                "Most addresses in the table's column url are dead, and many are not https, so nothing is crawled here.",
                "With a part of the images, index with --allow-different: the shortfall per split and class is recorded.",
            ),
        ),
    ),
    domains=("FST1", "FST2", "FST3", "FST4", "FST5", "FST6"),
    split_rule="fitzpatrick_scale 1-2 is train, 3-4 val, 5-6 test, -1 is dropped; qc is ignored",
    expected=Expected(
        7_755,
        6_089,
        2_168,
        4.88,
        0.7422,
        (("train", (5445, 1115, 1195)), ("val", (4490, 842, 757)), ("test", (1757, 203, 208))),
        "recomputed from the public table",
    ),
    notes=(
        "These are clinical photographs, not dermatoscopy as the paper's table says.",
        "The paper had all images of the table.",
    ),
)

DDI: Final = Card(
    key="ddi",
    title="DDI",
    modality="Dermatoscopy",
    colour="RGB",
    task="binary",
    classes=("benign", "malignant"),
    layout="ddi",
    sources=(
        Source(
            key="DDI",
            title="Diverse Dermatology Images",
            page="https://ddi-dataset.github.io/",
            record="Stanford AIMI 35866158-8196-48d8-87bf-50dca81df965; 10.1126/sciadv.abq6147",
            licence="Stanford research use agreement; nothing may be passed on, the table included",
            access="agreement",
            folder="",
            layout=("ddi_metadata.csv", "000001.png … 000656.png, beside the table"),
            request=(
                "Register at Stanford AIMI (the page above links to it) and accept the agreement.",
                "Download the 656 images and ddi_metadata.csv.",
                "Put them all into one folder.",
            ),
        ),
    ),
    domains=("FST12", "FST34", "FST56"),
    split_rule="skin_tone 12 is train, 34 val, 56 test",
    expected=Expected(
        208,
        241,
        207,
        3.24,
        0.7876,
        (("train", (159, 49)), ("val", (167, 74)), ("test", (159, 48))),
        "train, val, IR and H recomputed; test reported",
    ),
    notes=("Fewer images than the 800 pairs of the transfer protocol: passes are repeated.",),
)
