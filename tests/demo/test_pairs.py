"""The pairs of the demonstration: what was matched, what was clipped, how near the output comes to the truth."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist as rc
from recolorist.demo import run as demo
from recolorist.demo.pairs import Pair
from tests.demo.pictures import inside


def test_output_is_what_match_gives(pair: Pair) -> None:
    case = pair.case
    again = rc.match(
        case.content,
        case.style,
        mask=case.mask,
        style_mask=case.style_mask,
        apply_to="mask" if case.mask is not None else "all",
    )
    assert np.array_equal(again, pair.output)


def test_marks_agree_with_the_audit(pair: Pair) -> None:
    values = np.rint(pair.case.content * pair.plan.gain + pair.plan.offset)
    assert np.array_equal(((values < 0) | (values > 255))[inside(pair)].mean(0), pair.audit.clipped)
    assert pair.audit.clipped.max() <= pair.clipped <= pair.audit.clipped.sum()


def test_something_is_clipped_somewhere_and_shown(result: demo.DemoResult) -> None:
    shares = {pair.case.key: pair.clipped for pair in result.pairs}
    assert shares["palette"] > 0.02
    assert shares["fundus"] == 0.0


def test_output_comes_nearer_to_the_true_scan(pair: Pair) -> None:
    if pair.case.truth is None:
        assert pair.case.key == "stain"
        assert pair.error is None
        return
    truth, error = pair.case.truth[inside(pair)].astype(np.float64), pair.error
    assert error is not None
    assert error[0] == pytest.approx(np.abs(pair.case.content[inside(pair)] - truth).mean())
    assert error[1] == pytest.approx(np.abs(pair.output[inside(pair)] - truth).mean())
    assert error[1] < 0.4 * error[0]


def test_the_mask_leaves_the_black_surround_out(result: demo.DemoResult) -> None:
    fundus = result.pairs[-1]
    assert fundus.case.mask is not None
    assert 0.6 < fundus.case.mask.mean() < 0.9
    assert fundus.case.content[~fundus.case.mask].mean() < 15
    assert fundus.plan.content_mean[0] == pytest.approx(fundus.case.content[fundus.case.mask][:, 0].mean())
