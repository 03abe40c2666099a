"""The code fingerprint: a hash of the sources that can change a result, and of no others.

Starting from the module of a kind, imports are followed through `recolorist` and `recolorist_lab`, wherever they stand in a file.
Comments and docstrings do not count, so a corrected spelling does not send a month of training to be repeated. Where results
are stored, scheduled and printed does not count either. Versions of other libraries are recorded with each result instead.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import tokenize
from functools import lru_cache
from pathlib import Path
from typing import Final

from recolorist.errors import OptionError

__all__ = ["code_fingerprint", "essence", "sources"]

_OURS: Final = ("recolorist", "recolorist_lab")

#: The machinery that carries results without changing them; imports of these are not followed.
MACHINERY: Final = frozenset(
    f"recolorist_lab.{name}"
    for name in (
        *("runs.cell", "runs.checkpoints", "runs.claims", "runs.config", "runs.environment", "runs.fingerprint", "runs.kind"),
        *("runs.ledger", "runs.sealed", "runs.study", "runs.sweep", "runs.engines.local", "runs.engines.ray"),
        *("runs.kinds", "report.rows", "training.watch"),
    )
)


@lru_cache
def code_fingerprint(module: str) -> str:
    """The hash of a module and of everything of ours it imports, the same on every machine and Python.

    >>> code_fingerprint("recolorist.errors") != code_fingerprint("recolorist.core.image")
    True
    """
    found = {
        name: hashlib.sha256(essence(path.read_text("utf-8")).encode()).hexdigest() for name, path in sources(module).items()
    }
    return hashlib.sha256("\n".join(f"{name} {found[name]}" for name in sorted(found)).encode()).hexdigest()


def sources(module: str) -> dict[str, Path]:
    """The modules that count, by name, with their files.

    >>> sorted(sources("recolorist.errors"))
    ['recolorist.errors']
    """
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file(name)
        if path is not None:
            found[name] = path
            waiting.extend(_imports(ast.parse(path.read_text("utf-8")), name, package=path.name == "__init__.py"))
    return found


def _file(name: str) -> Path | None:
    """The source of a module of ours; None for others' modules, for machinery, and for names that are not modules.

    Files are looked for by hand: asking Python for `a.b.c` would import `a.b`, and with it perhaps torch. A compiled module has
    no source here; its NumPy twin, which gives the same bits, stands for it.
    """
    package, *parts = name.split(".")
    if package not in _OURS or name in MACHINERY:
        return None
    path = _root(package).joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in candidates if file.is_file()), None)


@lru_cache
def _root(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise OptionError(f"the package {package} is not installed as files, so its code cannot be identified")
    return Path(next(iter(spec.submodule_search_locations)))


def _imports(tree: ast.AST, importer: str, *, package: bool) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, importer, package=package)
            names.extend(f"{base}.{alias.name}" for alias in node.names)
            # A package that is only passed through runs nothing of its own that matters; one whose names are used does.
            if any(_file(f"{base}.{alias.name}") is None for alias in node.names):
                names.append(base)
    return names


def _absolute(node: ast.ImportFrom, importer: str, *, package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = importer.split(".")
    base = parts[: len(parts) - node.level + (1 if package else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])


def essence(text: str) -> str:
    r"""A source without its comments and docstrings.

    >>> print(essence('def f():\n    "What f does."\n    # why\n    return 1  # one\n'))
    def f():
        return 1
    """
    lines = text.splitlines()
    cut = _docstrings(ast.parse(text))
    keep: list[str | None] = [None if number in cut else line for number, line in enumerate(lines, 1)]
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        row, column = token.start
        line = keep[row - 1] if token.type == tokenize.COMMENT else None
        if line is not None:
            keep[row - 1] = lines[row - 1][:column].rstrip() or None
    return "\n".join(line for line in keep if line is not None)


def _docstrings(tree: ast.AST) -> set[int]:
    """The lines that docstrings stand on, where they stand there alone."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or len(node.body) < 2:
            continue
        first, second = node.body[0], node.body[1]
        text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        if text and second.lineno > (first.end_lineno or 0):
            found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found
