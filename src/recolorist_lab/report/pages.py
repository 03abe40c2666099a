"""Markdown of results: tables from rows, and pages whose tables lie between marks, so that they can be made anew and checked.

<!-- table: name -->
| … |
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from recolorist.errors import OptionError
from recolorist_lab.runs.config import unknown

__all__ = ["GAP", "fill", "finished", "has_result", "markdown", "tables_of"]

Row = TypeVar("Row", bound=Mapping[str, Any])

#: What a table shows where a number would rest on a run that has no result, or was not asked for.
GAP: Final = "—"

_TABLE: Final = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)


def has_result(row: Mapping[str, Any]) -> bool:
    """Whether a row of the ledger is of a finished run; one that is not has its coordinates only.

    >>> has_result({"seed": 0}), has_result({"seed": 0, "result.ssim": 0.8})
    (False, True)
    """
    return any(name.startswith("result.") for name in row)


def finished(rows: Iterable[Row]) -> list[Row]:
    """The rows that have a result."""
    return [row for row in rows if has_result(row)]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table; the first columns are flush left, the others right.

    >>> print(markdown(["space", "SSIM"], [["rgb", "0.84"]]), end="")
    | space | SSIM |
    |:---|---:|
    | rgb | 0.84 |
    """
    if any(len(row) != len(head) for row in rows):
        raise OptionError(f"a row does not have {len(head)} cells, as the head of its table has")
    rule = "|".join([*[":---"] * left, *["---:"] * (len(head) - left)])
    lines = [f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def tables_of(page: str) -> dict[str, str]:
    """The tables of a page by name."""
    found = {match["name"]: match["text"] for match in _TABLE.finditer(page)}
    if page.count("<!-- table:") != len(found):
        raise OptionError("a table of the page has no end, or two have one name")
    return found


def fill(page: str, tables: Mapping[str, str]) -> str:
    r"""The page with every table between marks replaced; a mark without a table, or a table without a mark, is an error.

    >>> fill("Text.\n<!-- table: a -->\nold\n<!-- end -->\n", {"a": "new\n"})
    'Text.\n<!-- table: a -->\nnew\n<!-- end -->\n'
    """
    there = tables_of(page)
    unknown(there, tables, "a mark of the page")
    unknown(tables, there, "a table for the page")
    return _TABLE.sub(lambda match: f"<!-- table: {match['name']} -->\n{tables[match['name']]}<!-- end -->", page)
