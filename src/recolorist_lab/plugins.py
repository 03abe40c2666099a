"""Augmentations, networks, metrics and datasets from other packages and from files named on the command line.

A package declares them as entry points of the groups `recolorist_lab.augmentations`, `recolorist_lab.networks`,
`recolorist_lab.metrics` and `recolorist_lab.datasets`. A file has tables of the names `AUGMENTATIONS`, `NETWORKS`, `METRICS` and
`DATASETS`. Nothing is imported before a name is asked for. Files are passed on to other processes by an environment variable.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from recolorist.errors import OptionError

__all__ = ["FILES", "Group", "Plugin", "Registry", "add_file", "plugins"]

Group: TypeAlias = Literal["augmentations", "networks", "metrics", "datasets"]
T = TypeVar("T")

FILES: Final = "RECOLORIST_PLUGINS"  #: the environment variable that names files of plugins
_PREFIX: Final = "recolorist_lab."


@dataclass(frozen=True)
class Plugin:
    """One object from outside.

    Attributes:
        name: What it is called in studies and on the command line.
        module: The module that defines it; its sources belong to a run's identity.
        attribute: Its name in the module, or its key in the file's table.
        origin: The package and its version, or the file.
        table: The name of the file's table; empty for an entry point.
    """

    name: str
    module: str
    attribute: str
    origin: str
    table: str = ""

    def load(self) -> Any:
        """Import the module and return the object.

        Returns:
            The object.

        Raises:
            OptionError: If the import fails, or the object is not there.
        """
        try:
            module = importlib.import_module(self.module)
            if self.table:
                return getattr(module, self.table)[self.attribute]
            return EntryPoint(self.name, f"{self.module}:{self.attribute}", "").load()
        except Exception as error:  # whatever another package's module raises
            raise OptionError(
                f"{self.name!r} of {self.origin} cannot be loaded: {type(error).__name__}: {error}; correct or remove it"
            ) from error


class Registry(Mapping[str, T], Generic[T]):
    """A literal table, and what plugins add to it.

    Names of the table come first. A plugin with the name of an entry of the table is refused.
    """

    def __init__(self, group: Group, table: Mapping[str, T], adapt: Callable[[Plugin], T]) -> None:
        """Join a table with the plugins of a group.

        Args:
            group: The group of plugins.
            table: What is built in.
            adapt: Makes an entry of the table from a plugin; called when the name is first asked for.
        """
        self.built_in: Final = table
        self._group: Final[Group] = group
        self._adapt = adapt
        self._adapted: dict[Plugin, T] = {}

    def __getitem__(self, name: str) -> T:
        added = self._find_added()
        if name not in added:
            return self.built_in[name]
        plugin = added[name]
        if plugin not in self._adapted:
            self._adapted[plugin] = self._adapt(plugin)
        return self._adapted[plugin]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.built_in, *self._find_added()))

    def __len__(self) -> int:
        return len(self.built_in) + len(self._find_added())

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._find_added()

    def module_of(self, name: str) -> str | None:
        """Return the module of a plugin.

        Args:
            name: The name that a configuration uses.

        Returns:
            The module's name; None for what is built in, and for unknown names.
        """
        plugin = self._find_added().get(name)
        return None if plugin is None else plugin.module

    def _find_added(self) -> dict[str, Plugin]:
        added = plugins(self._group)
        if collisions := [name for name in added if name in self.built_in]:
            raise OptionError(
                f"{added[collisions[0]].origin} adds {collisions[0]!r} to the {self._group}, where that name is built in; "
                "give it another name"
            )
        return added


def plugins(group: Group) -> dict[str, Plugin]:
    """Find all plugins of a group, without importing those of packages.

    Args:
        group: Which kind of plugin.

    Returns:
        The plugins by name: those of packages, then those of files.

    Raises:
        OptionError: If two have one name, or a file cannot be used.

    Example:
        >>> "colorist" in plugins("augmentations")
        False
    """
    by_name: dict[str, Plugin] = {}
    for plugin in (*_of_packages(group, tuple(sys.path)), *_of_files(group, os.environ.get(FILES, ""))):
        earlier = by_name.setdefault(plugin.name, plugin)
        if earlier != plugin:
            raise OptionError(f"{earlier.origin} and {plugin.origin} both add {plugin.name!r} to the {group}; remove one of them")
    return by_name


def add_file(path: str | Path) -> None:
    """Use the plugins of a file, in this process and in those that it starts.

    Args:
        path: A Python file with a table `AUGMENTATIONS`, `NETWORKS`, `METRICS` or `DATASETS`.

    Raises:
        OptionError: If there is no such file, or a module of its name is imported from elsewhere.
    """
    file = Path(path).resolve()
    _prepare(file)
    files = [name for name in os.environ.get(FILES, "").split(os.pathsep) if name]
    if str(file) not in files:
        os.environ[FILES] = os.pathsep.join([*files, str(file)])


def _prepare(file: Path) -> str:
    """Make a file importable under its own name, also in processes that unpickle its objects; return that name."""
    if file.suffix != ".py" or not file.is_file() or not file.stem.isidentifier():
        raise OptionError(
            f"the plugin {file} is not a Python file; accepted is a path such as mine.py, with letters, digits and _"
        )
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec = importlib.util.find_spec(file.stem)
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != file:
        raise OptionError(f"the plugin {file} has the name of another module, {spec and spec.origin}; rename the file")
    return file.stem


@lru_cache(maxsize=64)
def _of_packages(group: Group, _path: tuple[str, ...]) -> tuple[Plugin, ...]:
    return tuple(
        Plugin(point.name, point.module, point.attr, f"the package {point.dist.name} {point.dist.version}" if point.dist else "?")
        for point in entry_points(group=f"{_PREFIX}{group}")
    )


@lru_cache(maxsize=64)
def _of_files(group: Group, files: str) -> tuple[Plugin, ...]:
    plugins_found: list[Plugin] = []
    for name in files.split(os.pathsep):
        if name:
            file, table = Path(name), group.upper()
            module = _prepare(file)
            try:
                names = getattr(importlib.import_module(module), table, {})
            except Exception as error:  # whatever the file raises
                raise OptionError(f"the plugin {file} cannot be imported: {type(error).__name__}: {error}") from error
            plugins_found += [Plugin(key, module, key, f"the file {file.name}", table) for key in names]
    return tuple(plugins_found)
