"""Plans: the decision, its record in JSON, what it says it will clip, and for which images it serves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core.gains import Flags
from recolorist.core.options import MatchOptions, match_options
from recolorist.core.plan import plan_channels
from recolorist.errors import OptionError, StatisticsError
from tests.full import full

RNG = np.random.default_rng(22)
CONTENT = RNG.integers(40, 140, (9, 11, 3), dtype=np.uint8)
STYLE = RNG.integers(90, 230, (8, 13, 3), dtype=np.uint8)
PLAN = rc.plan(rc.measure(CONTENT), rc.measure(STYLE))


def moments(mean: Any, std: Any, data_range: float = 255.0) -> rc.Moments:
    return rc.Moments(100, mean, np.diag(np.square(std)), data_range)


class TestDecision:
    def test_the_formula(self) -> None:
        c, s = rc.measure(CONTENT), rc.measure(STYLE)
        np.testing.assert_allclose(PLAN.gain, s.std / c.std, rtol=1e-15)
        np.testing.assert_allclose(PLAN.matrix, np.diag(s.std / c.std), rtol=1e-15)
        np.testing.assert_allclose(PLAN.offset, s.mean - s.std / c.std * c.mean, rtol=1e-13)
        assert PLAN.is_diagonal
        assert not PLAN.is_identity
        assert not PLAN.flags

    def test_strength_blends_with_identity(self) -> None:
        half = rc.plan(rc.measure(CONTENT), rc.measure(STYLE), strength=0.5)
        np.testing.assert_allclose(half.matrix, (PLAN.matrix + np.eye(3)) / 2, rtol=1e-14)
        np.testing.assert_allclose(half.offset, PLAN.offset / 2, rtol=1e-12)
        for space in ("rgb", "yuv", "ycbcr"):
            assert rc.plan(rc.measure(CONTENT), rc.measure(STYLE), space, strength=0).is_identity

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    @pytest.mark.parametrize("space", ["rgb", "yuv", "yiq", "ydbdr", "ycbcr", "ypbpr"])
    def test_itself_is_the_identity(self, method: Any, space: str) -> None:
        assert rc.plan(rc.measure(CONTENT), rc.measure(CONTENT), space, method=method).is_identity

    def test_flat_content_moves_to_the_mean(self) -> None:
        plan = rc.plan(moments([7, 50], [0, 5]), moments([99, 60], [20, 5]))
        assert (plan.gain[0], plan.offset[0], plan.flags[0], plan.flags[1]) == (0.0, 99.0, ("flat",), ())

    def test_gain_is_capped(self) -> None:
        plan = rc.plan(moments([50], [1]), moments([60], [30]))
        assert (plan.gain[0], plan.flags[0], plan.offset[0]) == (10.0, ("gain_capped",), 60 - 500)
        assert rc.plan(moments([50], [1]), moments([60], [30]), max_gain=math.inf).gain[0] == 30.0
        assert rc.plan(moments([50], [1]), moments([60], [10])).flags[0] == ()
        just_above = rc.plan(moments([50], [1]), moments([60], [10.001]))
        assert (just_above.gain[0], just_above.flags[0]) == (10.0, ("gain_capped",))

    def test_paper_mode_has_no_cap_and_an_epsilon(self) -> None:
        plan = rc.plan(moments([50], [1]), moments([60], [30]), eps_mode="paper")
        assert plan.gain[0] == 30 / (1 + 1e-8)
        assert rc.plan(moments([50], [0]), moments([60], [30]), eps_mode="paper").gain[0] == pytest.approx(3e9)

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    def test_strict_refuses_a_flat_style(self, method: Any) -> None:
        content, flat = moments([50, 50], [5, 5]), moments([60, 60], [0, 5])
        flags: Any = rc.plan(content, flat, method=method).flags
        assert "collapsed" in flags
        with pytest.raises(StatisticsError, match="drop strict"):
            rc.plan(content, flat, method=method, strict=True)
        rc.plan(moments([50], [0]), moments([60], [5]), strict=True)  # a flat content is no reason

    @pytest.mark.parametrize("space", ["lab", "hsv", "hsi", "lalphabeta"])
    def test_moments_of_the_right_space(self, space: str) -> None:
        with pytest.raises(StatisticsError, match=rf"measure\(image, space='{space}'\)"):
            rc.plan(rc.measure(CONTENT), rc.measure(STYLE), space)
        with pytest.raises(StatisticsError, match="space='rgb'"):
            rc.plan(rc.measure(CONTENT, space=space), rc.measure(STYLE))

    @pytest.mark.parametrize("thing", [None, CONTENT, 5, "m", {"mean": 1}], ids=lambda thing: type(thing).__name__)
    def test_only_moments(self, thing: Any) -> None:
        for pair in ((thing, rc.measure(STYLE)), (rc.measure(STYLE), thing)):
            with pytest.raises(StatisticsError, match=type(thing).__name__):
                rc.plan(*pair)

    @pytest.mark.parametrize("option", ["space", "method", "eps_mode"])
    def test_unknown_choices_are_listed(self, option: str) -> None:
        with pytest.raises(OptionError, match=rf"{option}='nowhere'.*'"):
            rc.plan(rc.measure(CONTENT), rc.measure(STYLE), **{option: "nowhere"})  # type: ignore[arg-type]


class TestText:
    def test_shows_the_equation(self) -> None:
        text = str(rc.plan(moments([10, 20, 30], [4, 4, 4]), moments([30, 10, 30], [2, 8, 4])))
        assert text.splitlines() == ["R' = 0.5000·R + 25.0000", "G' = 2.0000·G - 30.0000", "B' = 1.0000·B + 0.0000"]

    def test_names_the_channels_of_a_space(self) -> None:
        plan = rc.plan(rc.measure(CONTENT, space="lab"), rc.measure(STYLE, space="lab"), "lab")
        assert [line.split("'")[0] for line in str(plan).splitlines()] == ["L", "a", "b"]

    def test_mixed_channels_show_all_terms(self) -> None:
        assert str(rc.plan(rc.measure(CONTENT), rc.measure(STYLE), "yiq")).splitlines()[0].count("·") == 3

    def test_flags(self) -> None:
        flags: Any = Flags([("flat",), (), ("gain_capped",)])
        assert "flat" in flags
        assert "collapsed" not in flags
        assert (flags[0], flags[1], len(flags)) == (("flat",), (), 3)
        assert flags
        assert not Flags([(), ()])


finite = st.floats(0.0, 1.0, allow_subnormal=False)


class TestJson:
    @settings(max_examples=full(60, 300), deadline=None)
    @given(
        means=st.lists(finite, min_size=6, max_size=6),
        spreads=st.lists(st.sampled_from([0.0, 1e-9, 0.1]) | finite, min_size=6, max_size=6),
        strength=finite,
        max_gain=st.sampled_from([0.0, 1.5, 10.0, math.inf]),
        eps_mode=st.sampled_from(["exact", "paper"]),
        space=st.sampled_from(["rgb", "yuv", "yiq"]),
        method=st.sampled_from(["mean_std", "covariance"]),
        data_range=st.sampled_from([1.0, 255.0, math.inf]),
    )
    def test_round_trip_to_the_bit(
        self,
        means: Any,
        spreads: Any,
        strength: float,
        max_gain: float,
        eps_mode: Any,
        space: str,
        method: Any,
        data_range: float,
    ) -> None:
        content, style = moments(means[:3], spreads[:3], data_range), moments(means[3:], spreads[3:], data_range)
        made = rc.plan(content, style, space, strength, max_gain, eps_mode, method=method)
        read = rc.Plan.from_json(made.to_json())
        assert read == made
        assert hash(read) == hash(made)
        for name in ("matrix", "offset", "gain", "content_mean", "content_std", "style_mean", "style_std"):
            assert getattr(read, name).tobytes() == getattr(made, name).tobytes()
        assert (read.flags, read.max_gain, read.data_range, read.strength) == (made.flags, max_gain, data_range, strength)
        assert json.loads(made.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    @settings(max_examples=full(60, 300), deadline=None)
    @given(
        numbers=st.lists(st.tuples(finite, st.sampled_from([0.0, 1e-9, 0.1]) | finite), min_size=2, max_size=8),
        strength=finite,
        limits=st.tuples(st.sampled_from([0.0, 1.5, 10.0, math.inf]), st.sampled_from([1.0, 255.0, math.inf])),
        eps_mode=st.sampled_from(["exact", "paper"]),
    )
    def test_plain_numbers_say_what_the_plan_says(self, numbers: Any, strength: float, limits: Any, eps_mode: str) -> None:
        half = len(numbers) // 2
        made = plan_channels(
            numbers[:half], numbers[half : 2 * half], match_options("mean_std", "rgb", strength, limits[0], eps_mode), limits[1]
        )
        assert made.to_json() == made.plan().to_json()
        assert rc.Plan.from_json(made.to_json()) == made.plan()

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_numbers_that_json_does_not_have_are_refused(self, bad: float) -> None:
        with pytest.raises(StatisticsError, match="would not be finite"):
            plan_channels([(bad, 1.0)], [(0.5, 1.0)], MatchOptions(), 1.0)

    def test_a_style_that_overflows_is_refused(self) -> None:
        with pytest.raises(StatisticsError, match="are not moments"):
            rc.plan(rc.Moments(1, [1e200], [[0.0]], 1e150), rc.Moments(1, [1e200], [[1.0]], 1.0))

    @pytest.mark.parametrize("space", rc.SPACES)
    def test_a_read_plan_gives_the_same_image(self, space: str) -> None:
        wanted = "rgb" if rc.SPACES[space].is_linear else space
        made = rc.plan(rc.measure(CONTENT, space=wanted), rc.measure(STYLE, space=wanted), space)
        np.testing.assert_array_equal(rc.apply(CONTENT, rc.Plan.from_json(made.to_json())), rc.apply(CONTENT, made))

    @pytest.mark.parametrize("key", json.loads(PLAN.to_json()))
    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            -1,
            math.nan,
            -math.inf,
            10**400,
            "abc",
            "inf",
            [],
            {},
            [[]],
            ["a"],
            [None] * 3,
            [1.0],
            [[1.0]],
            [10**400] * 3,
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_wrong_values(self, key: str, value: Any) -> None:
        allowed = {("max_gain", "inf"), ("data_range", "inf")}
        entries = json.loads(PLAN.to_json()) | {key: value}
        text = json.dumps(entries)
        outcome = "read"
        try:
            rc.apply(CONTENT / 255.0, rc.Plan.from_json(text), data_range=math.inf if key == "data_range" else None)
        except rc.RecoloristError:
            outcome = "refused"
        assert outcome == ("read" if (key, str(value)) in allowed else "refused")

    @pytest.mark.parametrize("key", json.loads(PLAN.to_json()))
    def test_missing_and_unknown_keys(self, key: str) -> None:
        entries = json.loads(PLAN.to_json())
        del entries[key]
        with pytest.raises(StatisticsError, match="not a plan"):
            rc.Plan.from_json(json.dumps(entries))
        with pytest.raises(StatisticsError, match="not a plan"):
            rc.Plan.from_json(json.dumps(json.loads(PLAN.to_json()) | {key + "s": 1}))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{}",
            "[]",
            "null",
            "5",
            '"plan"',
            "{",
            PLAN.to_json()[:-1],
            PLAN.to_json() + "}",
            "\ud800",
            b"\xff\xfe",
            None,
            5,
            [],
            object,
        ],
        ids=lambda text: repr(text)[:20],
    )
    def test_what_is_no_plan(self, text: Any) -> None:
        with pytest.raises(StatisticsError, match=r"not a plan.*to_json"):
            rc.Plan.from_json(text)

    @pytest.mark.parametrize("key", ["gain", "flags", "matrix", "space"])
    @pytest.mark.parametrize("depth", [70, 3000, 200_000])
    def test_deep_nesting(self, key: str, depth: int) -> None:
        text = json.dumps(json.loads(PLAN.to_json()) | {key: "?"}).replace('"?"', "[" * depth + "]" * depth)
        with pytest.raises(StatisticsError, match="not a plan"):
            rc.Plan.from_json(text)

    def test_other_formats(self) -> None:
        with pytest.raises(StatisticsError, match=r"recolorist\.plan/1"):
            rc.Plan.from_json(PLAN.to_json().replace("plan/1", "plan/2"))

    def test_equality(self) -> None:
        assert rc.plan(rc.measure(CONTENT), rc.measure(STYLE)) == PLAN
        assert rc.plan(rc.measure(CONTENT), rc.measure(STYLE), max_gain=9) != PLAN
        assert PLAN.to_json() != PLAN


def brute_force(plan: rc.Plan, high: int) -> NDArray[np.bool_]:
    """Level by level, in plain Python: would it leave the range?"""
    scale = high / plan.data_range
    pairs = [(plan.matrix[c, c], plan.offset[c] * scale) for c in range(plan.channels)]
    return np.array(
        [[not 0 <= round(float(gain) * level + float(shift)) <= high for level in range(high + 1)] for gain, shift in pairs]
    )


PAIRS: dict[str, Callable[[], rc.Plan]] = {
    "stretched": lambda: rc.plan(moments([100, 128, 30], [10, 20, 30]), moments([120, 128, 200], [60, 90, 80])),
    "squeezed": lambda: rc.plan(moments([100, 100, 100], [50, 50, 50]), moments([120, 3, 250], [5, 5, 5])),
    "flat": lambda: rc.plan(moments([100, 0, 255], [0, 0, 0]), moments([120, 0, 255], [5, 5, 5])),
    "capped": lambda: rc.plan(moments([100, 10, 250], [0.1, 0.1, 0.1]), moments([120, 120, 120], [50, 50, 50])),
    "identity": lambda: rc.plan(moments([100, 10, 250], [1, 1, 1]), moments([100, 10, 250], [1, 1, 1])),
}


@pytest.mark.parametrize("name", PAIRS)
class TestClipping:
    @pytest.mark.parametrize("high", [255, 4095])
    def test_levels_by_brute_force(self, name: str, high: int) -> None:
        plan = PAIRS[name]()
        np.testing.assert_array_equal(plan.clipped_levels(high), brute_force(plan, high))

    @pytest.mark.parametrize("high", [None, 255, 4095])
    def test_kept_levels(self, name: str, high: int | None) -> None:
        plan = PAIRS[name]()
        kept = [np.flatnonzero(~row) for row in brute_force(plan, high or 255)]
        assert plan.kept_levels(high).tolist() == [[row[0], row[-1]] if row.size else [0, -1] for row in kept]

    def test_predicted_equals_counted(self, name: str) -> None:
        plan = PAIRS[name]()
        image = np.random.default_rng(4).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        counts = np.stack([np.bincount(image[..., c].ravel(), minlength=256) for c in range(3)])
        unclipped = np.rint(image * plan.matrix.diagonal() + plan.offset)
        counted = ((unclipped < 0) | (unclipped > 255)).mean((0, 1))
        np.testing.assert_array_equal(plan.predicted_clipping(counts), counted)

    def test_extremes_are_kept(self, name: str) -> None:
        plan = PAIRS[name]()
        levels = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=-1)
        free, out = levels * plan.matrix.diagonal() + plan.offset, rc.apply(levels, plan)
        np.testing.assert_array_equal(np.rint(free)[0] != out[0], plan.clipped_levels().T)


def test_only_diagonal_plans_clip_by_level() -> None:
    mixed = rc.plan(rc.measure(CONTENT), rc.measure(STYLE), "yuv")
    with pytest.raises(StatisticsError, match="audit"):
        mixed.kept_levels()


class TestOnePlanManyTypes:
    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float16", "float32", "float64"])
    @pytest.mark.parametrize("space", ["rgb", "yiq", "lab"])
    def test_made_on_uint8(self, kind: str, space: str) -> None:
        top = {"uint8": 255, "uint16": 65535}.get(kind, 1)
        image = (CONTENT.astype(np.float64) * (top / 255)).astype(kind)
        wanted = "rgb" if space == "yiq" else space
        plan = rc.plan(rc.measure(CONTENT, space=wanted), rc.measure(STYLE, space=wanted), space)
        result = rc.apply(image, plan).astype(np.float64) * (255 / top)
        # half a level from rounding the uint8 image; half precision adds 1/2048 of the value
        tolerance = 0.5 + (255 / 2048 if kind == "float16" else 1e-4)
        np.testing.assert_allclose(result, rc.apply(CONTENT, plan), atol=tolerance)

    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "float64"])
    def test_mean_within_rounding(self, kind: str) -> None:
        top = {"uint8": 255, "uint16": 65535}.get(kind, 1)
        image = (CONTENT.astype(np.float64) * (top / 255)).astype(kind)
        result = rc.apply(image, rc.plan(rc.measure(CONTENT), moments([120, 110, 130], [20, 30, 25])))
        bound = 0.5 if top > 1 else 1e-7
        np.testing.assert_allclose(result.mean((0, 1), dtype=np.float64), np.array([120, 110, 130]) * (top / 255), atol=bound)

    def test_not_without_a_range(self) -> None:
        with pytest.raises(StatisticsError, match="same data_range"):
            rc.apply(CONTENT / 255.0, PLAN, data_range=math.inf)
