"""Every test that the page of contracts names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.reading import ROOT

PAGE = ROOT / "docs" / "contracts.md"
DEFAULT = "tests/frameworks/test_contracts.py"  #: the file of the names that the page gives without one
NAMED = re.compile(r"`((?:tests/[\w/]+\.py::)?(?:\w+::)?test_\w+)`")


def names_in(text: str) -> list[str]:
    """Return the full names of the tests in a page."""
    return [name if name.startswith("tests/") else f"{DEFAULT}::{name}" for name in NAMED.findall(text)]


@cache
def collect_tests(path: Path) -> frozenset[str]:
    """Return the tests of a file as ``test`` or ``Class::test``."""
    body = ast.parse(path.read_text("utf-8")).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    methods = {f"{kind.name}::{node.name}" for kind in classes for node in kind.body if isinstance(node, ast.FunctionDef)}
    return frozenset(methods | {node.name for node in body if isinstance(node, ast.FunctionDef)})


def test_every_test_that_is_named_exists() -> None:
    names = names_in(PAGE.read_text("utf-8"))
    assert len(names) > 40
    for name in names:
        path, _, test = name.partition("::")
        assert test in collect_tests(ROOT / path), name


def test_every_checker_is_on_the_page() -> None:
    named = set(names_in(PAGE.read_text("utf-8")))
    for path in (DEFAULT, "tests/frameworks/test_targets.py"):
        tests = {f"{path}::{name}" for name in collect_tests(ROOT / path) if "test_" in name}
        assert tests <= named, tests - named
