"""The reference: whatever it shows of the library says what each argument is and what comes back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

from tests.docs.reading import ROOT

PAGE = ROOT / "docs" / "api.md"
FRAMEWORKS = ("recolorist.torch", "recolorist.torchvision", "recolorist.albumentations", "recolorist.monai", "recolorist.kornia")
OF_FILES = {"recolorist.bank.build.measure_folder", "recolorist.bank.build.measure_npz"}  # run by scripts in `examples`
ENTRY = re.compile(r"^\.\. (autofunction|autoclass|automodule|currentmodule):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE)


def functions_on(page: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function and method that the page shows; those of the frameworks follow their framework's style."""
    module = "recolorist"
    for kind, name, options in ENTRY.findall(page):
        if kind == "currentmodule":
            module = name
            continue
        full = name if name.startswith("recolorist.") else f"{module}.{name}"
        if full.startswith(FRAMEWORKS):
            continue
        if kind == "automodule":
            members = re.findall(r"[A-Za-z]\w*", options.partition(":members:")[2])
            for member in members or import_module(full).__all__:
                yield from functions_of(f"{full}.{member}", getattr(import_module(full), member), "")
        else:
            owner, _, last = full.rpartition(".")
            yield from functions_of(full, getattr(import_module(owner), last), options)


def functions_of(name: str, value: Any, options: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The function itself, or the methods of a class that are shown."""
    if not inspect.isclass(value):
        yield name, value
        return
    listed = re.search(r":members: *(.*)", options)
    if listed is None:
        return
    chosen = re.findall(r"\w+", listed[1]) + re.findall(r"__\w+__", options)
    for method, member in vars(value).items():
        plain = getattr(member, "__func__", member)
        shown = method in chosen or (not listed[1] and not method.startswith("_"))
        if shown and inspect.isfunction(plain) and not isinstance(member, (property, cached_property)):
            yield f"{name}.{method}", plain


def missing_parts(function: Callable[..., Any]) -> list[str]:
    """What a docstring does not say: a parameter, what is returned. A summary that begins with "Return" says the latter."""
    text = inspect.getdoc(function) or ""
    parameters = [] if "with the same arguments" in text else inspect.signature(function).parameters.values()
    names = [f"{'*' * (entry.kind - 2 if entry.kind == 4 else entry.kind == 2)}{entry.name}" for entry in parameters]
    said = re.findall(r"^    ([*\w]+)(?: \(.*\))?:", text.partition("Args:\n")[2].partition("\n\n")[0], re.MULTILINE)
    gaps = [name for name in names if name not in ("self", "cls") and name not in said]
    gaps += [f"{name}, which it does not take" for name in said if name not in names]
    returns = inspect.signature(function).return_annotation
    if returns not in (None, "None") and not re.search(r"^(Return |Returns:$|Yields:$)", text, re.MULTILINE):
        gaps.append("what is returned")
    return gaps


def owner_of(name: str) -> type | None:
    """The class of a method; None of a function."""
    owner, _, _ = name.rpartition(".")
    module, _, kind = owner.rpartition(".")
    found = getattr(import_module(module), kind) if module else None
    return found if inspect.isclass(found) else None


SHOWN = dict(functions_on(PAGE.read_text("utf-8")))


def test_the_page_is_read() -> None:
    """The six functions at the top, methods of classes, and functions of modules."""
    assert {"recolorist.measure", "recolorist.Plan.to_json", "recolorist.Colorist.__call__"} <= set(SHOWN)
    assert {"recolorist.collections.api.drift", "recolorist.core.foreground.tissue"} <= set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_arguments_and_results_are_described(name: str) -> None:
    assert missing_parts(SHOWN[name]) == []


@pytest.mark.parametrize("name", SHOWN)
def test_there_is_an_example(name: str) -> None:
    """Of the function itself, or of the class whose method it is; the doctests run all of them."""
    texts = [inspect.getdoc(SHOWN[name]) or "", inspect.getdoc(owner_of(name)) or ""]
    assert any(">>>" in text for text in texts) == (name not in OF_FILES)


def test_gaps_are_noticed() -> None:
    def described(one: int, **others: int) -> int:
        return one + sum(others.values())

    described.__doc__ = "Add.\n\nArgs:\n    two: A number.\n"
    assert missing_parts(described) == ["one", "**others", "two, which it does not take", "what is returned"]
