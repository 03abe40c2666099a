"""The docstring of each adapter in the style of its framework: every option with its default, and the framework's sections."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, Final

import pytest

from tests.frameworks.contracts import Subject

#: Framework to its classes, the sections that its own transforms have, and how it writes a default.
STYLES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]] = {
    "torchvision": (("Colorist",), (".. note::", "[..., C, H, W]", "(float, optional)"), "Default: {!r}"),
    "albumentations": (("Colorist",), ("Targets:", "Image types:", "Number of channels:", "Examples:"), "Default: {!r}"),
    "monai": (("RandColorist", "RandColoristd"), ("``backend``",), "Default to"),
    "kornia": (("RandomColorist",), ("Shape:\n    - Input: :math:", "- Output: :math:", ".. note::", "Examples:"), "Default: {}"),
    "huggingface": (("ColoristTransform",), ("(`str`, *optional*)",), "`"),
}


def parse(kind: Any) -> tuple[str, dict[str, str]]:
    """Return the docstring and what its Args say of each option."""
    text = inspect.getdoc(kind) or ""
    section = re.split(r"\n\n", text.partition("Args:\n")[2])[0]
    entries = re.findall(r"^    \**(\w+)(?: \([^\n]*?\))?: (.*?)(?=^    \S|\Z)", section, re.MULTILINE | re.DOTALL)
    lines = {
        name: found.group() for name, _ in entries if (found := re.search(rf"^    \**{name}\b[^\n]*", section, re.MULTILINE))
    }
    return text, {name: f"{lines[name]} {' '.join(words.split())}" for name, words in entries}


def written(default: Any, name: str, form: str) -> str:
    """Return a default as the framework writes it."""
    if name == "monai":
        return f"``{json.dumps(default) if isinstance(default, str) else default}``"
    if name == "huggingface":
        return "*optional*" if default is None else f"defaults to `{json.dumps(default)}`"
    return form.format(json.dumps(default) if name == "kornia" and isinstance(default, str) else default)


@pytest.mark.parametrize("name", STYLES)
def test_every_option_is_described_with_its_default(name: str) -> None:
    module = Subject(name).module
    classes, sections, form = STYLES[name]
    for kind in classes:
        text, entries = parse(getattr(module, kind))
        options = inspect.signature(getattr(module, kind)).parameters
        assert list(entries) == list(options), "the order of the signature"
        assert [section for section in sections if section not in text] == []
        for option, parameter in options.items():
            if parameter.default is not parameter.empty and option not in ("p", "prob"):
                assert written(parameter.default, name, form) in entries[option], option
        chance = entries["prob" if "prob" in entries else "p"]
        assert "0.3" in chance, "the default that differs from the framework's habit"


@pytest.mark.parametrize("name", ["torchvision", "albumentations", "monai", "kornia"])
def test_the_habit_of_the_framework_is_named_beside_ours(name: str) -> None:
    module = Subject(name).module
    for kind in STYLES[name][0]:
        _, entries = parse(getattr(module, kind))
        assert re.search(r"0\.3, where .* have 0\.[15]", entries["prob" if "prob" in entries else "p"])


def test_the_dictionary_version_of_monai_names_its_conventions() -> None:
    module = Subject("monai").module
    text = inspect.getdoc(module.RandColoristd) or ""
    for part in ("Dictionary-based version of", "keys of the corresponding items", "MapTransform", "RandColoristDict"):
        assert part in text
    assert [each.value for each in module.RandColoristd.backend] == ["torch", "numpy"]
