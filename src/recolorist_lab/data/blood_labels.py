"""Labels of the four haematology sources: how many images carry each, and what it becomes in either benchmark."""

from __future__ import annotations

from typing import Final, NamedTuple


class Raw(NamedTuple):
    """One label as a source gives it. Empty means dropped. ``unusable`` of the ``images`` cannot be decoded."""

    source: str
    label: str
    images: int
    peripheral_blood: str = ""
    bone_marrow: str = ""
    unusable: int = 0


RAW: Final = (
    Raw("MLL23", "basophil", 616, "basophil", "basophil"),
    Raw("MLL23", "eosinophil", 2448, "eosinophil", "eosinophil"),
    Raw("MLL23", "hairy_cell", 3265, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("MLL23", "lymphocyte", 5532, "lymphocyte_typical", "lymphocyte_typical"),
    Raw("MLL23", "lymphocyte_large_granular", 1849, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("MLL23", "lymphocyte_neoplastic", 180, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("MLL23", "lymphocyte_reactive", 33, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("MLL23", "metamyelocyte", 483, "metamyelocyte", "metamyelocyte"),
    Raw("MLL23", "monocyte", 2510, "monocyte", "monocyte"),
    Raw("MLL23", "myeloblast", 8606, "myeloblast", "blast"),
    Raw("MLL23", "myelocyte", 747, "myelocyte", "myelocyte"),
    Raw("MLL23", "neutrophil_band", 687, "neutrophil_band", "neutrophil_band"),
    Raw("MLL23", "neutrophil_segmented", 7170, "neutrophil_segmented", "neutrophil_segmented"),
    Raw("MLL23", "normoblast", 2071, "erythroblast", "erythroblast"),
    Raw("MLL23", "plasma_cell", 1658, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("MLL23", "promyelocyte", 745, "promyelocyte", "promyelocyte"),
    Raw("MLL23", "promyelocyte_atypical", 2033, "promyelocyte", "promyelocyte"),
    Raw("MLL23", "smudge_cell", 988, "smudge_cell", "smudge_cell"),
    Raw("Matek19", "BAS", 79, "basophil", "basophil"),
    Raw("Matek19", "EBO", 78, "erythroblast", "erythroblast"),
    Raw("Matek19", "EOS", 424, "eosinophil", "eosinophil"),
    Raw("Matek19", "KSC", 15, "smudge_cell", "smudge_cell"),
    Raw("Matek19", "LYA", 11, "lymphocyte_atypical", "lymphocyte_atypical"),
    Raw("Matek19", "LYT", 3937, "lymphocyte_typical", "lymphocyte_typical"),
    Raw("Matek19", "MMZ", 15, "metamyelocyte", "metamyelocyte"),
    Raw("Matek19", "MOB", 26, "", "blast"),
    Raw("Matek19", "MON", 1789, "monocyte", "monocyte"),
    Raw("Matek19", "MYB", 42, "myelocyte", "myelocyte"),
    Raw("Matek19", "MYO", 3268, "myeloblast", "blast"),
    Raw("Matek19", "NGB", 109, "neutrophil_band", "neutrophil_band"),
    Raw("Matek19", "NGS", 8484, "neutrophil_segmented", "neutrophil_segmented"),
    Raw("Matek19", "PMB", 18, "promyelocyte", "promyelocyte"),
    Raw("Matek19", "PMO", 70, "promyelocyte", "promyelocyte"),
    Raw("Acevedo20", "basophil", 1218, "basophil"),
    Raw("Acevedo20", "eosinophil", 3117, "eosinophil"),
    Raw("Acevedo20", "erythroblast", 1551, "erythroblast"),
    Raw("Acevedo20", "lymphocyte", 1214, "lymphocyte_typical"),
    Raw("Acevedo20", "monocyte", 1420, "monocyte"),
    Raw("Acevedo20", "MMY", 1015, "metamyelocyte"),
    Raw("Acevedo20", "MY", 1137, "myelocyte"),
    Raw("Acevedo20", "PMY", 592, "promyelocyte"),
    Raw("Acevedo20", "IG", 151),
    Raw("Acevedo20", "BNE", 1633, "neutrophil_band"),
    Raw("Acevedo20", "SNE", 1646, "neutrophil_segmented"),
    Raw("Acevedo20", "NEUTROPHIL", 50),
    Raw("Acevedo20", "platelet", 2348),
    Raw("BMC", "ABE", 8, "", "eosinophil"),
    Raw("BMC", "ART", 19630),
    Raw("BMC", "BAS", 441, "", "basophil"),
    Raw("BMC", "BLA", 11973, "", "blast"),
    Raw("BMC", "EBO", 27395, "", "erythroblast"),
    Raw("BMC", "EOS", 5883, "", "eosinophil"),
    Raw("BMC", "FGC", 47),
    Raw("BMC", "HAC", 409, "", "lymphocyte_atypical"),
    Raw("BMC", "KSC", 42, "", "smudge_cell"),
    Raw("BMC", "LYI", 65),
    Raw("BMC", "LYT", 26242, "", "lymphocyte_typical"),
    Raw("BMC", "MMZ", 3055, "", "metamyelocyte"),
    Raw("BMC", "MON", 4040, "", "monocyte"),
    Raw("BMC", "MYB", 6557, "", "myelocyte", unusable=1),
    Raw("BMC", "NGB", 9968, "", "neutrophil_band"),
    Raw("BMC", "NGS", 29424, "", "neutrophil_segmented"),
    Raw("BMC", "NIF", 3538),
    Raw("BMC", "OTH", 294),
    Raw("BMC", "PEB", 2740, "", "erythroblast"),
    Raw("BMC", "PLM", 7629, "", "lymphocyte_atypical"),
    Raw("BMC", "PMO", 11994, "", "promyelocyte"),
)

#: Acevedo 2020 keeps sub-types in the file name: what stands before the underscore, for the folders that hold several.
PREFIXED: Final = {"ig": ("IG", "MMY", "MY", "PMY"), "neutrophil": ("BNE", "NEUTROPHIL", "SNE")}


def raw_labels(source: str) -> tuple[Raw, ...]:
    """The labels of one source.

    >>> [row.label for row in raw_labels("Acevedo20") if not row.peripheral_blood]
    ['IG', 'NEUTROPHIL', 'platelet']
    """
    return tuple(row for row in RAW if row.source == source)
