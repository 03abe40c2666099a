"""What importing an adapter loads, each in a process of its own that has loaded no other."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Final

import pytest

from tests.test_import import OPTIONAL, answer, packages

#: Adapter to the frameworks it stands on; those without torch first.
ADAPTERS: Final = {
    "albumentations": ("albumentations",),
    "huggingface": (),
    "kornia": ("kornia", "torch"),
    "lightning": ("lightning", "torch"),
    "monai": ("monai", "torch"),
    "timm": ("timm", "torch", "torchvision"),
    "torch": ("torch",),
    "torchvision": ("torch", "torchvision"),
}
#: Forks itself for every adapter: torch is imported once, and not by each of the six that stand on it.
PROGRAM: Final = """
import json, os, sys

def modules_of(adapter, first):
    reader, writer = os.pipe()
    if os.fork() == 0:
        exec(first, {})
        before = set(sys.modules)
        exec(f"import recolorist.{adapter}", {})
        with os.fdopen(writer, "w") as file:
            json.dump(sorted(set(sys.modules) - before), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.wait()
    return json.loads(text)  # empty where the import failed, whose traceback is in stderr

found = {}
for adapter, (frameworks, first) in json.loads(TASKS).items():
    if "torch" in frameworks:
        import torch
    found[adapter] = modules_of(adapter, first)
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_an_adapter_loads_its_own_framework_only() -> None:
    """And no other adapter, except that those on tensors share `recolorist.torch`; one test, so that torch is imported once."""
    # torchvision, and what imports it, may need our help to be imported
    helped = "from recolorist._torchvision_ops import declare_missing_ops; declare_missing_ops()\n"
    tasks = {
        adapter: (frameworks, helped * (adapter in {"lightning", "timm"}) + "\n".join(f"import {name}" for name in frameworks))
        for adapter, frameworks in ADAPTERS.items()
        if all(map(find_spec, frameworks))
    }
    tasks = {adapter: (names, first.replace("\nimport torchvision", "")) for adapter, (names, first) in tasks.items()}
    loaded = answer(f"TASKS = {json.dumps(tasks)!r}\n{PROGRAM}", PYTHONWARNINGS="ignore")
    assert list(loaded) == list(tasks)
    for adapter, (frameworks, _) in tasks.items():
        brought = {"PIL"} if "torchvision" in frameworks else set()
        assert not set(OPTIONAL) & packages(set(loaded[adapter])) - {*frameworks, *brought}, adapter
        assert f"recolorist.{adapter}" in loaded[adapter]
        assert {name for name in ADAPTERS if f"recolorist.{name}" in loaded[adapter]} <= {adapter, "torch"}, adapter
