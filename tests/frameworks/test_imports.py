"""What importing an adapter loads, in a fresh interpreter each time."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.test_import import OPTIONAL, added, packages

#: Adapter to the frameworks it stands on.
ADAPTERS = {
    "albumentations": ("albumentations",),
    "huggingface": (),
    "kornia": ("kornia", "torch"),
    "lightning": ("lightning", "torch"),
    "monai": ("monai", "torch"),
    "timm": ("timm", "torch", "torchvision"),
    "torch": ("torch",),
    "torchvision": ("torch", "torchvision"),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_loads_its_own_framework_only(adapter: str) -> None:
    """And no other adapter, except that those on tensors share `recolorist.torch`."""
    frameworks = ADAPTERS[adapter]
    if not all(map(find_spec, frameworks)):
        pytest.skip(f"{', '.join(frameworks)} must be installed")
    # torchvision, and what imports it, may need our help to be imported
    helped = "from recolorist._torchvision_ops import declare_missing_ops; declare_missing_ops()\n"
    first = "\n".join(f"import {name}" for name in frameworks if name != "torchvision")
    loaded = added(helped * (adapter in {"lightning", "timm"}) + first, f"import recolorist.{adapter}", PYTHONWARNINGS="ignore")
    brought = {"PIL"} if "torchvision" in frameworks else set()
    assert not set(OPTIONAL) & packages(loaded) - {*frameworks, *brought}
    assert {name for name in ADAPTERS if f"recolorist.{name}" in loaded} <= {adapter, "torch"}
