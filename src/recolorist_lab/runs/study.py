"""Studies: a TOML file becomes a list of cells, each with its own run id.

A study has a name and one or more grids. A grid names a kind, sets fields, and spans axes; its cells are all combinations of the
axes' values. A grid may need another. Each of its cells then depends on those cells of the other whose fields named in ``on``
have the same values, and their run ids become part of its own.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs.config import Json, digest, identity_of, operational, parse, roles, unknown
from recolorist_lab.runs.kinds import KINDS

__all__ = ["Cell", "Resources", "Study", "StudyError", "load"]

_MOST: Final = 1_000_000  # cells; a study with more is taken for a typing error


class StudyError(RecoloristError):
    """A study file that cannot be used."""


@dataclass(frozen=True)
class Resources:
    """What one cell takes of a machine; Ray schedules by it."""

    cpus: float = operational(1.0)
    gpus: float = operational(0.0)
    memory_gb: float = operational(0.0)

    def __post_init__(self) -> None:
        if min(self.cpus, self.gpus, self.memory_gb) < 0:
            raise OptionError(
                f"cpus = {self.cpus:g}, gpus = {self.gpus:g}, memory_gb = {self.memory_gb:g}; accepted is zero or more"
            )


@dataclass(frozen=True)
class Cell:
    """One run: its configuration, what it builds on, and the code and data it is made with."""

    grid: str
    kind: str
    config: Any
    axes: tuple[str, ...] = ()
    inputs: tuple[tuple[str, Cell], ...] = ()
    resources: Resources = field(default_factory=Resources)
    code: str = ""
    data: str = ""

    @cached_property
    def identity(self) -> dict[str, Json]:
        """Everything that can change the result; its hash is the run id."""
        return {
            "kind": self.kind,
            "revision": KINDS[self.kind].revision,
            "config": identity_of(self.config),
            "inputs": [[grid, cell.run_id] for grid, cell in self.inputs],
            "code": self.code,
            "data": self.data,
        }

    @cached_property
    def run_id(self) -> str:
        """The sha256 of the identity."""
        return digest(self.identity)

    @cached_property
    def config_digest(self) -> str:
        """The hash of the coordinates alone: versions of the same cell from other code or data share it, so they are found."""
        return digest([self.kind, identity_of(self.config), [[grid, cell.config_digest] for grid, cell in self.inputs]])

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.grid}[{', '.join(f'{axis}={getattr(self.config, axis)}' for axis in self.axes)}]"


@dataclass(frozen=True)
class Study:
    """Cells in the order of the file; a cell comes after those it builds on."""

    name: str
    cells: tuple[Cell, ...]

    def grids(self) -> dict[str, list[Cell]]:
        """Return the cells by grid.

        Returns:
            The cells by name of the grid.
        """
        by_grid: dict[str, list[Cell]] = {}
        for cell in self.cells:
            by_grid.setdefault(cell.grid, []).append(cell)
        return by_grid


class _Grid(NamedTuple):
    kind: str
    name: str
    set: Any = None
    axes: Any = None
    needs: Any = None
    resources: Any = None


@dataclass(frozen=True)
class _Need:
    grid: str = operational()
    on: tuple[str, ...] = operational(())


def load(path: Path) -> Study:
    """Read a study.

    Args:
        path: Its TOML file.

    Returns:
        The study with all its cells.

    Raises:
        StudyError: The file cannot be read, or something in it is not accepted; the message names the file and the place in it.
    """
    try:
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{path} is not valid TOML: {error}") from error
    try:
        return _study(document, path.name)
    except OptionError as error:
        raise StudyError(str(error)) from error


def _study(document: Mapping[str, Any], file: str) -> Study:
    unknown(document, ("name", "about", "grid"), file)
    tables, name = document.get("grid"), document.get("name")
    if not isinstance(name, str) or not name:
        raise OptionError(f'{file}: a study must have a name; add name = "…" at the top')
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise OptionError(f"{file}: a study must have at least one [[grid]]; add one with its kind")
    grids: dict[str, list[Cell]] = {}
    for number, table in enumerate(tables, 1):
        grid = _grid(table, f"{file}, grid {number}", fallback=name if len(tables) == 1 else f"{name}-{number}")
        if grid.name in grids:
            raise OptionError(f"{file}: two grids are called {grid.name!r}; give each its own name")
        grids[grid.name] = _cells(grid, f"{file}, grid {grid.name!r}", grids)
    cells = tuple(itertools.chain.from_iterable(grids.values()))
    _refuse_twins(cells, file)
    return Study(name, cells)


def _grid(table: Mapping[str, Any], where: str, fallback: str) -> _Grid:
    unknown(table, _Grid._fields, where)
    if not isinstance(table.get("kind"), str):
        raise OptionError(f'{where}: a grid must name its kind; add kind = "…", one of {", ".join(map(repr, sorted(KINDS)))}')
    unknown([table["kind"]], KINDS, f"{where}: kind")
    if not isinstance(table.get("name", fallback), str):
        raise OptionError(f"{where}: the name is {table['name']!r}; accepted is text")
    return _Grid(**{"name": fallback, **table})


def _cells(grid: _Grid, where: str, earlier: Mapping[str, list[Cell]]) -> list[Cell]:
    kind = KINDS[grid.kind]
    fixed, axes = _table(grid.set, f"{where}: set"), _table(grid.axes, f"{where}: axes")
    unknown([*fixed, *axes], roles(kind.config), where)
    _refuse_axes(fixed, axes, where)
    needs = _needs(grid.needs, where, earlier)
    resources = parse(Resources, _table(grid.resources, f"{where}: resources"), f"{where}: resources")
    cells = []
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        config = parse(kind.config, {**fixed, **point}, where)
        inputs = tuple((need.grid, cell) for need in needs for cell in _matching(need, config, earlier[need.grid], where))
        cells.append(
            Cell(grid.name, grid.kind, config, tuple(axes), inputs, resources, kind.fingerprint(config), kind.data(config))
        )
    return cells


def _table(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise OptionError(f"{where} is {value!r}; accepted is a table")
    return value


def _refuse_axes(fixed: Mapping[str, Any], axes: Mapping[str, Any], where: str) -> None:
    for name, values in axes.items():
        if name in fixed:
            raise OptionError(f"{where}: {name!r} is both set and an axis; leave one of the two out")
        if not isinstance(values, list) or not values:
            raise OptionError(f"{where}: the axis {name!r} is {values!r}; accepted is a list with at least one value")
    count = math.prod(len(values) for values in axes.values())
    if count > _MOST:
        raise OptionError(f"{where}: the axes span {count} cells; at most {_MOST} are accepted")


def _needs(value: Any, where: str, earlier: Mapping[str, list[Cell]]) -> list[_Need]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise OptionError(
            f'{where}: needs is {value!r}; accepted is a list of tables such as {{ grid = "train", on = ["seed"] }}'
        )
    needs = [parse(_Need, item, f"{where}: needs") for item in value]
    for need in needs:
        if need.grid not in earlier:
            raise OptionError(f"{where} needs {need.grid!r}, which is not a grid above it; known there: {sorted(earlier)}")
    return needs


def _matching(need: _Need, config: Any, cells: Sequence[Cell], where: str) -> list[Cell]:
    unknown(need.on, set(roles(type(config))) & set(roles(type(cells[0].config))), f"{where}: needs.on")
    matches = [cell for cell in cells if all(getattr(cell.config, name) == getattr(config, name) for name in need.on)]
    if not matches:
        values = ", ".join(f"{name}={getattr(config, name)!r}" for name in need.on)
        raise OptionError(f"{where}: no cell of {need.grid!r} has {values}, which a cell here builds on")
    return matches


def _refuse_twins(cells: Sequence[Cell], file: str) -> None:
    by_run: dict[str, Cell] = {}
    for cell in cells:
        if cell.run_id in by_run:
            raise OptionError(f"{file}: {cell.name} and {by_run[cell.run_id].name} are the same run; leave one of them out")
        by_run[cell.run_id] = cell
