"""The table of a study, computed from the results each time; missing results must be marked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from recolorist import optional
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs.config import Json, identity_of
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger, State
from recolorist_lab.runs.sealed import CorruptError
from recolorist_lab.runs.study import Cell, Study

__all__ = ["FORMATS", "IncompleteError", "finished", "has_result", "render", "rows"]

Row: TypeAlias = dict[str, Json]
FORMATS: Final = (".csv", ".parquet", ".json")
_NAMED: Final = 10
_AnyRow = TypeVar("_AnyRow", bound=Mapping[str, Any])


class IncompleteError(RecoloristError):
    """Some cells of a study have no valid result."""


def rows(study: Study, ledger: Ledger, *, partial: bool = False, timings: bool = False) -> list[Row]:
    """Collect the results of a study, one row for each cell, in its order.

    Args:
        study: The study.
        ledger: Where its results are.
        partial: Allow cells without a result; their rows have coordinates only.
        timings: Add the seconds that each run took.

    Returns:
        Rows with the coordinates in the grid, the result, and the run that it comes from.

    Raises:
        IncompleteError: A cell has no result, and gaps are not allowed.
    """
    now = ledger.now()
    states = [(cell, _state(ledger, cell, now)) for cell in study.cells]
    gaps = [(cell, state) for cell, state in states if state.name != "done"]
    if gaps and not partial:
        raise IncompleteError(_refusal(gaps, len(states)))
    return [_row(ledger, cell, state, partial=partial, timings=timings) for cell, state in states]


def _state(ledger: Ledger, cell: Cell, now: float) -> State:
    """Return the state of a cell, with all its files verified."""
    state = ledger.state(cell, now)
    if state.name == "done":
        try:
            ledger.result(cell).verify()
        except CorruptError as error:
            return State("corrupt", str(error))
    return state


def _refusal(gaps: list[tuple[Cell, State]], total: int) -> str:
    listed = "; ".join(
        f"{cell.name} (run {cell.run_id[:12]}) is {state.name}{f': {state.detail}' if state.detail else ''}"
        for cell, state in gaps[:_NAMED]
    )
    more = f"; and {len(gaps) - _NAMED} more" if len(gaps) > _NAMED else ""
    return f"{len(gaps)} of {total} cells have no result to show: {listed}{more}. Run the sweep, or mark the gaps with --partial"


def _row(ledger: Ledger, cell: Cell, state: State, *, partial: bool, timings: bool) -> Row:
    row: Row = {"grid": cell.grid, **identity_of(cell.config), "selection": KINDS[cell.kind].selection, "run": cell.run_id}
    if partial:
        row["state"] = state.name
    if state.name == "done":
        result = ledger.result(cell)
        row.update(_flat(dict(result.result), "result."))
        row.update({"seconds": result.seconds} if timings else {})
    return row


def _flat(value: dict[str, Json], prefix: str) -> Row:
    """Turn nested tables into columns with dots, so that every format can hold them."""
    flat: Row = {}
    for name, item in value.items():
        flat.update(_flat(item, f"{prefix}{name}.") if isinstance(item, dict) else {f"{prefix}{name}": item})
    return flat


def has_result(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of a finished run. Other rows have coordinates only.

    Args:
        row: A row of a study's table.

    Returns:
        True if it has a column that begins with ``result.``.

    Example:
        >>> has_result({"seed": 0}), has_result({"seed": 0, "result.ssim": 0.8})
        (False, True)
    """
    return any(name.startswith("result.") for name in row)


def finished(rows: Iterable[_AnyRow]) -> list[_AnyRow]:
    """Return the rows that have a result.

    Args:
        rows: Rows of a study.

    Returns:
        Those that have one, in their order.
    """
    return [row for row in rows if has_result(row)]


def render(table: list[Row], suffix: str) -> bytes:
    r"""Write rows as a file of a format. The same rows always give the same bytes.

    Args:
        table: The rows.
        suffix: One of ``FORMATS``, with its dot.

    Returns:
        The bytes of the file.

    Raises:
        OptionError: The format is not known.

    Example:
        >>> render([{"seed": 0, "error": 0.5}, {"seed": 1}], ".csv")
        b'seed,error\n0,0.5\n1,\n'
    """
    if suffix not in FORMATS:
        raise OptionError(f"a table cannot be written as {suffix!r}; accepted are {', '.join(FORMATS)}")
    columns = list(dict.fromkeys(name for row in table for name in row))
    if suffix == ".json":
        return (json.dumps(table, indent=1, allow_nan=False) + "\n").encode()
    return _csv(table, columns) if suffix == ".csv" else _parquet(table, columns)


def _csv(table: list[Row], columns: list[str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(row.get(name)) for name in columns] for row in table)
    return text.getvalue().encode()


def _field(value: Json) -> Any:
    return json.dumps(value) if isinstance(value, bool | list) else value


def _parquet(table: list[Row], columns: list[str]) -> bytes:
    arrow: Any = optional.load("pyarrow", "write Parquet; .csv needs nothing")
    parquet: Any = optional.load("pyarrow.parquet", "write Parquet; .csv needs nothing")
    arrays = [_array(arrow, [row.get(name) for row in table]) for name in columns]
    target = io.BytesIO()
    parquet.write_table(arrow.table(arrays, names=columns), target)
    return target.getvalue()


def _array(arrow: Any, values: list[Json]) -> Any:
    """Make a column of one type; where cells have different types, write the values as JSON."""
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return arrow.array([None if value is None else json.dumps(value) for value in values])
