"""The page about frameworks: each block runs where its framework is installed. Other pages are run in tests/docs."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAMEWORKS = {"torch", "torchvision", "albumentations", "monai", "kornia", "datasets", "fastai"}

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # its import would ask the network
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def blocks(page: str) -> list[str]:
    return BLOCK.findall((PAGES / page).read_text(encoding="utf-8"))


def frameworks(block: str) -> list[str]:
    """The frameworks a block needs; our own module `torch` is named after its framework."""
    named = re.findall(r"^(?:import|from) (?:recolorist\.)?(\w+)", block, re.MULTILINE)
    return sorted(FRAMEWORKS & {"datasets" if name == "huggingface" else name for name in named})


@pytest.mark.parametrize("number", range(1, len(blocks("frameworks.md"))))
def test_frameworks(number: int) -> None:
    """The first block makes the bank; each of the others stands on it alone."""
    block = blocks("frameworks.md")[number]
    for framework in frameworks(block):
        if find_spec(framework) is None:
            pytest.skip(f"{framework} is an extra")
    namespace: dict[str, Any] = {}
    for part in (blocks("frameworks.md")[0], block):
        exec(compile(part, f"frameworks.md, block {number}", "exec"), namespace)  # noqa: S102 - our own documentation


@pytest.mark.parametrize("page", ["foreground.md", "samplers.md"])
def test_pictures_are_there_and_small(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    pictures = re.findall(r"(?:\]\(|\{figure\} )(images/[\w.]+)", text)
    assert pictures
    for picture in pictures:
        limit = 200_000 if page == "foreground.md" else 300_000
        assert 1_000 < (PAGES / picture).stat().st_size < limit, picture
