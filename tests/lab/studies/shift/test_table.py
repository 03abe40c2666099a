"""Tables of the shift study."""

from __future__ import annotations

import pytest

from recolorist_lab.report.table import GAP, Number, Range
from recolorist_lab.studies.shift.table import gains_table, targets_table
from tests.lab.studies.shift.kit import rows


def test_methods_are_ordered_by_gain_and_the_baseline_comes_first() -> None:
    table = gains_table(rows())
    assert [line[0] for line in table.rows] == ["no augmentation", "Colorist", "camera"]
    _, unseen, gain, interval, better, sign, harmonised, gated, source, at_source = table.rows[1]
    assert isinstance(gain, Number)
    assert isinstance(interval, Range)
    assert isinstance(sign, Number)
    assert isinstance(at_source, Number)
    assert gain.value == pytest.approx(10.0)
    assert (interval.low, interval.high) == pytest.approx((10.0, 10.0))
    assert better == "6 of 6"
    assert sign.value == pytest.approx(2 * 2 / 2**6)  # six of six, twice as likely in either direction, two methods
    assert at_source.value == pytest.approx(-1.0)
    assert gated is GAP
    for value, wanted in ((unseen, 70.5), (harmonised, 72.5), (source, 89.0)):
        assert isinstance(value, Number)
        assert value.value == pytest.approx(wanted)


def test_one_line_for_each_target() -> None:
    table = targets_table(rows(), ["Baseline", "camera"], "head")
    assert [line[0] for line in table.rows] == ["a", "b", "c"]
    value = table.rows[0][2]
    assert isinstance(value, Number)
    assert value.value == pytest.approx(64.5)
