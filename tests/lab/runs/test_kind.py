"""What a kind of study demands of its configuration."""

from __future__ import annotations

import dataclasses

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.config import identity, roles
from recolorist_lab.runs.kind import Kind
from recolorist_lab.runs.kinds import KINDS


def test_an_unmarked_field_is_refused_when_the_kind_is_declared() -> None:
    @dataclasses.dataclass(frozen=True)
    class Unmarked:
        seed: int = identity(0)
        folder: str = "data"

    with pytest.raises(OptionError, match=r"the field 'folder' of Unmarked has no role"):
        Kind(Unmarked, KINDS["rehearsal"].run)


def test_a_configuration_that_can_change_is_refused() -> None:
    @dataclasses.dataclass
    class Loose:
        seed: int = identity(0)

    with pytest.raises(OptionError, match="not a frozen dataclass"):
        roles(Loose)
