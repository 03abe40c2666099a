"""The code fingerprint: a hash of the sources that can change a result, and of no others.

Which modules count is found by :mod:`recolorist_lab.runs.sources`. Of a module, only what is executed counts: no comments, no
formatting, no docstrings, no wording of errors, no licences and addresses. Versions of other libraries are recorded with each
result instead.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from recolorist_lab.runs.sources import is_typing_block, sources

__all__ = ["code_fingerprint", "essence"]

#: Names whose text describes and computes nothing, wherever they are assigned or given as keywords.
_PROSE: Final = ("__all__", "address", "licence", "page", "paper", "summary", "title", "url", "venue", "what")
_SKIPPED: Final = ("ctx", "kind", "type_comment", "type_ignores")  # fields of syntax trees that say nothing about what runs


@lru_cache(maxsize=4096)
def code_fingerprint(*modules: str) -> str:
    """Hash modules and everything of ours that they load; the same on every machine and Python.

    Args:
        modules: The module of a kind, and the modules and packages that a configuration asks for.

    Returns:
        A sha256 in hexadecimal.

    Raises:
        OptionError: One of them is not a module.

    Example:
        >>> code_fingerprint("recolorist.errors") != code_fingerprint("recolorist.core.image")
        True
    """
    hashes = {name: _hash(path, path.stat().st_mtime_ns) for name, path in sources(*modules).items()}
    return hashlib.sha256("\n".join(f"{name} {hashes[name]}" for name in sorted(hashes)).encode()).hexdigest()


@lru_cache(maxsize=1024)
def _hash(path: Path, _changed: int) -> str:
    return hashlib.sha256(essence(path.read_text("utf-8")).encode()).hexdigest()


def essence(text: str) -> str:
    r"""Write down what a source does, without comments, formatting, docstrings, error messages and licences.

    Args:
        text: The source of a module.

    Returns:
        Its syntax tree as text, the same for every version of Python.

    Example:
        >>> essence('def f():\n    "What f does."\n    return 1  # one\n') == essence("def f(): return 1")
        True
        >>> essence("def f(): return 1") == essence("def f(): return 2")
        False
    """
    return _written(_Essence().visit(ast.parse(text)))


def _written(node: Any) -> str:
    """A syntax tree as text. `ast.dump` is not used because its form differs between versions of Python."""
    if isinstance(node, ast.AST):
        fields = [(name, value) for name, value in ast.iter_fields(node) if name not in _SKIPPED]
        inner = (f"{name}={_written(value)}" for name, value in fields if value is not None and value != [])
        return f"{type(node).__name__}({','.join(inner)})"
    if isinstance(node, list):
        return f"[{','.join(map(_written, node))}]"
    return repr(node)


class _Essence(ast.NodeTransformer):
    """Removes what does not change a result."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _is_text(node.body[:1]):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.Raise) or _is_error(node):
            return _Wordless().visit(node)
        if is_typing_block(node) or _is_prose(node):
            return None
        return self.generic_visit(node)


class _Wordless(ast.NodeTransformer):
    """Removes the words of an error."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:  # noqa: ARG002
        return ast.Constant("")


def _is_text(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[0], ast.Expr) and _is_string(body[0].value)


def _is_string(node: ast.AST | None) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_error(node: ast.AST) -> bool:
    """Whether an error is made here, as functions do that only say what is wrong."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")


def _is_prose(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in _PROSE and _is_string(node.value)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return False
    return isinstance(target, ast.Name) and (
        target.id == "__all__" or (target.id in _PROSE and (node.value is None or _is_string(node.value)))
    )
