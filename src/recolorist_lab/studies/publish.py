"""Write the results of a study as one JSON document: every row, and the environment it was made in.

    {"format": …, "study": …, "environments": […], "grids": [{"same": {…}, "columns": […], "rows": [[…], …]}, …]}

What all rows of a grid share is written once, under ``same``. A row's ``environment`` is a place in the list of environments.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist_lab.report.rows import Row, rows
from recolorist_lab.runs.config import Json, canonical
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study
from recolorist_lab.studies.origin import refuse_unclean

__all__ = ["FORMAT", "document", "read", "write"]

FORMAT: Final = "recolorist.results/1"


def document(study: Study, ledger: Ledger, *, partial: bool = False, unclean: bool = False) -> dict[str, Any]:
    """Collect the results of a study.

    Args:
        study: The study.
        ledger: Where its results are.
        partial: Allow cells without a result.
        unclean: Allow results whose code is in no commit.

    Returns:
        The document, as :func:`write` takes it.

    Raises:
        OptionError: Results come from changed sources or from an unknown commit.
        IncompleteError: A cell has no result, and gaps are not allowed.
    """
    table = rows(study, ledger, partial=partial, timings=True)
    environments: dict[bytes, Any] = {}
    for cell, row in zip(study.cells, table, strict=True):
        row["data"] = cell.data  # so that run ids can be compared where the data are not
        if "seconds" in row:
            environment = ledger.result(cell).payload["environment"]
            environments.setdefault(canonical(environment), environment)
            row["environment"] = list(environments).index(canonical(environment))
    if not unclean:
        refuse_unclean(list(environments.values()))
    return packed(study.name, list(environments.values()), table)


def packed(study: str, environments: Sequence[Any], table: Sequence[Row]) -> dict[str, Any]:
    """Pack rows without repetition. Those of a grid stand together, as they do in a study.

    Args:
        study: The name of the study.
        environments: Descriptions of the machines and versions.
        table: The rows.

    Returns:
        The document, ready for JSON.

    Example:
        >>> grid, = packed("s", [], [{"a": 1, "b": 2}, {"a": 1, "c": 3}])["grids"]
        >>> grid["same"], grid["columns"], grid["rows"]
        ({'a': 1}, ['b', 'c'], [[2, None], [None, 3]])
    """
    groups = [list(group) for _, group in itertools.groupby(table, key=lambda row: row.get("grid"))]
    return {"format": FORMAT, "study": study, "environments": list(environments), "grids": [_grid(group) for group in groups]}


def _grid(table: Sequence[Row]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in table for name in row))
    first = table[0]
    same = {name for name in names if all(name in row and row[name] == first.get(name) for row in table)}
    columns = [name for name in names if name not in same]
    rows = [[row.get(name) for name in columns] for row in table]
    return {"same": {name: first[name] for name in names if name in same}, "columns": columns, "rows": rows}


def unpacked(contents: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a packed document. A value that a row does not have, or that is null, is left out of it.

    Args:
        contents: The document.

    Returns:
        The rows.

    Raises:
        OptionError: The document is of another format.

    Example:
        >>> unpacked(packed("s", [], [{"a": 1, "b": 2}, {"a": 1, "c": 3}]))
        [{'a': 1, 'b': 2}, {'a': 1, 'c': 3}]
    """
    if contents.get("format") != FORMAT:
        raise OptionError(f"the document is of the format {contents.get('format')!r}; known is {FORMAT}")
    return [
        {
            name: value
            for name, value in {**grid["same"], **dict(zip(grid["columns"], row, strict=True))}.items()
            if value is not None
        }
        for grid in contents["grids"]
        for row in grid["rows"]
    ]


def write(contents: Mapping[str, Any]) -> bytes:
    """Write a document as JSON with one row per line, so that changes can be seen.

    Args:
        contents: The document.

    Returns:
        The bytes.
    """
    lines = [f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in contents.items() if name != "grids"]
    grids = ",\n".join(_lines(grid) for grid in contents["grids"])
    return ("{\n" + ",\n".join([*lines, f' "grids": [\n{grids}\n ]']) + "\n}\n").encode()


def _lines(grid: Mapping[str, Any]) -> str:
    head = ",\n".join(f"   {json.dumps(name)}: {json.dumps(grid[name], allow_nan=False)}" for name in ("same", "columns"))
    body = ",\n".join(f"    {json.dumps(row, allow_nan=False, separators=(',', ':'))}" for row in grid["rows"])
    return f'  {{\n{head},\n   "rows": [\n{body}\n   ]\n  }}'


def read(data: bytes) -> tuple[list[Row], list[dict[str, Json]]]:
    """Read a document.

    Args:
        data: The bytes of the file.

    Returns:
        Its rows and its environments.
    """
    contents = json.loads(data)
    return unpacked(contents), contents["environments"]
