"""The error classes: one to catch them all, and each a ValueError."""

from __future__ import annotations

import pytest

import recolorist as rc
from recolorist import errors
from recolorist.optional import MissingExtraError


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_caught_as_recolorist_error_and_as_value_error(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, rc.RecoloristError)
    assert issubclass(kind, ValueError)


def test_a_missing_extra_is_an_error_of_ours() -> None:
    assert issubclass(MissingExtraError, rc.RecoloristError)


def test_the_public_name_is_the_class_itself() -> None:
    assert rc.RecoloristError is errors.RecoloristError
