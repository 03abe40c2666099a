"""The form of the code: small files and functions, few parameters, `__all__` everywhere, and a test file beside every module.

`structure.toml` lists what does not keep a rule. Each list must name exactly the exceptions there are: a new one fails the test,
and so does an entry that is no longer needed. `python -m tests.test_structure` removes those; it never adds one.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "structure.toml"
SOURCES = ("recolorist", "recolorist_lab")
LINES_PER_FILE = 400
LINES_PER_FUNCTION = 60
PARAMETERS = 8
MODULES_PER_FOLDER = 20

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache
def modules() -> dict[str, Path]:
    """Every module by its path below `src`, packages included."""
    found = [path for package in SOURCES for path in (ROOT / "src" / package).rglob("*.py")]
    return {path.relative_to(ROOT / "src").as_posix(): path for path in sorted(found)}


@lru_cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text("utf-8"))


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """Every function below a node with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, prefix)


def all_functions() -> Iterator[tuple[str, Function]]:
    for module in modules():
        yield from functions(tree(module), f"{module}:")


def parameters(function: Function) -> int:
    """The number of parameters that a caller gives."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def lines(function: Function) -> int:
    """The number of lines of a function without its docstring, which may be long."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if has_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def has_all(name: str) -> bool:
    """Whether a module says which names are public; an `__init__` that only has a docstring has none."""
    statements = tree(name).body
    if name.endswith("__init__.py") and len(statements) <= 1:
        return True
    targets = [target for node in statements if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in statements if isinstance(node, ast.AnnAssign)]
    imported = [alias.name for node in statements if isinstance(node, ast.ImportFrom) for alias in node.names]
    return "__all__" in imported or any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def mirrors_of(name: str) -> list[Path]:
    """Where the tests of a module may lie: `recolorist/io/tiff.py` in `tests/io/test_tiff.py`, the lab's below `tests/lab`.

    Modules at the top are adapters of frameworks, and those have a folder of their own.
    """
    package, *folders, file = Path(name).parts
    start = ROOT / "tests" / ("lab" if package == "recolorist_lab" else "")
    test = f"test_{file.removeprefix('_')}"
    return [start.joinpath(*folders, test), *([] if folders else [ROOT / "tests" / "frameworks" / test])]


def without_all() -> set[str]:
    return {name for name in modules() if not has_all(name)}


def unlisted_names() -> set[str]:
    """Functions, classes and constants of the library that are neither in `__all__` nor begin with an underscore."""
    found = set()
    for module in (name for name in modules() if name.startswith("recolorist/")):
        public = {name for name in top_names(tree(module)) if not name.startswith("_")}
        found |= {f"{module}:{name}" for name in public - listed_names(tree(module))}
    return found


def listed_names(module: ast.Module) -> set[str]:
    """What `__all__` lists."""
    lists = [node.value for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    return {str(node.value) for names in lists for node in ast.walk(names) if isinstance(node, ast.Constant)}


def top_names(module: ast.Module) -> Iterator[str]:
    """Functions, classes and constants at the top of a module; aliases of types are shorthand and do not count."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            yield from (name for name in names if name.isupper() and len(name) > 1)


def long_files() -> set[str]:
    return {name for name, path in modules().items() if len(path.read_text("utf-8").splitlines()) > LINES_PER_FILE}


def long_functions() -> set[str]:
    return {name for name, node in all_functions() if lines(node) > LINES_PER_FUNCTION}


def many_parameters() -> set[str]:
    return {name for name, node in all_functions() if parameters(node) > PARAMETERS}


def large_folders() -> set[str]:
    counts = Counter(Path(name).parent.as_posix() for name in modules() if not name.endswith("__init__.py"))
    return {folder for folder, count in counts.items() if count > MODULES_PER_FOLDER}


def without_test() -> set[str]:
    code = [name for name in modules() if not name.endswith("__init__.py")]
    return {name for name in code if not any(path.exists() for path in mirrors_of(name))}


def shared_class_names() -> set[str]:
    """Names that two classes of the lab have; adapters of the library share theirs on purpose."""
    lab = [name for name in modules() if name.startswith("recolorist_lab/")]
    return {
        name
        for name, count in Counter(
            node.name for module in lab for node in ast.walk(tree(module)) if isinstance(node, ast.ClassDef)
        ).items()
        if count > 1
    }


def half_documented() -> set[str]:
    """Public functions of the lab whose docstring lacks a section; that of a command is its help, and has none."""
    lab = [name for name in modules() if name.startswith("recolorist_lab/") and "/cli/" not in name]
    public = [(name, node) for name in lab for node in tree(name).body if isinstance(node, ast.FunctionDef)]
    return {f"{name}:{node.name}" for name, node in public if not node.name.startswith("_") and lacking_sections(node)}


def lacking_sections(function: Function) -> set[str]:
    """Sections that a docstring should have and has not."""
    wanted = {"Args:"} if parameters(function) else set()
    wanted |= {"Raises:"} if any(isinstance(node, ast.Raise) for node in ast.walk(function)) else set()
    text = (ast.get_docstring(function) or "").replace("Yields:", "Returns:")
    wanted |= {"Returns:"} if function.returns is not None and ast.unparse(function.returns) != "None" else set()
    return {section for section in wanted if section not in text}


RULES = {
    rule.__name__: rule
    for rule in (
        without_all,
        unlisted_names,
        long_files,
        long_functions,
        many_parameters,
        large_folders,
        without_test,
        shared_class_names,
        half_documented,
    )
}


@pytest.mark.parametrize("name", RULES)
def test_exceptions_are_listed(name: str) -> None:
    listed: dict[str, Any] = tomllib.loads(LISTS.read_text("utf-8"))
    allowed, present = {key for group in listed[name].values() for key in group}, RULES[name]()
    assert not present - allowed, f"new exceptions to {name}"
    assert not allowed - present, f"no longer needed in structure.toml, {name}"


def shrink() -> None:
    """Remove from the lists what is no longer needed."""
    kept, rule = [], ""
    present = {name: find() for name, find in RULES.items()}
    for line in LISTS.read_text("utf-8").splitlines(keepends=True):
        entry = line.strip().strip('",')
        rule = entry.strip("[]") if line.startswith("[") else rule
        if not line.startswith("  ") or entry in present[rule]:
            kept.append(line)
    LISTS.write_text("".join(kept), "utf-8")


if __name__ == "__main__":
    shrink()
