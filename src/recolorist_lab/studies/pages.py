"""Markdown of results: tables from rows, and pages whose tables lie between marks, so that they can be made anew and checked.

<!-- table: name -->
| … |
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.config import unknown

__all__ = ["fill", "markdown", "tables_of"]

_TABLE: Final = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)


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
