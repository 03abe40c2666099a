"""The cards: complete, consistent with themselves, and equal to the paper where the paper's numbers can be recomputed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from recolorist_lab.data.cards import SPLITS, Card
from recolorist_lab.data.describe import describe_card
from recolorist_lab.data.layouts.blood_labels import PREFIXED, RAW, raw_labels
from recolorist_lab.data.layouts.folders import kept_counts
from recolorist_lab.data.registry import CARDS, card_of
from recolorist_lab.data.statistics import entropy, imbalance

NINETEEN = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS.keys())
PRINTED = {  # the paper's table of datasets
    "camelyon17": (2, 302_436, 34_904, 85_054, 1.00, 1.0000),
    "epistr": (2, 8_337, 5_920, 1_376, 1.42, 0.9783),
    "peripheral_blood": (13, 44_930, 11_234, 18_339, 8.93, 0.9270),
    "bone_marrow": (13, 147_799, 18_365, 41_621, 717.50, 0.8440),
    "fitzpatrick17k": (3, 7_755, 6_089, 2_168, 4.88, 0.7422),
    "ddi": (2, 208, 241, 207, 3.24, 0.7876),
    "retina": (5, 4_862, 455, 1_744, 5.22, 0.8665),
    "pathmnist": (9, 89_996, 10_004, 7_180, 1.63, 0.9943),
    "chestmnist": (14, 78_468, 11_219, 22_433, 96.62, 0.8610),
    "dermamnist": (7, 7_007, 1_003, 2_005, 58.66, 0.5808),
    "octmnist": (4, 97_477, 10_832, 1_000, 5.94, 0.8361),
    "pneumoniamnist": (2, 4_708, 524, 624, 2.88, 0.8235),
    "retinamnist": (5, 1_080, 120, 400, 7.36, 0.8744),
    "breastmnist": (2, 546, 78, 156, 2.71, 0.8404),
    "bloodmnist": (8, 11_959, 1_712, 3_421, 2.74, 0.9632),
    "tissuemnist": (8, 165_466, 23_640, 47_280, 9.05, 0.8675),
    "organamnist": (11, 34_561, 6_491, 17_778, 4.54, 0.9568),
    "organcmnist": (11, 12_975, 2_392, 8_216, 5.02, 0.9496),
    "organsmnist": (11, 13_932, 2_452, 8_827, 5.64, 0.9314),
}


def test_the_order_is_the_papers() -> None:
    assert list(CARDS) == list(PRINTED)


@NINETEEN
def test_what_is_printed(card: Card) -> None:
    want = card.expected
    assert (len(card.classes), want.train, want.val, want.test, want.ir, want.entropy) == PRINTED[card.key]


@NINETEEN
def test_class_counts_give_the_printed_figures(card: Card) -> None:
    counts = card.expected.classes("train")
    if counts is None:
        assert card.key in ("camelyon17", "epistr", "organcmnist"), "only these are not known"
        return
    assert len(counts) == len(card.classes)
    assert abs(imbalance(counts) - card.expected.ir) <= 0.005 + 1e-9
    assert f"{entropy(counts):.4f}" == f"{card.expected.entropy:.4f}"


@NINETEEN
def test_class_counts_sum_to_the_sizes(card: Card) -> None:
    for split in SPLITS:
        counts = card.expected.classes(split)
        if counts is not None and not card.multilabel:
            assert sum(counts) == card.expected.sizes[split]


def test_chestmnist_counts_positives() -> None:
    assert sum(card_of("chestmnist").expected.classes("train") or ()) == 56_500


@NINETEEN
def test_nothing_is_left_blank(card: Card) -> None:
    assert card.title
    assert card.split_rule
    assert card.expected.status
    assert len(set(card.classes)) == len(card.classes)
    assert len(set(card.domains)) == len(card.domains)
    for source in card.sources:
        assert source.page.startswith("https://")
        assert source.licence
        assert source.layout
        assert source.files or source.request, "there must be a way to get it"
        assert (source.access == "open") == source.complete


@NINETEEN
def test_files_have_safe_names_and_pins_of_known_kinds(card: Card) -> None:
    for file in card.files:
        assert file.url.startswith("https://")
        assert ".." not in Path(file.name).parts
        assert not Path(file.name).is_absolute()
        assert file.checksum is None or re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", file.checksum)
        assert file.bytes is None or file.bytes > 1000


def test_every_medmnist_archive_is_pinned() -> None:
    archives = [file for card in CARDS.values() if card.layout == "medmnist" for file in card.files]
    assert len(archives) == 12
    assert len({file.checksum for file in archives}) == 12
    assert [file.name for file in archives if file.bytes is None] == ["chestmnist_224.npz"]


@NINETEEN
def test_a_card_can_be_read(card: Card) -> None:
    text = describe_card(card)
    assert card.split_rule in text
    assert all(source.licence in text for source in card.sources)
    assert all(name in text for name in card.classes)
    assert max(map(len, text.splitlines())) < 260


class TestBlood:
    """The arithmetic by which the haematology benchmarks are made of their sources."""

    def test_totals_of_the_sources(self) -> None:
        totals = {source: sum(row.images for row in raw_labels(source)) for source in ("MLL23", "Matek19", "Acevedo20", "BMC")}
        assert totals == {"MLL23": 41_621, "Matek19": 18_365, "Acevedo20": 17_092, "BMC": 171_374}

    def test_every_label_leads_to_a_class_or_nowhere(self) -> None:
        for row in RAW:
            assert row.peripheral_blood in ("", *card_of("peripheral_blood").classes)
            assert row.bone_marrow in ("", *card_of("bone_marrow").classes)
        assert len({(row.source, row.label) for row in RAW}) == len(RAW)

    def _counts(self, source: str, benchmark: str) -> Counter[int]:
        classes = card_of(benchmark).classes
        counts: Counter[int] = Counter()
        for row in raw_labels(source):
            if name := getattr(row, benchmark):
                counts[classes.index(name)] += row.images - row.unusable
        return counts

    def test_bone_marrow(self) -> None:
        want = card_of("bone_marrow").expected
        for split, source in zip(SPLITS, ("BMC", "Matek19", "MLL23"), strict=True):
            counts = self._counts(source, "bone_marrow")
            assert tuple(counts[number] for number in range(13)) == want.classes(split)

    def test_peripheral_blood(self) -> None:
        want = card_of("peripheral_blood").expected
        train: Counter[int] = Counter()
        every: Counter[int] = Counter()
        for source in ("MLL23", "Acevedo20"):
            counts = self._counts(source, "peripheral_blood")
            train.update(kept_counts(counts, 0.2))
            every.update(counts)
        assert tuple(train[number] for number in range(13)) == want.classes("train")
        assert tuple(every[number] - train[number] for number in range(13)) == want.classes("val")
        test = self._counts("Matek19", "peripheral_blood")
        assert tuple(test[number] for number in range(13)) == want.classes("test")

    def test_one_joint_split_would_give_another_size(self) -> None:
        together = sum((self._counts(source, "peripheral_blood") for source in ("MLL23", "Acevedo20")), Counter())
        assert sum(together.values()) - sum(kept_counts(together, 0.2).values()) == 11_233

    def test_prefixes_are_labels(self) -> None:
        known = {row.label for row in raw_labels("Acevedo20")}
        assert {label for labels in PREFIXED.values() for label in labels} <= known


class TestRetina:
    def test_the_patients_grade_gives_the_papers_figures_and_the_eyes_does_not(self) -> None:
        aptos = (1805, 370, 999, 193, 295)
        patient = [a + b for a, b in zip(aptos, (360, 240, 240, 240, 120), strict=True)]
        eye = [a + b for a, b in zip(aptos, (540, 140, 234, 214, 72), strict=True)]
        want = card_of("retina").expected
        assert tuple(patient) == want.classes("train")
        assert (round(imbalance(patient), 2), round(entropy(patient), 4)) == (want.ir, want.entropy)
        assert (round(imbalance(eye), 2), round(entropy(eye), 4)) == (6.39, 0.8319)


def test_camelyon17_adds_up() -> None:
    hospitals = {0: 53_425 + 6_011, 1: 34_904, 2: 85_054, 3: 116_959 + 12_879, 4: 132_052 + 14_670}
    want = card_of("camelyon17").expected
    assert sum(hospitals.values()) == 455_954
    assert want.train == 53_425 + 116_959 + 132_052
    assert (want.val, want.test) == (hospitals[1], hospitals[2])


def test_epistr_class_counts_can_only_be_two() -> None:
    """Which counts print as IR 1.42 and H 0.9783."""
    want = card_of("epistr").expected
    fits = [
        (one, want.train - one)
        for one in range(want.train // 2 + 1, want.train)
        if f"{imbalance([one, want.train - one]):.2f}" == "1.42" and f"{entropy([one, want.train - one]):.4f}" == "0.9783"
    ]
    assert fits == [(4889, 3448), (4890, 3447)]


def test_unknown_names_are_errors_that_list_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'PathMNIST' is not a dataset of the study; choose from camelyon17"):
        card_of("PathMNIST")
