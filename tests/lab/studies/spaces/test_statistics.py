"""Tests of significance between colour spaces and methods."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces.table import (
    SpaceScores,
)
from tests.lab.studies.spaces.kit import full


class TestSignificance:
    def test_tests_are_those_of_the_samples(self) -> None:
        from recolorist_lab.report.stats import wilcoxon

        rows = full(9)
        found = spaces_statistics.significance(SpaceScores.of(rows))
        rgb, hed = (
            [one["result.artfid"] for one in rows if (one["space"], one["method"]) == (space, "mean_std")]
            for space in ("rgb", "hed")
        )
        against = next(one for one in found.spaces if one.against == "hed")
        assert against.test.p == wilcoxon(rgb, hed).p == found.smallest == 2 / 2**9
        assert against.bonferroni == pytest.approx(5 * against.test.p)
        assert found.friedman["rgb"].ranks == {"mean_std": 1.0, "histogram": 2.0, "exact_histogram": 3.0}
        assert found.friedman_all["rgb"].df == 3
        assert len(found.methods) == 6 * 3

    def test_what_is_equal_by_algebra_is_a_tie_in_spite_of_last_bits(self) -> None:
        rows = full(6)
        for one in rows:
            if one["space"] == "yuv":
                one["result.artfid"] += 1e-9
        found = spaces_statistics.significance(SpaceScores.of(rows))
        assert [name for name in ("YCbCr", "YPbPr", "YUV", "YDbDr") if name in found.ranks.ranks] == ["YCbCr"]

    def test_tables_have_a_line_for_every_test(self) -> None:
        found = spaces_statistics.significance(SpaceScores.of(full(9)))
        assert len(markdown(spaces_statistics.friedman_table(found)).splitlines()) == 2 + 6
        assert len(markdown(spaces_statistics.method_table(found)).splitlines()) == 2 + 18
        assert "| HED | 9 : 0 | 0 | 9 | 0.0039 | -2.67 | 0.89 | -2.67, 0.89 | 0.0195 |" in markdown(
            spaces_statistics.space_table(found)
        )

    def test_refuses_a_single_dataset(self) -> None:
        with pytest.raises(OptionError, match="needs two at least"):
            spaces_statistics.significance(SpaceScores.of(full(1)))
