"""The audit: every field against brute force, its JSON, and the estimate made from an output alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core.audit import audit_written
from recolorist.core.image import open_image
from recolorist.demo import synthetic
from recolorist.demo.synthetic import SCANNERS
from tests.strategies import DTYPES, HIGHEST, INTEGERS, Image, build

tile = cache(synthetic.tile)  # drawing a tile takes longer than what is tested here
pytestmark = pytest.mark.usefixtures("kernel")

FIELDS = {
    "clipped",
    "clipped_overall",
    "predicted_clipped",
    "predicted_clipped_overall",
    "pearson",
    "pearson_pooled",
    "inversions",
    "gain",
    "flags",
    "loss",
    "loss_share",
    "loss_worst",
    "loss_worst_box",
}


def planned(content: Image, style: Image, **options: Any) -> rc.Plan:
    return rc.plan(rc.measure(content), rc.measure(style), **options)


def unlimited(content: Image, plan: rc.Plan) -> NDArray[np.float64]:
    """What the plan would write if nothing limited it."""
    values = content.astype(np.float64) @ plan.matrix.T + plan.offset
    return np.asarray(np.rint(values) if content.dtype.kind == "u" else values)


def clipped_share(content: Image, plan: rc.Plan) -> list[float]:
    values = unlimited(content, plan)
    return [float(share) for share in ((values < 0) | (values > HIGHEST[content.dtype.name])).mean(axis=(0, 1))]


def inversions(before: Image, after: Image) -> int:
    """For each level and the next that occurs: does the highest output of the one pass the lowest of the other?"""
    count = 0
    for c in range(before.shape[-1]):
        levels = np.unique(before[..., c])
        groups = [after[..., c][before[..., c] == level] for level in levels]
        count += sum(bool(low.max() > high.min()) for low, high in pairwise(groups))
    return count


def correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    return float(np.corrcoef(x.ravel().astype(float), y.ravel().astype(float))[0, 1])


class TestFields:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("space", ["rgb", "yiq"])
    @pytest.mark.parametrize("given", ["plan", "output and plan"])
    def test_against_brute_force(self, dtype: str, space: str, given: str) -> None:
        content, style = build("uniform", (13, 17, 3), dtype, 1), build("extremes", (9, 11, 3), dtype, 2)
        plan = planned(content, style, space=space)
        out = rc.apply(content, plan)
        audit = rc.audit(content, plan) if given == "plan" else rc.audit(content, out, plan=plan)
        assert audit.clipped.tolist() == clipped_share(content, plan)
        assert audit.predicted_clipped.tolist() == clipped_share(content, plan)
        assert audit.clipped_overall == audit.predicted_clipped_overall
        assert audit.clipped_overall == pytest.approx(np.mean(clipped_share(content, plan)), rel=1e-15)
        assert 0.05 < audit.clipped_overall < 1  # the pair was chosen to clip
        # correlations of 663 values, every sum with at most 663 roundings: 1e-13
        assert audit.pearson.tolist() == pytest.approx([correlation(content[..., c], out[..., c]) for c in range(3)], abs=1e-13)
        assert audit.pearson_pooled == pytest.approx(correlation(content, out), abs=1e-13)
        assert audit.inversions == inversions(content, out)
        assert audit.gain.tolist() == plan.gain.tolist()
        assert [set(flag) - {"detail_lost"} for flag in audit.flags] == [set(flag) for flag in plan.flags]

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_from_the_output_alone(self, dtype: str) -> None:
        content, style = build("uniform", (13, 17, 3), dtype, 1), build("narrow", (9, 11, 3), dtype, 2)
        out = rc.match(content, style, space="yiq")
        audit = rc.audit(content, out)
        assert np.isnan(audit.predicted_clipped).all()
        assert math.isnan(audit.predicted_clipped_overall)
        deviations = out.std(axis=(0, 1), dtype=float) / content.std(axis=(0, 1), dtype=float)
        assert audit.gain.tolist() == pytest.approx(deviations.tolist(), rel=1e-12)
        assert audit.pearson.tolist() == pytest.approx([correlation(content[..., c], out[..., c]) for c in range(3)], abs=1e-13)
        assert audit.inversions == inversions(content, out)
        assert not audit.flags

    def test_inversions_are_found(self) -> None:
        content = np.array([[0, 10, 20, 30]], np.uint8)
        assert rc.audit(content, np.array([[0, 9, 8, 30]], np.uint8)).inversions == 1
        assert rc.audit(content, np.array([[30, 20, 10, 0]], np.uint8)).inversions == 3
        assert rc.audit(content, content).inversions == 0
        # equal levels torn apart so far that one passes the next
        assert rc.audit(np.array([[5, 5, 6]], np.uint8), np.array([[1, 9, 8]], np.uint8)).inversions == 1

    def test_negative_correlation(self) -> None:
        ramp = np.arange(60, dtype=np.uint8).reshape(6, 10)
        audit = rc.audit(ramp, ramp.max() - ramp)
        assert audit.pearson.tolist() == pytest.approx([-1.0], abs=1e-15)
        assert audit.pearson_pooled == pytest.approx(-1.0, abs=1e-15)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_flat_contents(self, dtype: str) -> None:
        flat = np.full((5, 7, 3), HIGHEST[dtype] / 5, dtype)
        audit = rc.audit(flat, planned(flat, build("uniform", (4, 6, 3), dtype, 1)))
        assert audit.flags == (("flat", "blank"),) * 3
        assert np.isnan(audit.pearson).all()
        assert audit.gain.tolist() == [0, 0, 0]
        assert audit.clipped_overall == 0
        assert rc.audit(flat, flat).flags == (("flat", "blank"),) * 3

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_flat_styles(self, dtype: str) -> None:
        content, flat = build("uniform", (4, 6, 3), dtype, 1), np.full((5, 7, 3), HIGHEST[dtype] / 5, dtype)
        audit = rc.audit(content, rc.match(content, flat))
        assert audit.flags == (("collapsed",),) * 3
        assert np.isnan(audit.pearson).all()
        assert audit.gain.tolist() == [0, 0, 0]

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_only_the_mask_counts(self, dtype: str) -> None:
        content, style = build("uniform", (13, 17, 3), dtype, 1), build("extremes", (9, 11, 3), dtype, 2)
        inside = np.random.default_rng(1).random((13, 17)) < 0.4
        plan = planned(content, style)
        audit, alone = rc.audit(content, plan, mask=inside), rc.audit(content[inside][None], plan)
        assert audit.clipped.tolist() == alone.clipped.tolist()
        assert audit.predicted_clipped.tolist() == alone.predicted_clipped.tolist()
        assert audit.pearson.tolist() == alone.pearson.tolist()
        assert audit.clipped.tolist() != rc.audit(content, plan).clipped.tolist()

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_fewer_bits_than_the_type_holds(self, dtype: str) -> None:
        high = HIGHEST[dtype] // 16
        content = build("uniform", (13, 17), dtype, 1) // 16
        style = (build("extremes", (9, 11), dtype, 2) > 0).astype(dtype) * np.array(high, dtype)
        plan = rc.plan(rc.measure(content, data_range=high), rc.measure(style, data_range=high))
        values = np.rint(plan.matrix[0, 0] * content.astype(float) + plan.offset[0])
        audit = rc.audit(content, plan, data_range=high)
        assert audit.clipped_overall == audit.predicted_clipped_overall == ((values < 0) | (values > high)).mean() > 0.05

    def test_a_batch_gives_one_each(self) -> None:
        contents, styles = build("uniform", (3, 9, 7, 3), "uint8", 1), build("extremes", (3, 5, 6, 3), "uint8", 2)
        plans = rc.plan(rc.measure(contents), rc.measure(styles))
        audits = list(rc.audit(contents, plans))  # type: ignore[call-overload]
        each = [rc.audit(contents[i], planned(contents[i], styles[i])) for i in range(3)]
        assert [audit.to_json() for audit in audits] == [audit.to_json() for audit in each]
        assert len({audit.to_json() for audit in each}) == 3


class TestJson:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_one_line_with_every_field(self, dtype: str) -> None:
        content, style = build("uniform", (13, 17, 3), dtype, 1), build("extremes", (9, 11, 3), dtype, 2)
        audit = rc.audit(content, planned(content, style))
        text = audit.to_json()
        read = json.loads(text)
        assert "\n" not in text
        assert set(read) == FIELDS
        for name in FIELDS - {"flags", "loss"}:  # to the last bit, for JSON prints the shortest text that reads back the same
            assert np.array_equal(read[name], getattr(audit, name)), name
        assert np.array_equal(np.array(read["loss"], float), audit.loss, equal_nan=True)
        assert [tuple(flags) for flags in read["flags"]] == list(audit.flags)

    def test_what_is_undefined_is_null(self) -> None:
        flat = np.full((5, 7, 2), 9, np.uint8)
        text = rc.audit(flat, flat).to_json()
        read = json.loads(text)
        assert "NaN" not in text
        assert read["predicted_clipped"] == read["pearson"] == [None, None]
        assert read["predicted_clipped_overall"] is None
        assert read["flags"] == [["flat", "blank"]] * 2


class TestEstimate:
    """From an output alone the clipped share can only be estimated: by the line through what was not clipped."""

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    @pytest.mark.parametrize(("scanner", "other"), list(combinations(SCANNERS, 2)))
    def test_on_tissue_it_comes_close(self, scanner: str, other: str, dtype: str) -> None:
        content, style = (
            self.as_type(tile(5, scanner, (90, 70)), dtype),
            self.as_type(tile(6, other, (70, 90)), dtype),
        )
        plan = planned(content, style)
        estimate, counted = rc.audit(content, rc.apply(content, plan)), rc.audit(content, plan)
        # Rounding lets the line through the free values miss the limit by less than a level; the values on that one input
        # level can then fall to either side. So: no more than the most common of the levels whose output is next to a limit.
        bound = self.share_next_to_a_limit(content, plan)
        assert (np.abs(estimate.clipped - counted.clipped) <= bound).all()

    @staticmethod
    def as_type(image: Image, dtype: str) -> Image:
        """The same picture; in 16 bits and floats, noise fills what lies between the 8-bit levels."""
        if dtype == "uint8":
            return image
        fine = (image + np.random.default_rng(1).random(image.shape)) / 256
        return (fine * HIGHEST[dtype]).astype(dtype)

    @staticmethod
    def share_next_to_a_limit(content: Image, plan: rc.Plan) -> NDArray[np.float64]:
        high = HIGHEST[content.dtype.name]
        level = high / 255 if content.dtype == np.uint8 else high / 10_000
        values = plan.matrix.diagonal() * content + plan.offset
        near = np.minimum(np.abs(values), np.abs(values - high)) <= level * (0.5 + np.maximum(plan.gain, 1))
        return np.asarray(near.mean(axis=(0, 1)))

    def test_nothing_at_the_limits_nothing_clipped(self) -> None:
        content, style = build("uniform", (13, 17, 3), "uint8", 1), build("narrow", (9, 11, 3), "uint8", 2)
        assert rc.audit(content, rc.match(content, style)).clipped.tolist() == [0, 0, 0]

    def test_a_stretched_ramp(self) -> None:
        ramp = np.arange(256, dtype=np.uint8)[None]
        stretched = np.clip(2.0 * ramp - 128, 0, 255).astype(np.uint8)
        # 2x - 128 leaves the range below 64 and from 192 on: 64 + 64 of 256 levels
        assert rc.audit(ramp, stretched).clipped_overall == 0.5

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_outputs_that_say_nothing_about_the_line(self, dtype: str) -> None:
        content = build("uniform", (6, 5), dtype, 3)
        high = np.array(HIGHEST[dtype], dtype)
        white = np.full_like(content, high)
        assert rc.audit(content, white).clipped_overall == np.mean(content != high)
        level = white.copy()
        level[:3] = np.array(HIGHEST[dtype] / 2, dtype)  # half at the limit, the other half on one value: a line without slope
        assert 0 <= rc.audit(content, level).clipped_overall <= 0.5


class TestRefusals:
    def test_another_image(self) -> None:
        content = build("uniform", (6, 5, 3), "uint8", 3)
        for other in (content[:5], content.astype(np.uint16), content[..., :1]):
            with pytest.raises(rc.RecoloristError, match="its own matched version"):
                rc.audit(content, other)

    def test_an_empty_mask(self) -> None:
        content = build("uniform", (6, 5, 3), "uint8", 3)
        with pytest.raises(rc.RecoloristError, match="selects no pixel"):
            rc.audit(content, content, mask=np.zeros((6, 5), bool))


class TestWritten:
    """What collections record of an image that they have opened, matched and written."""

    @pytest.mark.parametrize("space", ["rgb", "ycbcr", "lab"])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    @pytest.mark.parametrize("masked", [False, True])
    def test_is_the_audit_of_the_plan_and_of_the_two_images(self, space: str, dtype: str, masked: bool) -> None:
        content, style = build("random", (21, 34, 3), dtype, 1), build("random", (18, 20, 3), dtype, 2)
        mask = np.arange(34) < np.full((21, 1), 20) if masked else None
        plan = rc.plan(rc.measure(content, space=_moments_of(space)), rc.measure(style, space=_moments_of(space)), space)
        output = rc.apply(content, plan, mask=mask)
        expected = rc.audit(content, plan, mask=mask)
        assert audit_written(open_image(content), output, plan, mask).to_json() == expected.to_json()

    def test_without_a_plan_it_is_the_estimate(self) -> None:
        content, style = build("random", (21, 34, 3), "uint8", 1), build("random", (18, 20, 3), "uint8", 2)
        output = rc.match(content, style, "histogram")
        assert audit_written(open_image(content), output, None, None).to_json() == rc.audit(content, output).to_json()


def _moments_of(space: str) -> str:
    return "lab" if space == "lab" else "rgb"


class TestByLevels:
    """An integer image and a diagonal plan are audited by the levels that occur, without an output."""

    @pytest.mark.parametrize("kind", ["uint8", "fortran", "reversed", "rgba", "grey", ">u2"])
    @pytest.mark.parametrize("is_masked", [False, True])
    @pytest.mark.parametrize("gain", [-0.5, 0.0, 0.8, 2.5])
    def test_is_the_audit_of_what_is_written(self, kind: str, gain: float, *, is_masked: bool) -> None:
        rng = np.random.default_rng(3)
        image = rng.integers(20, 230, (50, 70, 3), dtype=np.uint8)
        views = {
            "fortran": np.asfortranarray(image),
            "reversed": image[:, ::-1],
            "rgba": np.dstack([image, image[..., 0]]),
            "grey": np.ascontiguousarray(image[..., 0]),
            ">u2": image.astype(">u2") * 257,
        }
        content, mask = views.get(kind, image), rng.random((50, 70)) > 0.4 if is_masked else None
        moments = rc.measure(content)
        plan = replace(
            rc.plan(moments, moments),
            matrix=gain * np.eye(moments.channels),
            offset=np.full(moments.channels, moments.data_range / 6),
        )
        output = rc.apply(content, plan, mask=mask)
        planned, written = rc.audit(content, plan, mask=mask), rc.audit(content, output, plan=plan, mask=mask)
        assert planned.clipped.tolist() == planned.predicted_clipped.tolist() == written.clipped.tolist()
        assert planned.inversions == written.inversions
        assert np.array_equal(planned.loss, written.loss, equal_nan=True)
        assert planned.pearson == pytest.approx(written.pearson, abs=1e-12, nan_ok=True)
        assert planned.pearson_pooled == pytest.approx(written.pearson_pooled, abs=1e-12, nan_ok=True)
