"""The manifest: one schema, an order of its own, the same bytes for the same rows, and nothing that is not one is read."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recolorist import optional
from recolorist.collections.items import open_collection
from recolorist.collections.options import SourceOptions
from recolorist_lab.data.manifest import COLUMNS, Entry, Excluded, Facts, Manifest, ManifestError
from recolorist_lab.data.registry import card_of
from recolorist_lab.data.statistics import differences, entropy, imbalance, summary

FACTS = Facts("demo", "Demo", "multiclass", ("a", "b", "c"))
ENTRIES = [
    Entry("demo", "train", "north", "x/2.png", (0,), source_label="a", group="p1", bytes=10),
    Entry("demo", "train", "north", "x/10.png", (1,), box=(1, 2, 3, 4)),
    Entry("demo", "val", "mill", "stack.npy", (2,), row=10),
    Entry("demo", "val", "mill", "stack.npy", (2,), row=9),
    Entry("demo", "test", "äther", "y.png", (1,), source_label='with, "comma"'),
    Entry("demo", "id_val", "mill", "z.png", (0,)),
]


class TestRows:
    def test_every_field_comes_back(self, tmp_path: Path) -> None:
        again = Manifest.read(Manifest.of(ENTRIES, FACTS).write(tmp_path / "m.parquet"))
        assert sorted(again, key=lambda one: one.key) == sorted(ENTRIES, key=lambda one: one.key)
        assert again.facts == FACTS

    def test_the_order_is_by_domain_path_and_row(self) -> None:
        keys = [one.key for one in Manifest.of(ENTRIES, FACTS)]
        assert keys == ["stack.npy#9", "stack.npy#10", "z.png", "x/10.png", "x/2.png", "y.png"]

    def test_order_and_bytes_do_not_depend_on_how_they_came(self, tmp_path: Path) -> None:
        written = set()
        for seed in range(5):
            mixed = random.Random(seed).sample(ENTRIES, len(ENTRIES))
            written.add(Manifest.of(mixed, FACTS).write(tmp_path / "m.parquet").read_bytes())
        assert len(written) == 1

    def test_selecting(self) -> None:
        manifest = Manifest.of(ENTRIES, FACTS)
        assert [manifest[int(row)].key for row in manifest.rows("val")] == ["stack.npy#9", "stack.npy#10"]
        assert len(manifest.rows("train", "north")) == 2
        assert len(manifest.rows("train", "mill")) == 0
        assert len(manifest.rows()) == len(manifest) == 6

    def test_counts(self) -> None:
        manifest = Manifest.of(ENTRIES, FACTS)
        assert manifest.sizes() == {"train": 2, "val": 2, "test": 1, "id_val": 1}
        assert manifest.class_counts("train") == (1, 1, 0)
        assert manifest.class_counts("val") == (0, 0, 2)

    def test_several_labels_or_none(self, tmp_path: Path) -> None:
        entries = [Entry("m", "train", "d", f"{number}.png", labels) for number, labels in enumerate([(0, 2), (), (2,)])]
        manifest = Manifest.of(entries, replace(FACTS, task="multilabel"))
        again = Manifest.read(manifest.write(tmp_path / "m.parquet"))
        assert again.labels() == [(0, 2), (), (2,)]
        assert again.column("label") == ["0|2", "", "2"]
        assert again.class_counts("train") == (1, 0, 2)

    def test_the_library_reads_it_too(self, tmp_path: Path) -> None:
        """Columns are named as `recolorist bank build` names them."""
        path = Manifest.of([one for one in ENTRIES if one.row is None], FACTS).write(tmp_path / "m.parquet")
        with open_collection(path, SourceOptions(split="train")) as collection:
            assert [(item.label, item.domain) for item in collection.items] == [("1", "north"), ("0", "north")]


class TestRefused:
    @pytest.mark.parametrize(
        ("entry", "why"),
        [
            (Entry("demo", "train", "n", "x/2.png", (0,)), "listed twice"),
            (Entry("demo", "training", "n", "q.png", (0,)), "splits are train"),
            (Entry("demo", "train", "n", "q.png", (3,)), "there are 3 classes"),
            (Entry("demo", "train", "n", "q.png", (-1,)), "there are 3 classes"),
            (Entry("demo", "train", "n", "q.png", ()), "has 0 labels"),
            (Entry("demo", "train", "n", "q.png", (0, 1)), "has 2 labels"),
        ],
    )
    def test_rows(self, entry: Entry, why: str) -> None:
        with pytest.raises(ManifestError, match=why):
            Manifest.of([*ENTRIES, entry], FACTS)

    def test_other_files(self, tmp_path: Path) -> None:
        arrow: Any = optional.load("pyarrow", "test")
        parquet: Any = optional.load("pyarrow.parquet", "test")
        parquet.write_table(arrow.table({"path": ["a"]}), tmp_path / "other.parquet")
        with pytest.raises(ManifestError, match="is a Parquet file but not a manifest"):
            Manifest.read(tmp_path / "other.parquet")
        (tmp_path / "text.parquet").write_text("hello")
        with pytest.raises(ManifestError, match="cannot be read as a manifest"):
            Manifest.read(tmp_path / "text.parquet")
        with pytest.raises(
            ManifestError, match=r"the manifest .*absent\.parquet was not found; make one with .* --root or RECOLORIST_DATA"
        ):
            Manifest.read(tmp_path / "absent.parquet")

    def test_another_format(self) -> None:
        with pytest.raises(ManifestError, match="index the data again"):
            Facts.from_json('{"format": "recolorist.manifest/0"}')

    def test_a_lost_column(self, tmp_path: Path) -> None:
        parquet: Any = optional.load("pyarrow.parquet", "test")
        table = Manifest.of(ENTRIES, FACTS).table.drop_columns(["group"])
        parquet.write_table(table.replace_schema_metadata({"recolorist": FACTS.to_json()}), tmp_path / "m.parquet")
        with pytest.raises(ManifestError, match="has no column group"):
            Manifest.read(tmp_path / "m.parquet")

    @pytest.mark.parametrize("keep", [0, 4, 100, 1500])
    def test_a_cut_file(self, keep: int, tmp_path: Path) -> None:
        data = Manifest.of(ENTRIES, FACTS).write(tmp_path / "m.parquet").read_bytes()
        (tmp_path / "cut.parquet").write_bytes(data[:keep])
        with pytest.raises(ManifestError, match="cannot be read"):
            Manifest.read(tmp_path / "cut.parquet")


class TestFingerprint:
    @pytest.mark.parametrize(
        "change",
        [
            {"split": "test"},
            {"domain": "mill"},
            {"path": "x/3.png"},
            {"labels": (1,)},
            {"box": (0, 0, 1, 1)},
            {"bytes": 11},
            {"group": "p2"},
        ],
    )
    def test_it_changes_with_what_changes_a_result(self, change: dict[str, Any]) -> None:
        other = Manifest.of([replace(ENTRIES[0], **change), *ENTRIES[1:]], FACTS)
        assert other.fingerprint() != Manifest.of(ENTRIES, FACTS).fingerprint()

    def test_classes_count_and_remarks_do_not(self) -> None:
        manifest = Manifest.of(ENTRIES, FACTS)
        assert manifest.with_facts(classes=("a", "b", "d")).fingerprint() != manifest.fingerprint()
        remarked = manifest.with_facts(title="Other", complete=False, excluded=(Excluded("q", "lost"),), library="9.9")
        assert remarked.fingerprint() == manifest.fingerprint()

    def test_it_is_the_same_after_a_round_trip(self, tmp_path: Path) -> None:
        manifest = Manifest.of(ENTRIES, FACTS)
        assert Manifest.read(manifest.write(tmp_path / "m.parquet")).fingerprint() == manifest.fingerprint()


class TestStatistics:
    @pytest.mark.parametrize(
        ("counts", "ir", "h"),
        [([1, 1], 1.0, 1.0), ([159, 49], 3.2449, 0.7876), ([5445, 1115, 1195], 4.8834, 0.7422), ([7, 0], float("inf"), 0.0)],
    )
    def test_values(self, counts: list[int], ir: float, h: float) -> None:
        assert imbalance(counts) == pytest.approx(ir, abs=1e-4)
        assert entropy(counts) == pytest.approx(h, abs=5e-5)

    @pytest.mark.parametrize("counts", [[], [5], [0, 0]])
    def test_nothing_to_be_uncertain_about(self, counts: list[int]) -> None:
        assert entropy(counts) == 0.0

    def test_a_line_for_data_of_ones_own(self) -> None:
        line = summary(Manifest.of(ENTRIES, FACTS))
        assert (line.dataset, line.sizes, line.paper, line.agrees) == ("Demo", (2, 2, 1), None, None)

    def test_extra_splits_are_in_no_count(self) -> None:
        manifest = Manifest.of(ENTRIES, FACTS)
        without = Manifest.of([one for one in ENTRIES if one.split != "id_val"], FACTS)
        assert summary(manifest) == summary(without)

    def test_a_printed_ir_of_two_digits_is_met_within_half_a_digit(self) -> None:
        """96.625 is printed as 96.62."""
        card = card_of("chestmnist")
        line = summary(Manifest.of(ENTRIES, FACTS), card)
        want = (card.expected.train, card.expected.val, card.expected.test)
        good = replace(line, sizes=want, ir=96.625, entropy=0.86104)
        assert good.agrees is True
        assert replace(good, ir=96.626).agrees is False
        assert replace(good, entropy=0.8612).agrees is False

    def test_differences_are_sentences(self) -> None:
        card = card_of("ddi")
        found = differences(Manifest.of([Entry("ddi", "train", "FST12", "a.png", (0,))], Facts.of(card)), card)
        assert found[0] == "train has 1 images instead of 208"
        assert "train has 1 of 'benign' instead of 159" in found
        assert "test has 0 images instead of 207" in found


def test_columns_are_documented_by_the_entry() -> None:
    assert {name for name in COLUMNS if name != "label"} | {"labels"} == set(Entry.__slots__)
