"""Tables as typed values: columns with a type, and cells that are numbers, ranges or text.

Nothing here knows a file format; :mod:`recolorist_lab.report.writers` turns a table into Markdown, LaTeX, CSV or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from recolorist.errors import OptionError

__all__ = ["DASH", "GAP", "Cell", "Code", "Column", "Digits", "Number", "Range", "Strong", "Table", "label", "text_of"]

DASH: Final = "—"  #: stands where a number would rest on a run that has no result, or was not asked for
_ARROWS: Final = {"": "", "higher": " ↑", "lower": " ↓"}


@dataclass(frozen=True)
class Digits:
    """How many digits of a number are shown.

    ``decimals`` counts digits after the point, ``significant`` all digits that count. ``ratio`` shows ``count`` of them, and
    one more from a hundred on. ``p`` shows ``count`` decimals, and powers of ten where these would be zeros.

    Example:
        >>> Digits(3).text(0.12345), Digits(3, "significant").text(14373.39), Digits(2, "ratio").text(52.25)
        ('0.123', '14,400', '52')
    """

    count: int
    kind: Literal["decimals", "significant", "ratio", "p"] = "decimals"

    def text(self, value: float) -> str:
        """Write a number with these digits.

        Args:
            value: The number.

        Returns:
            The text.
        """
        if self.kind == "decimals":
            return f"{value:.{self.count}f}"
        if self.kind == "p":
            return f"{value:.{self.count}f}" if value >= 10 ** (1 - self.count) else f"{value:.2e}"
        count = self.count + (1 if self.kind == "ratio" and value >= 100 else 0)
        return f"{float(f'{value:.{count}g}'):,.10g}"


@dataclass(frozen=True)
class Number:
    """A value, or None where it is missing.

    Args:
        value: The number.
        spread: Its standard deviation, shown after ±.
        digits: Digits of this number; None takes those of the column.
        unit: A unit shown behind the number, such as ``"%"``.
        beside: Another number in brackets, such as the paper's.
        mark: A sign behind everything, such as ``"†"``.
    """

    value: float | None
    spread: float | None = None
    digits: Digits | None = None
    unit: str = ""
    beside: Number | None = None
    mark: str = ""


@dataclass(frozen=True)
class Range:
    """Two ends of an interval."""

    low: float
    high: float
    digits: Digits | None = None


class Strong(NamedTuple):
    """Emphasised text."""

    text: str


class Code(NamedTuple):
    """Text in the font of code."""

    text: str


#: Words, or words some of which are marked.
Words: TypeAlias = str | tuple[str | Strong | Code, ...]
Cell: TypeAlias = Words | int | Number | Range

#: A missing number.
GAP: Final = Number(None)


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Args:
        name: What is measured, or what the words are.
        unit: Its unit, shown in the head.
        better: Whether higher or lower values are better; shown as an arrow.
        digits: Digits of its numbers.
        note: What tells columns of the same name apart.
        words: Whether it holds words, which are flush left.
        brackets: What encloses a number beside another.

    Example:
        >>> Column("LPIPS", better="lower", note="paper").heading, Column("mean", "ms").heading
        ('LPIPS ↓ paper', 'mean, ms')
    """

    name: str
    unit: str = ""
    better: Literal["", "higher", "lower"] = ""
    digits: Digits | None = None
    note: str = ""
    words: bool = False
    brackets: str = "[]"

    @property
    def heading(self) -> str:
        """The head of the column."""
        unit, note = f", {self.unit}" if self.unit else "", f" {self.note}" if self.note else ""
        return f"{self.name}{_ARROWS[self.better]}{unit}{note}"


def label(name: str) -> Column:
    """Return a column of words.

    Args:
        name: The heading.

    Returns:
        The column.

    Example:
        >>> label("method").words
        True
    """
    return Column(name, words=True)


@dataclass(frozen=True)
class Table:
    """Columns and rows, with a title and a note that says what the numbers are based on.

    Raises:
        OptionError: If a row does not have a cell for every column.

    Example:
        >>> table = Table((label("space"), Column("SSIM", digits=Digits(2))), [("rgb", Number(0.841, 0.01))])
        >>> table.texts()
        (('rgb', '0.84 ± 0.01'),)
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        if any(len(row) != len(self.columns) for row in self.rows):
            raise OptionError(f"a row does not have {len(self.columns)} cells, as the head of its table has")

    @property
    def head(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return tuple(column.heading for column in self.columns)

    @property
    def has_spread(self) -> bool:
        """Whether a number shows its deviation."""
        numbers = [cell for cell in self.cells() if isinstance(cell, Number)]
        beside = [number.beside for number in numbers if number.beside is not None]
        return any(number.spread is not None for number in (*numbers, *beside))

    def cells(self) -> Iterable[Cell]:
        """Yield every cell, row by row.

        Yields:
            Cells.
        """
        for row in self.rows:
            yield from row

    def named(self, title: str, note: str = "") -> Table:
        """Return the same table with a title and a note.

        Args:
            title: The title.
            note: The note.

        Returns:
            The table.
        """
        return replace(self, title=title, note=note)

    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as text without emphasis.

        Returns:
            One tuple of texts for each row.
        """
        return tuple(tuple(text_of(cell, column) for cell, column in zip(row, self.columns, strict=True)) for row in self.rows)


def text_of(cell: Cell, column: Column) -> str:
    """Return a cell as text without emphasis.

    Args:
        cell: The cell.
        column: Its column, which says how many digits to write.

    Returns:
        The text.

    Example:
        >>> text_of(Number(None, beside=Number(0.79, digits=Digits(2))), Column("MM"))
        '— [0.79]'
    """
    if isinstance(cell, Number):
        return _number(cell, column)
    if isinstance(cell, Range):
        return f"{_digits(cell.low, cell.digits, column)} – {_digits(cell.high, cell.digits, column)}"
    if isinstance(cell, tuple):
        return "".join(part if isinstance(part, str) else part.text for part in cell)
    return str(cell)


def _number(number: Number, column: Column) -> str:
    text = DASH if number.value is None else _digits(number.value, number.digits, column)
    if number.value is not None and number.spread is not None:
        text += f" ± {_digits(number.spread, number.digits, column)}"
    if number.value is not None and number.unit:
        text += f" {number.unit}"
    if number.beside is not None:
        text += f" {column.brackets[0]}{_number(number.beside, column)}{column.brackets[1]}"
    return f"{text} {number.mark}" if number.mark else text


def _digits(value: float, digits: Digits | None, column: Column) -> str:
    rule = digits or column.digits
    return str(value) if rule is None else rule.text(value)
