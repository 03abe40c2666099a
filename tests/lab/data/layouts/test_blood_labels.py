"""The labels of the four haematology sources and what becomes of them."""

from __future__ import annotations

import pytest

from recolorist_lab.data.layouts.blood_labels import PREFIXED, RAW, raw_labels
from recolorist_lab.data.registry import card_of


@pytest.mark.parametrize(("source", "images"), [("MLL23", 41_621), ("Acevedo20", 17_092), ("Matek19", 18_365), ("BMC", 171_374)])
def test_counts_add_up_to_the_sources(source: str, images: int) -> None:
    assert sum(row.images for row in raw_labels(source)) == images


@pytest.mark.parametrize(
    ("benchmark", "sources"),
    [("peripheral_blood", ("MLL23", "Acevedo20", "Matek19")), ("bone_marrow", ("BMC", "Matek19", "MLL23"))],
)
def test_what_is_kept_gives_the_counts_of_the_paper(benchmark: str, sources: tuple[str, ...]) -> None:
    kept = sum(row.images - row.unusable for row in RAW if row.source in sources and getattr(row, benchmark))
    assert kept == sum(card_of(benchmark).expected.sizes.values())
    names = {getattr(row, benchmark) for row in RAW if row.source in sources} - {""}
    assert names == set(card_of(benchmark).classes)


def test_prefixes_are_labels() -> None:
    labels = {row.label for row in raw_labels("Acevedo20")}
    assert {prefix for prefixes in PREFIXED.values() for prefix in prefixes} <= labels
