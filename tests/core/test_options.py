"""The options of a match: checked once when they are made, then carried as they are."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core.options import MATCHERS, MatchOptions, match_options
from recolorist.errors import OptionError

WRONG: list[tuple[str, Any]] = [
    ("method", "mean_sdt"),
    ("method", None),
    ("space", "rbg"),
    ("strength", 1.01),
    ("strength", -0.01),
    ("strength", math.nan),
    ("strength", "1"),
    ("strength", True),
    ("max_gain", -1),
    ("max_gain", math.nan),
    ("eps_mode", "papers"),
    ("strict", "yes"),
    ("clip", 2),
    ("apply_to", "maks"),
    ("on_nonfinite", "skip"),
    ("blank", "leave"),
    ("max_clip", 1.5),
    ("max_loss", -0.1),
    ("ties", "none"),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_a_wrong_value_is_named(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"^{name}=") as refusal:
        MatchOptions(**{name: value})
    assert repr(value) in str(refusal.value)


def test_every_option_has_a_wrong_value_above() -> None:
    assert {name for name, _ in WRONG} == {entry.name for entry in fields(MatchOptions) if entry.init}


@pytest.mark.parametrize("method", MATCHERS)
@pytest.mark.parametrize("space", rc.SPACES)
def test_what_follows_from_method_and_space(method: str, space: str) -> None:
    options = MatchOptions(method, space)
    assert options.needs_pixels is (method in {"histogram", "exact_histogram"})
    assert options.measured_space == ("rgb" if rc.SPACES[space].is_linear else space)
    assert options.by_channel is (method == "mean_std" and space == "rgb")
    assert not options.is_limited


@pytest.mark.parametrize("limits", [{"max_clip": 0.0}, {"max_loss": 0.0}, {"max_clip": 1, "max_loss": 1}], ids=str)
def test_a_limit_of_any_size_is_a_limit(limits: dict[str, float]) -> None:
    assert MatchOptions(**limits).is_limited  # type: ignore[arg-type]


def test_numbers_become_plain_floats() -> None:
    numbers: dict[str, Any] = {"strength": np.float32(0.5), "max_gain": np.int64(3)}
    options = MatchOptions(**numbers)
    assert (type(options.strength), type(options.max_gain)) == (float, float)
    assert options == MatchOptions(strength=0.5, max_gain=3.0)


def test_options_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        MatchOptions().strength = 0.5  # type: ignore[misc]


@pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
def test_a_limit_on_lost_detail_needs_a_gain_to_reduce(method: str) -> None:
    with pytest.raises(OptionError, match="has no gain to reduce; use mean_std"):
        MatchOptions(method, max_loss=0.1)
    assert MatchOptions(method, max_clip=0.1).is_limited


@pytest.mark.parametrize("method", ["mean_std", "histogram", "covariance"])
def test_ties_are_for_the_exact_histogram(method: str) -> None:
    with pytest.raises(OptionError, match="only exact_histogram orders equal pixels"):
        MatchOptions(method, ties="position")


class TestAtStrength:
    def test_only_the_strength_differs(self) -> None:
        options = MatchOptions("covariance", "lab", 0.5, 3.0, clip=False, apply_to="mask", blank="keep", max_clip=0.1)
        other = options.at_strength(0.25)
        assert other == replace(options, strength=0.25)
        assert (other.is_limited, other.measured_space, other.by_channel) == (True, "lab", False)
        assert options.strength == 0.5

    def test_the_same_strength_is_the_same_object(self) -> None:
        options = MatchOptions()
        assert options.at_strength(1.0) is options

    @pytest.mark.parametrize("strength", [-0.1, 1.1, math.nan])
    def test_a_wrong_strength_is_refused(self, strength: float) -> None:
        with pytest.raises(OptionError, match="strength="):
            MatchOptions().at_strength(strength)


class TestMatchOptions:
    def test_equal_values_give_one_object(self) -> None:
        assert match_options("mean_std", "rgb", 1.0) is match_options("mean_std", "rgb", 1.0)

    def test_true_is_not_taken_for_the_number_that_equals_it(self) -> None:
        match_options("mean_std", "rgb", 1)
        with pytest.raises(OptionError, match="strength=True"):
            match_options("mean_std", "rgb", True)

    @pytest.mark.parametrize("value", [[1.0], {}, np.ones(2)], ids=str)
    def test_what_cannot_be_hashed_is_refused_by_name(self, value: Any) -> None:
        with pytest.raises(OptionError, match="strength="):
            match_options("mean_std", "rgb", value)
