"""Tables as typed values."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.table import GAP, Column, Digits, Number, Range, Strong, Table, label, text_of

COLUMN = Column("MM", digits=Digits(3))


@pytest.mark.parametrize(
    ("digits", "value", "text"),
    [
        (Digits(2), 0.005, "0.01"),
        (Digits(3, "significant"), 0.0277, "0.0277"),
        (Digits(3, "significant"), 132.2, "132"),
        (Digits(4, "significant"), 32637.4, "32,640"),
        (Digits(2, "ratio"), 0.5, "0.5"),
        (Digits(2, "ratio"), 8363.0, "8,360"),
        (Digits(4, "p"), 0.0195, "0.0195"),
        (Digits(4, "p"), 0.000488, "4.88e-04"),
    ],
)
def test_digits(digits: Digits, value: float, text: str) -> None:
    assert digits.text(value) == text


def test_a_number_with_everything() -> None:
    number = Number(0.5125, 0.0071, beside=Number(0.79, digits=Digits(2)), mark="†")
    assert text_of(number, COLUMN) == "0.512 ± 0.007 [0.79] †"
    assert text_of(Number(12.345, unit="%"), COLUMN) == "12.345 %"
    assert text_of(Number(None, 0.1, unit="%", beside=Number(0.5)), COLUMN) == "— [0.500]"


def test_other_cells() -> None:
    assert text_of(Range(0.1, 0.25), COLUMN) == "0.100 – 0.250"
    assert text_of((Strong("the paper:"), " PathMNIST"), COLUMN) == "the paper: PathMNIST"
    assert (text_of(400, COLUMN), text_of("words", COLUMN), text_of(GAP, COLUMN)) == ("400", "words", "—")


def test_whether_a_deviation_is_shown() -> None:
    columns = (label("method"), COLUMN)
    assert not Table(columns, [("a", Number(0.5))]).has_spread
    assert Table(columns, [("a", Number(0.5, 0.1))]).has_spread
    assert Table(columns, [("a", Number(0.5, beside=Number(0.4, 0.1)))]).has_spread


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(OptionError, match="2 cells"):
        Table((label("a"), label("b")), [["1"]])
