"""The records of a planned map: plain numbers, and the arrays that are made of them when somebody asks."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251 - our own objects, written and read in this file
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core.gains import Flags
from recolorist.core.maps import ChannelMap, MatrixMap
from recolorist.core.options import MatchOptions
from recolorist.core.plan import plan_map

CONTENT, STYLE = np.random.default_rng(5).integers(40, 200, (2, 9, 11, 3), dtype=np.uint8)


def moments(mean: Any, std: Any) -> rc.Moments:
    return rc.Moments(100, mean, np.diag(np.square(std)), 255.0)


class TestArrays:
    """The arrays of a plan are made when somebody asks for them."""

    @pytest.fixture(params=["rgb", "ycbcr"])
    def made(self, request: pytest.FixtureRequest) -> rc.Plan:
        return rc.plan(moments([10, 20, 30], [1, 2, 3]), moments([50, 60, 70], [4, 5, 6]), space=request.param)

    @pytest.mark.parametrize("name", ["matrix", "offset", "gain", "content_mean", "content_std", "style_mean", "style_std"])
    def test_each_may_be_first(self, made: rc.Plan, name: str) -> None:
        array = getattr(made, name)
        assert array.shape == ((3, 3) if name == "matrix" else (3,))
        assert getattr(made, name) is array
        assert rc.Plan.from_json(made.to_json()) == made

    def test_numbers_are_those_of_the_arrays(self, made: rc.Plan) -> None:
        gain, offset = made.numbers
        assert (made.matrix.diagonal() if made.is_diagonal else made.matrix.ravel()).tolist() == gain
        assert made.offset.tolist() == offset
        assert made.numbers == (gain, offset)

    def test_what_is_written_to_an_array_counts(self, made: rc.Plan) -> None:
        made.offset[:] = 7.0
        assert made.numbers[1] == [7.0, 7.0, 7.0]

    @pytest.mark.parametrize("asked", [False, True])
    def test_copies_are_equal(self, made: rc.Plan, asked: bool) -> None:
        if asked:
            assert made.matrix.shape == (3, 3)
        assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == copy.deepcopy(made) == made  # noqa: S301
        assert replace(made, strength=0.5).matrix.tolist() == made.matrix.tolist()

    def test_other_attributes_are_unknown(self, made: rc.Plan) -> None:
        with pytest.raises(AttributeError, match="'gains'"):
            made.gains  # noqa: B018
        with pytest.raises(AttributeError):
            made.offset = made.gain  # type: ignore[misc]  # what is tested


class TestPlainNumbers:
    def test_both_kinds_make_the_plan_of_the_public_function(self) -> None:
        content, style = rc.measure(CONTENT), rc.measure(STYLE)
        by_channel = plan_map(content, style, MatchOptions(), 255.0)
        assert isinstance(by_channel, ChannelMap)
        assert by_channel.plan() == rc.plan(content, style)
        mixed = rc.plan(content, style, space="yiq")
        record = MatrixMap(
            mixed.matrix.ravel().tolist(),
            mixed.offset.tolist(),
            mixed.gain.tolist(),
            mixed.flags,
            MatchOptions(space="yiq"),
            255.0,
            content.pairs,
            style.pairs,
        )
        assert record.plan() == mixed

    def test_the_matrix_of_gains_is_diagonal(self) -> None:
        record = ChannelMap([2.0, 3.0], [0.0, 1.0], Flags([(), ()]), MatchOptions(), 255.0, [], [])
        assert record.matrix == [2.0, 0.0, 0.0, 3.0]
