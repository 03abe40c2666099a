"""The content of a bank as arrays: rows stacked, chosen and merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recolorist.bank.making import LeftOut
from recolorist.bank.table import (
    BankTable,
    Row,
    join_triangles,
    leave_out_blank,
    merge_tables,
    refuse_bad_arrays,
    resolve_rows,
    split_triangles,
    stack_rows,
    take_rows,
)
from recolorist.errors import ImageError, OptionError, StatisticsError


def row(level: float = 0.5, size: tuple[int, int] = (4, 5), histogram: Any = None) -> Row:
    return Row([level], [[0.1]], 20, size, histogram)


def table(*keys: str, **facts: Any) -> BankTable:
    return stack_rows([row(i / 10) for i in range(len(keys))], keys, **facts)


class TestStack:
    def test_rows_become_arrays(self) -> None:
        made = stack_rows([row(0.1), row(0.2)], ["a", "b"], [1, None], name="n", split="val", preprocessing="p")
        assert (made.mean.tolist(), made.cov.shape, made.pixels.tolist()) == ([[0.1], [0.2]], (2, 1, 1), [20, 20])
        assert (made.labels, made.domains, made.size, made.split) == (["1", None], None, (4, 5), "val")

    @pytest.mark.parametrize("count", [1, 3])
    @pytest.mark.parametrize("kind", ["keys", "labels", "domains"])
    def test_one_name_for_each_image(self, kind: str, count: int) -> None:
        """Fewer ended in an IndexError; more were cut off, so that a list of other images gave wrong labels."""
        names: dict[str, Any] = {"keys": ["a", "b"]} | {kind: list("abc"[:count])}
        with pytest.raises(OptionError, match=f"there are {count} {kind} for 2 images; give one for each"):
            stack_rows([row(0.1), row(0.2)], **names)

    def test_a_linear_space_is_measured_in_rgb(self) -> None:
        assert table("a", space="ycbcr").space == "rgb"
        assert table("a", space="lab").space == "lab"
        with pytest.raises(OptionError, match="space"):
            table("a", space="cmyk")

    def test_histograms_are_stacked_if_the_rows_have_them(self) -> None:
        counts = np.zeros((1, 256), np.uint32)
        made = stack_rows([row(histogram=counts)] * 2, ["a", "b"]).histograms
        assert made is not None
        assert made.shape == (2, 1, 256)

    def test_nothing_is_refused(self) -> None:
        with pytest.raises(ImageError):
            stack_rows([], [])


class TestRows:
    def test_chosen_rows_keep_their_order(self) -> None:
        taken = take_rows(table("a", "b", "c", labels=["x", "y", "z"]), np.array([2, 0]))
        assert (taken.keys, taken.labels, taken.domains, taken.mean[:, 0].tolist()) == (["c", "a"], ["z", "x"], None, [0.2, 0.0])

    def test_no_row_left_is_refused(self) -> None:
        with pytest.raises(StatisticsError, match="no style is left"):
            take_rows(table("a"), np.zeros(0, np.int64))

    @pytest.mark.parametrize(
        ("rows", "numbers"),
        [
            ([2, 0], [2, 0]),
            ([-1, -3], [2, 0]),
            (np.array([1], np.uint8), [1]),
            ([False, True, True], [1, 2]),
            ([], []),
            ((), []),
            (range(3), [0, 1, 2]),
        ],
    )
    def test_rows_in_every_form(self, rows: Any, numbers: list[int]) -> None:
        found = resolve_rows(rows, 3)
        assert found.dtype == np.int64
        assert found.tolist() == numbers

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([3], "from 3 to 3; the bank has rows 0 to 2"),
            ([-4], "from -4 to -4"),
            ([0, 0], "twice"),
            ([2, -1], "twice"),
            ([0.0], "whole numbers"),
            (["a"], "whole numbers"),
            ([[0]], "whole numbers"),
            (0, "whole numbers"),
            ([True, False], "3 truth values"),
        ],
    )
    def test_rows_that_do_not_exist_or_repeat_are_refused(self, rows: Any, message: str) -> None:
        with pytest.raises(OptionError, match=message):
            resolve_rows(rows, 3)


class TestMerge:
    def test_rows_follow_each_other(self) -> None:
        both = merge_tables([table("a", "b", labels=["x", "y"], name="n"), table("c", domains=["s"], name="m")])
        assert (list(both.keys), both.labels, both.domains) == (["a", "b", "c"], ["x", "y", None], [None, None, "s"])
        assert (both.name, both.size, both.mean.shape) == ("n+m", (4, 5), (3, 1))

    @pytest.mark.parametrize(
        ("names", "keys"),
        [(("n", "m"), ["n/a", "m/a"]), (("n", "n"), ["0/a", "1/a"]), (("n", ""), ["0/a", "1/a"])],
    )
    def test_keys_that_collide_get_a_prefix(self, names: tuple[str, str], keys: list[str]) -> None:
        assert merge_tables([table("a", name=name) for name in names]).keys == keys

    def test_a_key_of_a_blank_image_is_not_that_of_a_style_elsewhere(self) -> None:
        """The blank image had the row of the other bank's style of this key, and its label."""
        first = table("a", name="n")._replace(left_out=(LeftOut("b", "x"),))
        both = merge_tables([first, table("b", name="m")])
        assert (both.keys, both.left_out) == (["n/a", "m/b"], (LeftOut("n/b", "x"),))

    def test_sizes_and_preparations_that_differ(self) -> None:
        other = stack_rows([row(size=(9, 9))], ["b"], preprocessing="resize 9")
        both = merge_tables([table("a", preprocessing="crop"), other])
        assert (both.size, both.preprocessing) == (None, "crop | resize 9")

    def test_histograms_survive_if_all_have_them(self) -> None:
        counts = np.zeros((1, 256), np.uint32)
        having = stack_rows([row(histogram=counts)], ["a"])
        assert merge_tables([having, table("b")]).histograms is None
        both = merge_tables([having, having]).histograms
        assert both is not None
        assert both.shape == (2, 1, 256)

    def test_what_does_not_belong_together_is_refused(self) -> None:
        colour = stack_rows([Row([0.1] * 3, [[0.0] * 3] * 3, 4, (2, 2))], ["b"])
        with pytest.raises(StatisticsError, match="channels or colour space"):
            merge_tables([table("a"), colour])
        with pytest.raises(StatisticsError, match="channels or colour space"):
            merge_tables([colour, colour._replace(space="lab")])
        with pytest.raises(StatisticsError, match="different splits"):
            merge_tables([table("a", split="train"), table("b", split="test")])


class TestArrays:
    mean, cov, pixels = np.full((2, 3), 0.5), np.stack([np.eye(3)] * 2), np.array([4, 4])

    def refuse(self, **changes: Any) -> None:
        arrays: dict[str, Any] = {
            "mean": self.mean,
            "cov": self.cov,
            "pixels": self.pixels,
            "keys": ["a", "b"],
            "histograms": None,
        }
        refuse_bad_arrays(**(arrays | changes))

    def test_good_arrays_pass(self) -> None:
        self.refuse()
        self.refuse(histograms=np.zeros((2, 3, 256), np.uint32))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"mean": np.zeros((2, 4))}, "shapes are"),
            ({"mean": np.zeros(6)}, "shapes are"),
            ({"pixels": np.array([4])}, "shapes are"),
            ({"keys": []}, "at least one style"),
            ({"keys": ["a", "a"]}, "share a key"),
            ({"mean": np.full((2, 3), np.nan)}, "finite"),
            ({"cov": np.full((2, 3, 3), np.inf)}, "finite"),
            ({"cov": -np.stack([np.eye(3)] * 2)}, "positive"),
            ({"pixels": np.array([4, 0])}, "positive"),
            ({"cov": np.stack([np.triu(np.ones((3, 3)))] * 2)}, "symmetric"),
            ({"histograms": np.zeros((2, 3, 255), np.uint32)}, "histograms have shape"),
        ],
    )
    def test_bad_ones_do_not(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(StatisticsError, match=message):
            self.refuse(**changes)


@pytest.mark.parametrize("channels", [1, 2, 3, 5])
def test_triangles_hold_the_whole_matrix(channels: int) -> None:
    half = np.random.default_rng(channels).random((4, channels, channels))
    cov = half + half.swapaxes(1, 2)
    triangles = split_triangles(cov)
    assert triangles.shape == (4, channels * (channels + 1) // 2)
    np.testing.assert_array_equal(join_triangles(triangles), cov)


class TestBlank:
    """Leaving out the blank styles of a bank that was made before there was a rule for them."""

    @staticmethod
    def table(*deviations: float, **facts: Any) -> BankTable:
        count = len(deviations)
        cov = np.array([np.eye(3) * deviation**2 for deviation in deviations])
        names = [chr(97 + i) for i in range(count)]
        return BankTable(np.full((count, 3), 0.5), cov, np.full(count, 100), names, [f"L{name}" for name in names], **facts)

    def test_the_others_stay_in_order_and_the_blank_ones_are_named(self) -> None:
        left = leave_out_blank(self.table(0.2, 0.001, 0.1, 0.0))
        assert list(left.keys) == ["a", "c"]
        assert left.labels == ["La", "Lc"]
        assert [entry.key for entry in left.left_out] == ["b", "d"]
        assert [entry.label for entry in left.left_out] == ["Lb", "Ld"]
        assert left.blank == "left out"

    def test_those_left_out_before_stay_named(self) -> None:
        left = leave_out_blank(self.table(0.2, 0.0, left_out=(LeftOut("z"),)))
        assert [entry.key for entry in left.left_out] == ["z", "b"]

    def test_without_blank_styles_nothing_changes(self) -> None:
        table = self.table(0.2, 0.1)
        assert leave_out_blank(table) is table

    def test_of_another_space_nothing_is_known(self) -> None:
        table = self.table(0.2, 0.0, space="lab")
        assert leave_out_blank(table) is table

    def test_a_bank_of_blank_styles_only_is_refused(self) -> None:
        with pytest.raises(StatisticsError, match="all 2 styles of the bank are blank"):
            leave_out_blank(self.table(0.0, 0.001))
