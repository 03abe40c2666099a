"""What a kind of study is: a configuration, and a function that runs one cell of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json, roles, unknown
from recolorist_lab.runs.fingerprint import code_fingerprint

__all__ = ["SELECTIONS", "Context", "Heading", "Input", "Kind"]

#: The rules by which a number may have been picked; the name of the rule is part of every result.
SELECTIONS: Final = MappingProxyType(
    {
        "none": "nothing was chosen: the cell has one result and it is the one reported",
        "validation_loss": "the epoch with the lowest validation loss, or with keep = last the last one; the test images were "
        "looked at once, afterwards",
    }
)


class Input(Protocol):
    """A finished cell that another one builds on."""

    @property
    def config(self) -> Mapping[str, Json]:
        """Its identity fields."""

    @property
    def result(self) -> Mapping[str, Json]:
        """What it returned."""

    def read(self, name: str) -> bytes:
        """Read a file that the cell kept, and verify it against the checksum in its result.

        Args:
            name: Name of the file.

        Returns:
            Its bytes.

        Raises:
            CorruptError: It does not verify.
        """


class Context(Protocol):
    """What a running cell may ask of the ledger."""

    @property
    def inputs(self) -> Mapping[str, tuple[Input, ...]]:
        """The finished cells this one builds on, by the name of their grid, in the order of the study."""

    def resume(self) -> tuple[int, bytes] | None:
        """Return the newest checkpoint that verifies.

        Returns:
            Step and data; None where there is none.
        """

    def save(self, step: int, data: bytes) -> None:
        """Write a checkpoint; the last two are kept.

        Args:
            step: Its number; numbers must rise.
            data: Its bytes.
        """

    def keep(self, name: str, data: bytes) -> None:
        """Keep a file beside the result, such as trained weights, for cells that build on this one.

        Args:
            name: Name of the file.
            data: Its bytes.
        """


@dataclass(frozen=True)
class Heading:
    """The title of a study in the report, and its place there; lower numbers come first."""

    title: str
    order: int


def _no_seconds(_config: Any, _rates: Any) -> None:
    """Estimate nothing: the cell takes moments."""


def _no_bytes(_rates: Any) -> int:
    """Keep nothing that is worth counting."""
    return 0


@dataclass(frozen=True)
class Kind:
    """Everything the lab knows about one kind of study.

    Args:
        config: The frozen dataclass of one cell; every field is ``identity()`` or ``operational()``.
        run: Runs one cell and returns its result.
        selection: The rule by which a number was picked, a key of ``SELECTIONS``.
        data: Identifies the data a cell reads, so that a result from other data is not taken for this one's.
        code: Names the modules and packages that a configuration asks for, such as a network; imports need not be named.
        revision: Raised by hand when results change for a reason that sources do not show, such as compiled loops.
        headings: Title and order of the paper's studies of this kind, by the name of the study.
        alone: Whether a cell measures the machine, so that nothing may run beside it.
        seconds: Estimates the seconds of a configuration from rates; None means moments.
        bytes_kept: Estimates the bytes that a cell keeps, from rates.
        show: Adds tables and figures of some cells to a section of the report; None lists the cells.
    """

    config: type[Any]
    run: Callable[[Any, Context], Mapping[str, Json]]
    selection: str = "none"
    data: Callable[[Any], str] = lambda _: "synthetic"
    code: Callable[[Any], Iterable[str]] = lambda _: ()
    revision: int = 1
    headings: Mapping[str, Heading] = field(default_factory=dict)
    alone: bool = False
    seconds: Callable[[Any, Any], float | None] = _no_seconds
    bytes_kept: Callable[[Any], int] = _no_bytes
    show: Callable[[Any, Any, Any], None] | None = None

    def __post_init__(self) -> None:
        roles(self.config)
        unknown([self.selection], SELECTIONS, f"the selection rule of {self.config.__name__}")
        if self.run.__module__ == "__main__":
            raise OptionError("a kind must live in a module that workers can import, not in the script that was started")

    def fingerprint(self, config: Any) -> str:
        """Hash the code that can change the result of a configuration.

        Args:
            config: The configuration of the cell.

        Returns:
            A sha256 in hexadecimal.
        """
        return code_fingerprint(self.run.__module__, *sorted(set(self.code(config))))
