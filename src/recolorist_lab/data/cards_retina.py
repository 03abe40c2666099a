"""Fundus photographs from four countries: Retina."""

from __future__ import annotations

from typing import Final

from recolorist_lab.data.cards import Card, Expected, Source

APTOS: Final = Source(
    key="APTOS",
    title="APTOS 2019 Blindness Detection, labelled part",
    page="https://www.kaggle.com/c/aptos2019-blindness-detection",
    record="Kaggle competition",
    licence="competition rules: non-commercial",
    access="account",
    folder="APTOS",
    layout=("APTOS/train.csv  (id_code, diagnosis)", "APTOS/train_images/<id_code>.png, 3,662 images"),
    request=(
        "With a Kaggle account, accept the competition's rules on the page above and download train.csv and train_images.zip.",
        "Unpack with: recolorist-lab data unpack train_images.zip FOLDER/APTOS/train_images",
    ),
    notes=("A re-host in three parts (train_1.csv, valid.csv, test.csv) has the same images; it is read as well.",),
)

DEEPDRID: Final = Source(
    key="DeepDRiD",
    title="DeepDRiD, regular fundus training set",
    page="https://github.com/deepdrdoc/DeepDRiD",
    record="10.1016/j.patter.2022.100512",
    licence="CC BY-SA 4.0 (the paper says permissive)",
    access="by hand",
    folder="DeepDRiD",
    layout=(
        "DeepDRiD/regular-fundus-training/regular-fundus-training.csv",
        "DeepDRiD/regular-fundus-training/Images/<patient_id>/<image_id>.jpg, 1,200 images",
    ),
    request=(
        "Run: git clone --depth 1 https://github.com/deepdrdoc/DeepDRiD",
        "Move its folder regular_fundus_images/regular-fundus-training to FOLDER/DeepDRiD/regular-fundus-training.",
    ),
)

IDRID: Final = Source(
    key="IDRiD",
    title="IDRiD disease grading, re-host with 455 images",
    page="https://www.kaggle.com/datasets/mariaherrerot/idrid-dataset",
    record="10.21227/H25W98; 10.3390/data3030025",
    licence="CC BY 4.0",
    access="account",
    folder="IDRiD",
    layout=("IDRiD/idrid_labels.csv  (id_code, diagnosis)", "IDRiD/Imagenes/Imagenes/<id_code>.jpg, 455 images"),
    request=(
        "With a Kaggle account, download the archive from the page above.",
        "Unpack it with: recolorist-lab data unpack ARCHIVE FOLDER/IDRiD",
    ),
    notes=(
        "The official set has 516 images (IEEE DataPort, free account). Index it with --option idrid=official516.",
        "Its place is IDRiD/official: tables, and images in folders with the words train and test in their names.",
        "Some labels of the re-host are said to differ from the official ones.",
    ),
)

MESSIDOR2: Final = Source(
    key="MESSIDOR2",
    title="MESSIDOR-2 with adjudicated grades",
    page="https://www.adcis.net/en/third-party/messidor2/",
    record="10.5566/ias.1155",
    licence="research agreement",
    access="agreement",
    folder="MESSIDOR2",
    layout=("MESSIDOR2/messidor_data.csv  (image_id, adjudicated_dr_grade, …)", "MESSIDOR2/IMAGES/<image_id>, 1,748 images"),
    request=(
        "Ask for the images with the form on the page above; put the folder IMAGES into FOLDER/MESSIDOR2.",
        "Download messidor_data.csv from https://www.kaggle.com/datasets/google-brain/messidor2-dr-grades into FOLDER/MESSIDOR2.",
    ),
    notes=("Four images have no grade and are excluded.",),
)

RETINA: Final = Card(
    key="retina",
    title="Retina",
    modality="Fundus Photo.",
    colour="RGB",
    task="ordinal",
    classes=("no DR", "mild", "moderate", "severe", "proliferative DR"),
    layout="retina",
    sources=(APTOS, DEEPDRID, IDRID, MESSIDOR2),
    domains=("APTOS", "DeepDRiD", "IDRiD", "MESSIDOR2"),
    split_rule="APTOS and DeepDRiD are train, IDRiD val, MESSIDOR-2 test; the DeepDRiD grade is patient_DR_Level",
    expected=Expected(
        4_862,
        455,
        1_744,
        5.22,
        0.8665,
        (("train", (2165, 610, 1239, 433, 415)), ("val", (129, 22, 156, 84, 64)), ("test", (1017, 270, 347, 75, 35))),
        "train, IR and H recomputed; val and test as reported",
    ),
    notes=("The DeepDRiD images are those of RetinaMNIST, with the grade of the patient instead of the eye.",),
)
