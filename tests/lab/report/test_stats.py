"""The tests of the study against scipy, against counting by hand, and against what the paper prints."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from recolorist.errors import OptionError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.stats import bonferroni, bootstrap, critical_difference, friedman, holm, wilcoxon

SAMPLES = st.integers(3, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), min_size=3, max_size=5)
)

NORMAL = "asymptotic" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 14) else "approx"  # SciPy renamed it


def differences(t: int, n: int, pairs: int) -> list[float]:
    """Scores of the first sample against zeros: n different sizes, those that are positive with ranks that sum to t."""
    signs = [-1.0] * n
    left = t
    for rank in range(n, 0, -1):
        if rank <= left:
            signs[rank - 1], left = 1.0, left - rank
    assert left == 0
    return [sign * size for sign, size in zip(signs, range(1, n + 1), strict=True)] + [0.0] * (pairs - n)


class TestPrinted:
    @pytest.mark.parametrize("row", paper.TESTS, ids=[test.what for test in paper.TESTS])
    def test_the_paper_s_three_rows(self, row: paper.PrintedTest) -> None:
        made = differences(row.t, row.n, row.pairs)
        found = wilcoxon(made, np.zeros(row.pairs), z_n="paper")
        assert (found.t, found.n, found.pairs, found.exact) == (row.t, row.n, row.pairs, True)
        digits = 3 - math.ceil(math.log10(row.p)) if row.p < 0.01 else 3
        assert round(found.p, digits) == pytest.approx(row.p, rel=1e-3)
        assert round(found.z, 2) == row.z
        assert round(found.r, 2) == row.r

    def test_the_third_row_with_one_count_throughout(self) -> None:
        """The paper dropped two zeros and still used twelve pairs for Z; ten would have given this."""
        row = paper.TESTS[2]
        found = wilcoxon(differences(row.t, row.n, row.pairs), np.zeros(row.pairs))
        assert (round(found.z, 3), round(found.r, 2)) == (-0.255, 0.07)
        assert round(found.p, 3) == row.p

    def test_the_conventions_agree_without_zeros(self) -> None:
        made = differences(13, 12, 12)
        reduced, printed = (wilcoxon(made, np.zeros(12), z_n=z_n) for z_n in ("reduced", "paper"))
        assert (reduced.z, reduced.r, reduced.p) == (printed.z, printed.r, printed.p)


class TestWilcoxon:
    @pytest.mark.parametrize("n", [1, 2, 5, 12, 30, 50])
    def test_is_scipy_s_exact_test(self, n: int) -> None:
        rng = np.random.default_rng(n)
        a, b = rng.normal(size=n), rng.normal(0.4, 1.0, n)
        theirs = scipy_stats.wilcoxon(a, b, method="exact")
        ours = wilcoxon(a, b)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.t == pytest.approx(theirs.statistic)

    def test_z_is_scipy_s_without_correction(self) -> None:
        rng = np.random.default_rng(3)
        a, b = np.round(rng.normal(size=40), 1), np.round(rng.normal(0.3, 1, 40), 1)  # ties and zeros
        assert (a == b).any()
        theirs = scipy_stats.wilcoxon(a, b, method=NORMAL, correction=False)
        assert abs(wilcoxon(a, b).z) == pytest.approx(abs(theirs.zstatistic), rel=1e-12)

    @given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
    def test_p_is_the_share_of_all_signs_also_with_ties(self, values: list[int]) -> None:
        kept = np.array([value for value in values if value], float)
        found = wilcoxon(values, [0] * len(values))
        if not len(kept):
            assert (found.p, found.z, found.r, found.n) == (1.0, 0.0, 0.0, 0)
            return
        ranks = scipy_stats.rankdata(np.abs(kept))
        sums = [ranks[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=len(kept))]
        share = np.mean(np.array(sums) <= found.t + 1e-9)
        assert found.p == pytest.approx(min(1.0, 2 * share), rel=1e-12)

    @given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=15))
    def test_changing_sides_changes_only_who_wins(self, pairs: list[tuple[float, float]]) -> None:
        a, b = (list(side) for side in zip(*pairs, strict=True))
        one, other = wilcoxon(a, b), wilcoxon(b, a)
        assert (one.p, one.z, one.r, one.wins) == (other.p, other.z, other.r, other.losses)
        assert 0 < one.p <= 1
        assert one.z <= 0

    def test_many_pairs_use_the_normal_distribution_and_say_so(self) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=600), rng.normal(0.1, 1, 600)
        found = wilcoxon(a, b)
        assert not found.exact
        assert found.p == pytest.approx(scipy_stats.wilcoxon(a, b, method=NORMAL, correction=False).pvalue, rel=1e-9)
        assert wilcoxon(a[:500], b[:500]).p == pytest.approx(
            scipy_stats.wilcoxon(a[:500], b[:500], method=NORMAL, correction=False).pvalue, rel=5e-3
        )

    def test_refuses(self) -> None:
        with pytest.raises(OptionError, match="2 scores against 3"):
            wilcoxon([1, 2], [1, 2, 3])
        with pytest.raises(OptionError, match="finite"):
            wilcoxon([1, math.nan], [1, 2])
        with pytest.raises(OptionError, match="z_n='both'"):
            wilcoxon([1], [2], z_n="both")  # type: ignore[arg-type]


class TestFriedman:
    @given(SAMPLES)
    def test_is_scipy_s(self, lists: list[list[int]]) -> None:
        table = {f"m{number}": [float(value) for value in values] for number, values in enumerate(lists)}
        found = friedman(table)
        if all(len(set(block)) == 1 for block in zip(*lists, strict=True)):
            assert (found.statistic, found.p) == (0.0, 1.0)  # scipy has no number here
            return
        theirs = scipy_stats.friedmanchisquare(*table.values())
        assert found.statistic == pytest.approx(theirs.statistic, abs=1e-9)
        assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)
        assert 0 <= found.kendall_w <= 1 + 1e-12
        assert sum(found.ranks.values()) == pytest.approx(len(lists) * (len(lists) + 1) / 2)

    def test_refuses(self) -> None:
        with pytest.raises(OptionError, match="2 treatments were given; at least 3"):
            friedman({"a": [1, 2], "b": [1, 2]})
        with pytest.raises(OptionError, match="a 2, b 3, c 2"):
            friedman({"a": [1, 2], "b": [1, 2, 3], "c": [1, 2]})


class TestCorrections:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
    def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(self, p: list[float]) -> None:
        once, stepped = bonferroni(p), holm(p)
        assert all(a <= b <= c + 1e-15 for a, b, c in zip(p, stepped, once, strict=True))
        order = np.argsort(p, kind="stable")
        assert (np.diff(np.array(stepped)[order]) >= 0).all()
        assert stepped[order[0]] == once[order[0]]

    def test_a_known_case(self) -> None:
        assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])

    def test_the_paper_s_level(self) -> None:
        assert round(0.05 / 12, 4) == paper.ALPHA

    def test_none_at_all(self) -> None:
        assert bonferroni([]) == holm([]) == []

    def test_refuses_what_is_no_probability(self) -> None:
        for wrong in (1.2, -0.1, math.nan):
            with pytest.raises(OptionError, match="probabilities"):
                holm([0.5, wrong])


class TestBootstrap:
    @pytest.mark.parametrize("method", ["bca", "percentile"])
    @pytest.mark.parametrize("statistic", [np.mean, np.median], ids=["mean", "median"])
    def test_is_near_scipy_s(self, method: Any, statistic: Any) -> None:
        values = np.random.default_rng(5).lognormal(0, 1, 60)
        ours = bootstrap(values, statistic, method=method, resamples=20_000)
        theirs = scipy_stats.bootstrap(
            (values,), statistic, method=method if method != "bca" else "BCa", n_resamples=20_000, random_state=1
        ).confidence_interval
        assert ours.estimate == statistic(values)
        assert ours.low == pytest.approx(theirs.low, rel=0.02)
        assert ours.high == pytest.approx(theirs.high, rel=0.02)

    def test_the_correction_moves_a_skewed_interval_to_the_right(self) -> None:
        values = np.random.default_rng(5).lognormal(0, 1, 60)
        plain, corrected = (bootstrap(values, method=method) for method in ("percentile", "bca"))
        assert plain.low < corrected.low
        assert plain.high < corrected.high

    def test_covers_as_often_as_it_says(self) -> None:
        rng = np.random.default_rng(2)
        hits = 0
        for number in range(200):
            found = bootstrap(rng.exponential(1.0, 40), resamples=600, seed=number)
            hits += found.low <= 1.0 <= found.high
        assert 176 <= hits <= 198  # 95 % of 200 is 190; a binomial that far out would be rare

    def test_the_same_seed_gives_the_same_interval_whatever_was_drawn_before(self) -> None:
        values = [1.0, 2.0, 4.0, 8.0]
        first = bootstrap(values, seed=7)
        np.random.default_rng().random(10)
        assert bootstrap(values, seed=7) == first != bootstrap(values, seed=8)

    def test_chunks_do_not_show(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = np.random.default_rng(0).normal(size=50)
        whole = bootstrap(values)
        monkeypatch.setattr("recolorist_lab.report.stats._CHUNK", 50 * 100)
        assert bootstrap(values) == whole

    def test_no_variation_no_width(self) -> None:
        found = bootstrap([2.0, 2.0, 2.0])
        assert (found.low, found.estimate, found.high) == (2.0, 2.0, 2.0)

    def test_an_interval_that_cannot_be_formed_is_refused(self) -> None:
        with pytest.raises(OptionError, match='use method="percentile"'):
            bootstrap([1.0, 1.0, 1.0, 1.0, 5.0], np.median)
        assert bootstrap([1.0, 1.0, 1.0, 1.0, 5.0], np.median, method="percentile").low == 1.0

    @pytest.mark.parametrize("options", [{"level": 1.0}, {"resamples": 10}, {"seed": -1}, {"method": "basic"}])
    def test_refuses(self, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            bootstrap([1.0, 2.0], **options)
        with pytest.raises(OptionError, match="at least 2"):
            bootstrap([1.0])


class TestCriticalDifference:
    @pytest.mark.parametrize(("treatments", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
    def test_demsar_s_table(self, treatments: int, q: float) -> None:
        """Table 5 of Demšar 2006, α = 0.05."""
        scores = {f"m{number}": [float(number)] * 14 for number in range(treatments)}
        expected = q * math.sqrt(treatments * (treatments + 1) / (6 * 14))
        assert critical_difference(scores).difference == pytest.approx(expected, rel=5e-4)

    def test_groups_are_the_largest_and_hold_no_pair_that_differs(self) -> None:
        rng = np.random.default_rng(1)
        scores = {f"m{number}": (number + 1.5 * rng.normal(size=20)).tolist() for number in range(8)}
        found = critical_difference(scores)
        for group in found.groups:
            ranks = [found.ranks[name] for name in group]
            assert max(ranks) - min(ranks) < found.difference
        for one, other in itertools.combinations(found.ranks, 2):
            together = any({one, other} <= set(group) for group in found.groups)
            assert together == (abs(found.ranks[one] - found.ranks[other]) < found.difference)
        assert not any(set(a) < set(b) for a in found.groups for b in found.groups)

    def test_refuses(self) -> None:
        with pytest.raises(OptionError, match="alpha"):
            critical_difference({"a": [1, 2], "b": [2, 1]}, alpha=0)
