"""The style bank: what it holds, what it opens, what is made from it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist import StyleBank
from recolorist import bank as package
from recolorist.errors import OptionError, StatisticsError

Images = NDArray[np.uint8]


def test_the_package_offers_the_class() -> None:
    assert package.StyleBank is StyleBank
    with pytest.raises(AttributeError, match="no attribute 'StileBank'"):
        _ = package.StileBank


class TestOpen:
    """A path or a bank is accepted wherever a bank is needed."""

    @pytest.fixture(params=["bank.rcb", "bank.npz", "bank.json", "BANK.JSON"])
    def path(self, tmp_path: Path, bank: StyleBank, request: pytest.FixtureRequest) -> Path:
        path: Path = tmp_path / request.param
        if path.suffix.lower() == ".json":
            path.write_text(bank.to_json(), "utf-8")
        else:
            bank.save(path)
        return path

    def test_either_file(self, path: Path, bank: StyleBank) -> None:
        for way in (path, str(path)):
            assert StyleBank.open(way).to_json() == bank.to_json()
            assert StyleBank.of(way).to_json() == bank.to_json()

    def test_a_bank_is_itself(self, bank: StyleBank) -> None:
        assert StyleBank.of(bank) is bank

    def test_colorist_takes_the_path(self, path: Path, bank: StyleBank, tiles: Images) -> None:
        by_path, by_bank = rc.Colorist(path, p=1.0, seed=1), rc.Colorist(bank, p=1.0, seed=1)
        np.testing.assert_array_equal(by_path(tiles[0], key="0"), by_bank(tiles[0], key="0"))
        assert by_path.bank.fingerprint == bank.fingerprint

    @pytest.mark.parametrize("wrong", [None, 3, b"bank.rcb", {"mean": []}, ["bank.rcb"], np.zeros((2, 3))])
    def test_anything_else_gets_a_sentence(self, wrong: Any) -> None:
        message = f"bank is a {type(wrong).__name__}; accepted are a StyleBank and the path of a saved one"
        with pytest.raises(OptionError, match=message):
            StyleBank.of(wrong)
        with pytest.raises(OptionError, match=message):
            rc.Colorist(wrong)

    @pytest.mark.parametrize("name", ["none.rcb", "none.json"])
    def test_a_missing_file_is_named(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(
            StatisticsError, match=f"{name} does not exist; check the path, or make the bank: `recolorist bank build"
        ):
            StyleBank.open(tmp_path / name)

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1]"])
    @pytest.mark.parametrize("name", ["bad.rcb", "bad.json"])
    def test_a_file_of_something_else_is_named(self, tmp_path: Path, name: str, content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StatisticsError, match=name):
            StyleBank.open(tmp_path / name)


class TestAverage:
    def test_mean_of_means_and_of_covariances(self, bank: StyleBank) -> None:
        average = bank.average()
        np.testing.assert_allclose(average.mean, bank.mean.mean(axis=0))
        np.testing.assert_allclose(average.cov, bank.cov.mean(axis=0))
        assert (average.count, average.data_range, average.space) == (6 * 13 * 17, 1.0, "rgb")

    def test_of_one_domain(self, bank: StyleBank) -> None:
        assert bank.average("b") == bank.subset(domain="b").average()
        with pytest.raises(OptionError, match="'a', 'b'"):
            bank.average("c")

    def test_one_image_is_its_own_average(self, bank: StyleBank) -> None:
        assert bank.subset(rows=[2]).average() == bank.moments(2)


class TestRows:
    def test_labels_domains_and_keys(self, bank: StyleBank) -> None:
        assert [(bank.keys[i], bank.label(i), bank.domain(i)) for i in (0, 5)] == [("0", "x", "a"), ("5", "y", "b")]
        assert (bank.row_of("3"), bank.row_of("9"), bank.channels) == (3, None, 3)

    def test_unknown_names_are_none(self, tiles: Images) -> None:
        bank = StyleBank.build(tiles[:2], labels=[None, "x"])
        assert (bank.label(0), bank.domain(0), bank.labels) == (None, None, ("x",))

    def test_groups_are_by_domain_or_label(self, bank: StyleBank) -> None:
        assert bank.groups("domain") is bank.groups("domain")
        assert bank.groups("label").order.tolist() == [0, 2, 4, 1, 3, 5]
        with pytest.raises(OptionError, match="by='hospital'"):
            bank.groups("hospital")

    def test_deviations_are_roots_of_variances(self, bank: StyleBank) -> None:
        np.testing.assert_allclose(bank.std[1], bank.moments(1).std)

    def test_the_fingerprint_is_of_the_numbers(self, tiles: Images, bank: StyleBank) -> None:
        assert StyleBank.build(tiles, keys=list("abcdef")).fingerprint == bank.fingerprint
        assert StyleBank.build(tiles[::-1]).fingerprint != bank.fingerprint

    def test_the_log_line(self, bank: StyleBank) -> None:
        assert repr(bank) == "StyleBank(6 styles, 2 domains, 2 labels, demo, split 'train')"

    def test_a_copy_holds_the_same(self, bank: StyleBank) -> None:
        assert copy.deepcopy(bank).to_json() == bank.to_json()


class TestAlgebra:
    def test_subset(self, bank: StyleBank) -> None:
        assert bank.subset(domain="b", label="y").keys == ("3", "5")
        assert bank.subset(rows=[4, 0]).keys == ("4", "0")
        with pytest.raises(OptionError, match="'a', 'b'"):
            bank.subset(domain="c")

    @pytest.mark.parametrize("rows", [[6], [-7], [0, 0], [0, -6], [0.5], [True, False], [[0]]])
    def test_rows_that_do_not_exist_or_repeat_are_refused(self, bank: StyleBank, rows: Any) -> None:
        with pytest.raises(OptionError, match="row"):
            bank.subset(rows=rows)

    def test_rows_combine_with_conditions(self, bank: StyleBank) -> None:
        assert bank.subset(domain="b", rows=[-1, 0, 3]).keys == ("5", "3")
        assert bank.subset(rows=np.arange(6) % 2 == 0).keys == ("0", "2", "4")
        with pytest.raises(StatisticsError, match="no style is left"):
            bank.subset(domain="b", rows=[0])

    def test_a_subset_keeps_all_that_is_known(self, tiles: Images) -> None:
        bank = StyleBank.build(tiles, name="n", split="val", preprocessing="p", with_histograms=True, domains=list("aabbcc"))
        part = bank.subset(rows=[5, 1])
        assert (part.name, part.split, part.preprocessing, part.size) == ("n", "val", "p", (13, 17))
        assert (part.domain(0), part.domain(1), part.domains) == ("c", "a", ("a", "c"))
        assert bank.histograms is not None
        np.testing.assert_array_equal(part.histograms, bank.histograms[[5, 1]])

    def test_merge_keeps_rows_and_resolves_keys(self, bank: StyleBank) -> None:
        both = bank.subset(domain="a").merge(bank.subset(domain="b"))
        assert both.fingerprint == bank.fingerprint
        doubled = bank.merge(bank)
        assert len(doubled) == len(set(doubled.keys)) == 12

    def test_merge_refuses_to_hide_a_split(self, tiles: Images, bank: StyleBank) -> None:
        with pytest.raises(StatisticsError, match="different splits"):
            bank.merge(StyleBank.build(tiles, split="test"))

    def test_outliers_go(self, tiles: Images) -> None:
        failed = np.full((13, 17, 3), 250, np.uint8)
        failed[::2, :, 0] = 0
        bank = StyleBank.build([*tiles[:3], *tiles[:3], failed])
        assert bank.outliers().tolist() == [6]
        assert len(bank.drop_outliers()) == 6
        assert bank.drop_outliers(1e9).keys == bank.keys

    def test_summary_counts(self, bank: StyleBank) -> None:
        summary = bank.summary()
        assert summary["labels"] == {"x": 3, "y": 3}
        assert summary["domains"]["b"]["mean"][0] > summary["domains"]["a"]["mean"][0]
        assert json.loads(json.dumps(summary))["styles"] == 6

    def test_arrays_cannot_be_written(self, bank: StyleBank) -> None:
        with pytest.raises(ValueError, match="read-only"):
            bank.mean[0] = 0

    def test_histograms_cannot_be_written(self) -> None:
        counts = np.zeros((1, 3, 256), np.uint32)
        bank = StyleBank(np.full((1, 3), 0.5), np.zeros((1, 3, 3)), np.array([4]), ["a"], histograms=counts)
        assert bank.histograms is not None
        with pytest.raises(ValueError, match="read-only"):
            bank.histograms[0] = 1
        counts[0] = 1  # the caller's own array stays writable


@pytest.mark.parametrize("split", ["val", "validation", "test"])
def test_only_training_styles_train(tiles: Images, split: str) -> None:
    held_out = StyleBank.build(tiles, split=split)
    with pytest.raises(OptionError, match="leak"):
        rc.Colorist(held_out)
    assert rc.Colorist(held_out, allow_split=True).bank is held_out
