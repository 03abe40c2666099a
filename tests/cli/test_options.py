"""Commands made from option objects: every field of the table is an option, and the command receives checked objects."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from recolorist.cli import common
from recolorist.cli.main import app
from recolorist.cli.options import OPTIONS, strength_of, with_options
from recolorist.collections.options import (
    AugmentOptions,
    BankOptions,
    DriftOptions,
    HarmoniseOptions,
    OutputOptions,
    SourceOptions,
    Where,
)
from recolorist.core.options import MatchOptions
from recolorist.io.images import Reading


@dataclass(frozen=True)
class Inner:
    strength: float = 1.0
    max_gain: float = 10.0


@dataclass(frozen=True)
class Outer:
    inner: Inner
    strength: float = 0.5
    unlisted: int = 7


def received(*hidden: str, **other: Any) -> tuple[Any, list[Outer]]:
    """A command of one option object, and what it was called with."""
    calls: list[Outer] = []

    @with_options(*hidden, **other)
    def command(options: Outer) -> None:
        """Do something."""
        calls.append(options)

    return command, calls


class TestWithOptions:
    def test_fields_of_inner_objects_are_options_too(self) -> None:
        command, calls = received()
        assert list(inspect.signature(command).parameters) == ["strength", "max_gain"]
        command(strength=0.2, max_gain=3.0)
        assert calls == [Outer(Inner(max_gain=3.0), 0.2)]

    def test_a_field_of_the_outer_object_is_not_repeated_in_the_inner_one(self) -> None:
        command, calls = received()
        command(strength=0.2, max_gain=3.0)
        assert calls[0].inner.strength == 1.0

    def test_defaults_are_those_of_the_object(self) -> None:
        command, _ = received()
        assert [parameter.default for parameter in inspect.signature(command).parameters.values()] == [0.5, 10.0]

    def test_hidden_fields_keep_their_defaults(self) -> None:
        command, calls = received("max_gain")
        assert list(inspect.signature(command).parameters) == ["strength"]
        command(strength=0.1)
        assert calls[0].inner.max_gain == 10.0

    def test_an_annotation_of_the_command_goes_before_the_table(self) -> None:
        command, calls = received(unlisted=Annotated[int, typer.Option("--other")])
        command(strength=0.1, max_gain=1.0, unlisted=9)
        assert calls[0].unlisted == 9

    def test_name_and_help_are_those_of_the_command(self) -> None:
        command, _ = received()
        assert (command.__name__, command.__doc__) == ("command", "Do something.")


class TestTable:
    def test_every_entry_is_a_field(self) -> None:
        objects = [
            MatchOptions,
            AugmentOptions,
            HarmoniseOptions,
            BankOptions,
            SourceOptions,
            OutputOptions,
            DriftOptions,
            Reading,
            Where,
        ]
        names = {entry.name for group in (*objects, DriftOptions) for entry in fields(group)}
        assert set(OPTIONS) - names == {"style_mask", "with_histograms"}  # of Masks, MeasureOptions

    @pytest.mark.parametrize("name", ["match", "augment", "harmonise", "audit", "drift"])
    def test_every_option_of_a_command_has_one_name_and_help(self, name: str) -> None:
        command: Any = get_command(app)
        parameters = command.commands[name].params
        flags = [flag for parameter in parameters for flag in parameter.opts]
        assert len(flags) == len(set(flags))
        assert all(parameter.help for parameter in parameters)

    def test_commands_offer_what_they_can_honour(self) -> None:
        command: Any = get_command(app)
        offered = {name: {parameter.name for parameter in node.params} for name, node in command.commands.items()}
        assert {"eps_mode", "strict", "style_mask", "ties"} <= offered["match"]
        assert not {"eps_mode", "strict", "label_from", "ties"} & offered["harmonise"]
        assert {"copies", "sampler", "max_clip", "label_from"} <= offered["augment"]
        assert "pool" in offered["harmonise"]


class TestTypedValues:
    @pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("0.5-1", (0.5, 1.0)), (0.25, 0.25)])
    def test_strength(self, text: Any, value: Any) -> None:
        assert strength_of(text) == value

    @pytest.mark.parametrize("text", ["much", "0.1-", "-"])
    def test_strength_that_is_no_number(self, text: str) -> None:
        with pytest.raises(typer.BadParameter, match="neither a number nor a range"):
            strength_of(text)

    def test_levels(self) -> None:
        assert [common.level_of(text) for text in ("none", "None", "0", "-1", -1)] == [None, None, 0, -1, -1]
        with pytest.raises(typer.BadParameter, match="neither a whole number nor 'none'"):
            common.level_of("first")
