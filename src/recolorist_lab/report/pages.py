"""Fill and check the tables between marks in Markdown pages.

<!-- table: name -->
| … |
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.report.table import Table
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs.config import unknown

__all__ = ["fill", "tables_of"]

_TABLE: Final = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)


def tables_of(page: str) -> dict[str, str]:
    """Find the tables of a page.

    Args:
        page: The text of the page.

    Returns:
        Their texts by name.

    Raises:
        OptionError: A table has no end, or two have one name.
    """
    texts = {match["name"]: match["text"] for match in _TABLE.finditer(page)}
    if page.count("<!-- table:") != len(texts):
        raise OptionError("a table of the page has no end, or two have one name")
    return texts


def fill(page: str, tables: Mapping[str, Table | str]) -> str:
    r"""Replace every table of a page that stands between marks.

    Args:
        page: The page, as Markdown.
        tables: A table or its text, by the name of its mark.

    Returns:
        The page with the new tables.

    Raises:
        OptionError: A mark has no table, or a table no mark.

    Example:
        >>> fill("Text.\n<!-- table: a -->\nold\n<!-- end -->\n", {"a": "new\n"})
        'Text.\n<!-- table: a -->\nnew\n<!-- end -->\n'
    """
    marks = tables_of(page)
    unknown(marks, tables, "a mark of the page")
    unknown(tables, marks, "a table for the page")
    texts = {name: table if isinstance(table, str) else markdown(table) for name, table in tables.items()}
    return _TABLE.sub(lambda match: f"<!-- table: {match['name']} -->\n{texts[match['name']]}<!-- end -->", page)
