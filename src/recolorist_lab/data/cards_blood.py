"""Blood and bone marrow cells from four laboratories: Peripheral Blood and Bone Marrow."""

from __future__ import annotations

from typing import Final

from recolorist_lab.data.blood_labels import raw_labels
from recolorist_lab.data.cards import GIB, Card, Expected, File, Source

_MLL23_RECORD: Final = "https://zenodo.org/records/14277609"

MLL23: Final = Source(
    key="MLL23",
    title="MLL23 peripheral blood cells",
    page=_MLL23_RECORD,
    record="Zenodo 14277609; 10.1038/s41597-025-06223-x",
    licence="CC BY 4.0",
    access="open",
    folder="MLL23",
    layout=("MLL23/<class>/<class>_0001.TIF, 18 classes",),
    files=tuple(
        File(
            f"archives/{row.label}.zip",
            f"{_MLL23_RECORD}/files/{row.label}.zip?download=1",
            unpack=f"MLL23/{row.label}",
            at_most=4 * GIB,
        )
        for row in raw_labels("MLL23")
    ),
    notes=(
        "One zip per class, without pinned sizes: what was downloaded first is recorded, and later copies are held against it.",
    ),
)

ACEVEDO20: Final = Source(
    key="Acevedo20",
    title="Normal peripheral blood cells, Barcelona",
    page="https://data.mendeley.com/datasets/snkd93bnjr/1",
    record="Mendeley snkd93bnjr v1; 10.1016/j.dib.2020.105474",
    licence="CC BY 4.0",
    access="by hand",
    folder="Acevedo20",
    layout=("Acevedo20/{basophil,eosinophil,erythroblast,ig,lymphocyte,monocyte,neutrophil,platelet}/PREFIX_number.jpg",),
    request=(
        "Open the page above and download PBC_dataset_normal_DIB.zip; the site gives its files no lasting address.",
        "Unpack it with: recolorist-lab data unpack PBC_dataset_normal_DIB.zip FOLDER/Acevedo20",
    ),
    notes=("A folder PBC_dataset_normal_DIB between Acevedo20 and the classes may stay.",),
)

MATEK19: Final = Source(
    key="Matek19",
    title="AML-Cytomorphology_LMU",
    page="https://www.cancerimagingarchive.net/collection/aml-cytomorphology_lmu/",
    record="10.7937/tcia.2019.36f5o9ld; 10.1038/s42256-019-0101-9",
    licence="CC BY 4.0 as the paper says, CC BY 3.0 as others cite TCIA: look at the page before you publish",
    access="by hand",
    folder="Matek19",
    layout=("Matek19/<CODE>/<CODE>_0001.tiff, 15 codes",),
    request=(
        "Open the page above and download the images (about 11 GB) with the IBM Aspera plugin that it offers.",
        "Put the folders BAS, EBO, EOS, … of AML-Cytomorphology_LMU into FOLDER/Matek19.",
    ),
    notes=("The TIFFs have a fourth channel, which is dropped.", "MYB is the myelocyte, MYO the myeloblast."),
)

BMC: Final = Source(
    key="BMC",
    title="Bone-Marrow-Cytomorphology_MLL_Helmholtz_Fraunhofer",
    page="https://www.cancerimagingarchive.net/collection/bone-marrow-cytomorphology_mll_helmholtz_fraunhofer/",
    record="10.7937/TCIA.AXH3-T579; 10.1182/blood.2020010568",
    licence="CC BY 4.0",
    access="by hand",
    folder="BMC",
    layout=("BMC/<CODE>/0001-1000/<CODE>_00001.jpg, 21 codes; small classes lie directly in BMC/<CODE>",),
    request=(
        "Open the page above and download the images (6.8 GB) with the IBM Aspera plugin that it offers.",
        "Put the folders ABE, ART, BAS, … of BM_cytomorphology_data into FOLDER/BMC.",
    ),
    notes=("MYB/5001-6000/MYB_05527.jpg cannot be decoded; index finds and excludes it.",),
)

PERIPHERAL_BLOOD: Final = Card(
    key="peripheral_blood",
    title="Peripheral Blood",
    modality="Blood Micr.",
    colour="RGB",
    task="multiclass",
    classes=(
        "basophil",
        "eosinophil",
        "erythroblast",
        "lymphocyte_atypical",
        "lymphocyte_typical",
        "metamyelocyte",
        "monocyte",
        "myelocyte",
        "myeloblast",
        "neutrophil_band",
        "neutrophil_segmented",
        "promyelocyte",
        "smudge_cell",
    ),
    layout="peripheral_blood",
    sources=(MLL23, ACEVEDO20, MATEK19),
    domains=("MLL23", "Acevedo20", "Matek19"),
    split_rule="MLL23 and Acevedo20 are each split 80/20 into train and val, stratified by class, seed 42; Matek19 is test",
    expected=Expected(
        44_930,
        11_234,
        18_339,
        8.93,
        0.9270,
        (
            ("train", (1467, 4451, 2898, 5588, 5396, 1198, 3144, 1508, 6885, 1856, 7053, 2696, 790)),
            ("val", (367, 1114, 724, 1397, 1350, 300, 786, 376, 1721, 464, 1763, 674, 198)),
            ("test", (79, 424, 78, 11, 3937, 15, 1789, 42, 3268, 109, 8484, 88, 15)),
        ),
        "recomputed from the sources' class counts",
    ),
    notes=(
        "The counts of the 80/20 split are the paper's; which image falls on which side is ours, as theirs is not published.",
        "Validation is from the training laboratories. The Acevedo20 images are those of BloodMNIST.",
        "Split by image: neither source publishes patients.",
    ),
)

BONE_MARROW: Final = Card(
    key="bone_marrow",
    title="Bone Marrow",
    modality="BM Cytology",
    colour="RGB",
    task="multiclass",
    classes=(
        "basophil",
        "blast",
        "erythroblast",
        "eosinophil",
        "lymphocyte_atypical",
        "lymphocyte_typical",
        "metamyelocyte",
        "monocyte",
        "myelocyte",
        "neutrophil_band",
        "neutrophil_segmented",
        "promyelocyte",
        "smudge_cell",
    ),
    layout="bone_marrow",
    sources=(BMC, MATEK19, MLL23),
    domains=("BMC", "Matek19", "MLL23"),
    split_rule="BMC is train, Matek19 val, MLL23 test",
    expected=Expected(
        147_799,
        18_365,
        41_621,
        717.50,
        0.8440,
        (
            ("train", (441, 11973, 30135, 5891, 8038, 26242, 3055, 4040, 6556, 9968, 29424, 11994, 42)),
            ("val", (79, 3294, 78, 424, 11, 3937, 15, 1789, 42, 109, 8484, 88, 15)),
            ("test", (616, 8606, 2071, 2448, 6985, 5532, 483, 2510, 747, 687, 7170, 2778, 988)),
        ),
        "recomputed from the sources' class counts",
    ),
    notes=("Monoblasts are kept here, as blasts, and dropped in Peripheral Blood.",),
)
