"""The modules whose code can change a result: those that a cell loads, found from their sources without running them.

Imports at the top of a module are followed always. Imports inside functions are followed too, unless the module they load is one
that only some configurations ask for (:data:`ON_REQUEST`); a kind names those (`Kind.code`). What is loaded by a text that is put
together at run time cannot be seen here and must be named as well. Of a plugin, its own package and the modules in its folder
count. A test runs a cell of every kind and compares.
"""

from __future__ import annotations

import ast
import importlib.util
import site
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from recolorist.errors import OptionError

__all__ = ["HARMLESS", "ON_REQUEST", "is_typing_block", "sources"]

_OURS: Final = ("recolorist", "recolorist_lab")
_LOADERS: Final = ("import_module", "importlib.import_module")
_LIBRARIES: Final = frozenset(Path(path).resolve() for path in (*sysconfig.get_paths().values(), *site.getsitepackages()))

_MACHINERY: Final = "stores, schedules and names cells; it hands their results on unchanged"
_DESCRIPTIONS: Final = "says where a dataset is and how it is indexed; the manifest made by it is in the run id as data"
_DOWNLOADS: Final = "brings files here, whose size and checksum are compared before they are used"

#: Modules and packages that are loaded while a cell runs and cannot change its result, and why.
HARMLESS: Final = MappingProxyType(
    {
        **{
            f"recolorist_lab.runs.{name}": _MACHINERY
            for name in (
                *("cell", "checkpoints", "claims", "config", "engines", "environment", "fingerprint", "kind", "kinds", "ledger"),
                *("remembered", "sealed", "sources", "status", "study", "sweep", "tidy"),
            )
        },
        "recolorist._interrupt": "ends a command that Ctrl-C stops; it computes nothing",
        "recolorist._torchvision_ops": "declares operators that some builds of torchvision lack; it computes nothing",
        "recolorist._version": "the version, which is recorded with every result",
        "recolorist_lab.assets.archive_formats": _DOWNLOADS,
        "recolorist_lab.assets.archives": _DOWNLOADS,
        "recolorist_lab.assets.download": _DOWNLOADS,
        "recolorist_lab.assets.fetch": _DOWNLOADS,
        "recolorist_lab.assets.weight_downloads": _DOWNLOADS,
        "recolorist_lab.data.cards": _DESCRIPTIONS,
        "recolorist_lab.data.registry": _DESCRIPTIONS,
        "recolorist_lab.disk": "says where things are kept, and whether there is space",
        "recolorist_lab.paper": "the paper's numbers, which are only shown beside results",
        "recolorist_lab.metrics.clock": "times the parts of an evaluation",
        "recolorist_lab.plugins": "finds what other packages add; the modules it loads are named by the cell",
        "recolorist.cli": "shows how far the work has come",
        "recolorist_lab.progress": "shows how far the work has come",
        "recolorist_lab.report.rows": "writes results as tables, after the cells",
        "recolorist_lab.studies.code": "names the modules that a configuration asks for",
        "recolorist_lab.training.watch": "shows how training goes, and takes no part in it",
        "recolorist_lab.training.watchdog": "ends a run that hangs, and takes no part in one that does not",
    }
)

#: Modules and packages that are imported inside functions, for some configurations only, and what asks for them.
ON_REQUEST: Final = MappingProxyType(
    {
        "recolorist.augment.colorist": "the augmentation",
        "recolorist.augment.recipe": "nothing: no cell asks what is recommended",
        "recolorist.bank.json_form": "nothing: no cell reads or writes a bank as JSON",
        "recolorist.bank.style_bank": "styles from a bank",
        "recolorist.core.histograms": "a histogram method",
        "recolorist.core.kernels.fallback_ranks": "a histogram method",
        "recolorist.io": "images in files; synthetic ones are in memory",
        "recolorist.torch": "batches of tensors",
        "recolorist_lab.assets.weights": "networks that do not begin with random weights",
        "recolorist_lab.augmentations.camera": "the augmentation",
        "recolorist_lab.augmentations.colour": "the augmentation",
        "recolorist_lab.augmentations.hed": "the augmentation",
        "recolorist_lab.augmentations.heuristics": "the augmentation",
        "recolorist_lab.augmentations.targeted": "the augmentation",
        "recolorist_lab.baselines": "a network as the method of transfer",
        "recolorist_lab.metrics.colour": "the metric that is asked for",
        "recolorist_lab.metrics.distances": "the metric that is asked for",
        "recolorist_lab.metrics.frechet": "the metric that is asked for",
        "recolorist_lab.metrics.kernel": "the metric that is asked for",
        "recolorist_lab.metrics.perceptual": "the metric that is asked for",
        "recolorist_lab.metrics.structure": "the metric that is asked for",
        "recolorist_lab.training.frozen": "a head on fixed features",
    }
)


class _Edge(NamedTuple):
    """One import: the module that is loaded, and whether only when a function is called."""

    target: str
    lazy: bool


class _Import(NamedTuple):
    """One import as it is written: ``from base import name``, or without a name ``import base``."""

    base: str
    name: str | None
    lazy: bool


def sources(*roots: str) -> dict[str, Path]:
    """Find the modules that count for a cell.

    Args:
        roots: The module of the kind, and the modules and packages that its configuration asks for.

    Returns:
        The file of every module, by name.

    Raises:
        OptionError: A root is not a module.

    Example:
        >>> sorted(sources("recolorist.errors"))
        ['recolorist.errors']
    """
    modules: dict[str, Path] = {}
    for root in roots:
        if _file(root, roots) is None:
            raise OptionError(f"the code {root!r} is not a module; name one that is installed")
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        path = None if name in modules or _within(name, HARMLESS) else _file(name, roots)
        if path is None:
            continue
        modules[name] = path
        waiting.extend(
            edge.target
            for edge in _edges(name, path, tuple(roots))
            if not edge.lazy or not _within(edge.target, ON_REQUEST) or _within(edge.target, roots)
        )
    return modules


def _within(name: str, modules: tuple[str, ...] | MappingProxyType[str, str]) -> bool:
    """Whether a module is one of these, or lies in one of these packages."""
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def _file(name: str, roots: tuple[str, ...] = ()) -> Path | None:
    """Find the source of a module of ours or of a plugin; None for others, and for names that are not modules.

    Files are looked for by hand: asking Python for `a.b.c` would import `a.b`, and with it perhaps torch. A compiled module has
    no source here; its NumPy fallback, which gives the same bits, counts instead.
    """
    package, *parts = name.split(".")
    if package not in _OURS:
        plugins = {root.partition(".")[0] for root in roots} - set(_OURS)
        return _outside_file(name) if package in plugins or _lies_beside(package, plugins) else None
    path = _root(package).joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py")) if parts else (path / "__init__.py",)
    return next((file for file in candidates if file.is_file()), None)


def _outside_file(name: str) -> Path | None:
    """The source of a module from another package, which was loaded already or can be."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _lies_beside(package: str, plugins: set[str]) -> bool:
    """Whether a module or package is in the folder of a plugin, as a helper of it; installed libraries are not."""
    folders = {folder for plugin in plugins if (folder := _folder(plugin)) is not None} - _LIBRARIES
    return bool(folders) and _folder(package) in folders


def _folder(package: str) -> Path | None:
    """The folder that holds a module or package at the top level; nothing is imported to find it."""
    try:
        spec = importlib.util.find_spec(package) if package else None
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    locations = list(spec.submodule_search_locations or ()) or ([spec.origin] if spec.has_location and spec.origin else [])
    return Path(locations[0]).resolve().parent if locations else None


@lru_cache
def _root(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise OptionError(f"the package {package} is not installed as files, so its code cannot be identified")
    return Path(next(iter(spec.submodule_search_locations)))


def _edges(name: str, path: Path, roots: tuple[str, ...]) -> tuple[_Edge, ...]:
    imports = _imports(name, path, path.stat().st_mtime_ns)
    targets = (entry.base if entry.name is None else _defined_in(entry.base, entry.name, roots) for entry in imports)
    return tuple(dict.fromkeys(_Edge(target, entry.lazy) for target, entry in zip(targets, imports, strict=True)))


@lru_cache(maxsize=1024)
def _imports(module: str, path: Path, _changed: int) -> tuple[_Import, ...]:
    """Read the imports of a file; once, for a study asks for the same modules many times."""
    aliases: dict[str, str] = {}
    imports: list[_Import] = []
    for node, lazy in _nodes(_parsed(path, _changed)):
        if isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, package=path.name == "__init__.py")
            imports.extend(_Import(base, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}  # only what is used of these counts
            imports.extend(_Import(alias.name, None, lazy) for alias in node.names if not alias.asname)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in _LOADERS:
            imports.extend(_Import(str(text.value), None, lazy) for text in node.args if isinstance(text, ast.Constant))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            imports.append(_Import(aliases[node.value.id], node.attr, lazy))
    return tuple(dict.fromkeys(imports))


def _nodes(node: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every node in the order of the file, and whether it runs only when a function is called; nothing for type checkers."""
    for child in ast.iter_child_nodes(node):
        if not is_typing_block(child):
            yield child, lazy
            yield from _nodes(child, lazy=lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def is_typing_block(node: ast.AST) -> bool:
    """Tell whether a statement is ``if TYPE_CHECKING:``, whose body never runs.

    Args:
        node: The statement.

    Returns:
        True if it is.
    """
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _absolute(node: ast.ImportFrom, importer: str, *, package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = importer.split(".")
    base = parts[: len(parts) - node.level + (1 if package else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])


def _defined_in(base: str, name: str, roots: tuple[str, ...]) -> str:
    """Which module ``from base import name`` takes the name from: packages pass on what their modules define."""
    inner = f"{base}.{name}"
    path = _file(base, roots)
    if path is None or _file(inner, roots) is not None:
        return inner if path is not None else base
    return _names_from_modules(base, path, path.stat().st_mtime_ns).get(name, base) if path.name == "__init__.py" else base


@lru_cache(maxsize=1024)
def _parsed(path: Path, _changed: int) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@lru_cache(maxsize=256)
def _names_from_modules(package: str, path: Path, _changed: int) -> dict[str, str]:
    """The names that a package takes from its modules, and from which; names it loads later are declared for type checkers."""
    statements = _parsed(path, _changed).body
    inner = [part for node in statements if is_typing_block(node) and isinstance(node, ast.If) for part in node.body]
    return {
        alias.asname or alias.name: _absolute(node, package, package=True)
        for node in (*statements, *inner)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
