"""Labels and domains: names, codes and the rows of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recolorist.bank.names import Groups, decode_names, encode_names, find_code, find_patients, format_name, format_names
from recolorist.errors import OptionError, StatisticsError


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (3, "3"), (np.int64(3), "3"), (np.array([1, 0, 1]), "1+0+1"), (np.array([[2]]), "2"), (None, None), ("", "")],
)
def test_names_come_in_many_forms(value: Any, text: str | None) -> None:
    assert format_name(value) == text


def test_tensors_are_names_like_numbers() -> None:
    torch = pytest.importorskip("torch")
    assert format_name(torch.tensor([4])) == "4"


def test_no_names_at_all_are_none() -> None:
    assert format_names(None) is None
    assert format_names([None, None]) is None
    assert format_names([None, 1]) == [None, "1"]


def test_codes_return_the_names() -> None:
    names = ["b", None, "a", "b", None]
    codes, table = encode_names(names, 5)
    assert (codes.tolist(), table) == ([1, -1, 0, 1, -1], ("a", "b"))
    assert decode_names(codes, table) == names


def test_as_many_names_as_rows() -> None:
    with pytest.raises(StatisticsError, match="2 labels or domains for 3 images"):
        encode_names(["a", "b"], 3)


def test_codes_outside_the_table_are_refused() -> None:
    with pytest.raises(IndexError):
        decode_names(np.array([5]), ("a",))


def test_an_unknown_name_lists_the_known_ones() -> None:
    assert find_code("b", ("a", "b"), "label") == 1
    with pytest.raises(OptionError, match="no style has domain 'c'; the bank has 'a', 'b'"):
        find_code("c", ("a", "b"), "domain")
    with pytest.raises(OptionError, match="the bank has none"):
        find_code("c", (), "domain")


class TestGroups:
    def test_rows_of_a_group_keep_their_order(self) -> None:
        groups = Groups.of(np.array([2, -1, 2, 0, -1], np.int32))
        members = {code: groups.order[slice(*groups.bounds(code))].tolist() for code in (-1, 0, 2)}
        assert members == {-1: [1, 4], 0: [3], 2: [0, 2]}

    def test_a_code_that_is_not_there_has_no_rows(self) -> None:
        groups = Groups.of(np.array([2, 0], np.int32))
        assert [groups.bounds(code) for code in (-1, 1, 3)] == [(0, 0)] * 3

    def test_every_row_is_in_one_group(self) -> None:
        codes = np.array([2, -1, 0, 2, 2, 0, -1], np.int32)
        groups = Groups.of(codes)
        rows = {code: groups.order[slice(*groups.bounds(code))].tolist() for code in (-1, 0, 1, 2)}
        assert rows == {-1: [1, 6], 0: [2, 5], 1: [], 2: [0, 3, 4]}
        assert sorted(row for group in rows.values() for row in group) == list(range(7))

    def test_no_rows_have_no_groups(self) -> None:
        assert Groups.of(np.zeros(0, np.int32)).bounds(0) == (0, 0)


class TestPatients:
    KEYS = ("p1_a.png", "p1_b.png", "p22_a.png")

    def test_the_first_group_is_the_patient(self) -> None:
        assert find_patients(self.KEYS, r"^(p\d+)_").tolist() == ["p1", "p1", "p22"]

    def test_without_a_group_it_is_all_that_matches(self) -> None:
        assert find_patients(self.KEYS, r"p\d+").tolist() == ["p1", "p1", "p22"]

    def test_a_group_that_took_no_part_is_an_empty_name(self) -> None:
        assert find_patients(["x.png", "y7.png"], r"[xy](\d+)?").tolist() == ["", "7"]

    def test_a_key_without_it_is_named(self) -> None:
        with pytest.raises(OptionError, match=r"is not in the key 'other\.png'; give a regular expression that every key has"):
            find_patients([*self.KEYS, "other.png"], r"^(p\d+)_")

    def test_no_regular_expression_is_refused(self) -> None:
        with pytest.raises(OptionError, match="patients="):
            find_patients(self.KEYS, "(")
