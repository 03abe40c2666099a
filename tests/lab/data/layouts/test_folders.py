"""The traps of the layouts with folders: what is pooled and dropped, and how the split is drawn."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist_lab.data.index import index
from recolorist_lab.data.layouts.folders import divide, held_out, kept_counts
from recolorist_lab.data.manifest import Entry
from tests.lab.fakes import blood
from tests.lab.fakes.parts import Fake, copied, picture

LaidOut = Callable[[str], tuple[Fake, Path]]


class TestEpistr:
    def test_train_and_test_folders_are_pooled_and_nch_is_ignored(self, laid_out: LaidOut) -> None:
        one, root = laid_out("epistr")
        paths = index(one.card, root).column("path")
        assert any(path.startswith("NKI/train/") for path in paths)
        assert any(path.startswith("NKI/test/") for path in paths)
        assert not any("NCH" in path for path in paths)
        assert (root / "NCH").is_dir()

    def test_a_folder_on_top_does_no_harm(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = laid_out("epistr")
        shutil.copytree(root, tmp_path / "root" / "EpiStr_archive")
        assert len(index(one.card, tmp_path / "root")) == len(index(one.card, root))


class TestBlood:
    def test_sub_types_come_from_the_name_and_are_not_confused(self, laid_out: LaidOut) -> None:
        """MY, MMY and PMY: a search for 'MY' would find all three."""
        one, root = laid_out("peripheral_blood")
        manifest = index(one.card, root)
        found = {entry.source_label: one.card.classes[entry.labels[0]] for entry in manifest if "/ig/" in entry.path}
        assert found == {"MMY": "metamyelocyte", "MY": "myelocyte", "PMY": "promyelocyte"}

    def test_monoblasts_are_dropped_here_and_blasts_there(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        dropped = {left.path: left.reason for left in index(one.card, root).facts.excluded}
        assert dropped["Matek19/MOB"] == "5 images of MOB, which is not part of this benchmark"
        other, place = laid_out("bone_marrow")
        kept = [entry for entry in index(other.card, place) if entry.source_label == "MOB"]
        assert {other.card.classes[entry.labels[0]] for entry in kept} == {"blast"}
        assert len(kept) == blood.PER_LABEL

    def test_the_unreadable_file_is_named(self, laid_out: LaidOut) -> None:
        one, root = laid_out("bone_marrow")
        broken = [left for left in index(one.card, root).facts.excluded if left.path == blood.BROKEN]
        assert len(broken) == 1
        assert "cannot be opened" in broken[0].reason

    def test_an_unknown_folder_is_said(self, laid_out: LaidOut, tmp_path: Path) -> None:
        one, root = copied(laid_out, "bone_marrow", tmp_path)
        picture(root / "BMC" / "XYZ" / "XYZ_00001.jpg", 3)
        reasons = {left.path: left.reason for left in index(one.card, root).facts.excluded}
        assert reasons["BMC/XYZ"] == "1 images of XYZ, which is no label of this source"

    def test_hidden_files_are_passed_over(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        assert not any("/." in path for path in index(one.card, root).column("path"))

    def test_the_split_does_not_change(self, laid_out: LaidOut) -> None:
        one, root = laid_out("peripheral_blood")
        held = [entry.path for entry in index(one.card, root) if entry.split == "val" and entry.domain == "MLL23"]
        assert len(held) == 18
        assert held[:2] == sorted(held)[:2]
        assert held == [entry.path for entry in index(one.card, root) if entry.split == "val" and entry.domain == "MLL23"]


class TestSplit:
    def test_shares_are_exact_and_the_rest_goes_to_the_largest_remainders(self) -> None:
        assert kept_counts({0: 3, 1: 3, 2: 4}, 0.2) == {0: 3, 1: 2, 2: 3}
        assert sum(kept_counts({0: 616, 1: 2448, 2: 33}, 0.2).values()) == 3097 - 620

    @pytest.mark.parametrize("seed", range(4))
    def test_every_class_is_on_both_sides(self, seed: int) -> None:
        labels = [0] * 40 + [1] * 25 + [2] * 10
        held = held_out(labels, "x", seed=seed)
        assert Counter(labels[place] for place in held) == Counter({0: 8, 1: 5, 2: 2})

    def test_names_and_seeds_draw_differently(self) -> None:
        labels = [0] * 100
        assert held_out(labels, "a") == held_out(labels, "a")
        assert held_out(labels, "a") != held_out(labels, "b")
        assert held_out(labels, "a") != held_out(labels, "a", seed=43)

    def test_domains_are_divided_each_on_its_own(self) -> None:
        rows = [Entry("x", "80/20", domain, f"{domain}/{number}", (0,)) for domain in "ab" for number in range(11)]
        done = divide([*rows, Entry("x", "test", "c", "c/0", (0,))])
        assert Counter((one.domain, one.split) for one in done) == Counter(
            {("a", "val"): 3, ("a", "train"): 8, ("b", "val"): 3, ("b", "train"): 8, ("c", "test"): 1}
        )
