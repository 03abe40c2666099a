"""What importing an adapter loads, in a fresh interpreter each time."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.full import IS_FULL
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


_WATCH = """
import sys
asked = []
sys.addaudithook(lambda event, details: asked.append(event) if event in {"socket.getaddrinfo", "socket.connect"} else None)
import recolorist.ADAPTER
assert not asked, asked
"""


@pytest.mark.parametrize("adapter", ADAPTERS if IS_FULL else ["albumentations"])
def test_importing_an_adapter_asks_no_network(adapter: str) -> None:
    """Albumentations asks PyPI for its newest version when it is imported, unless it is told not to."""
    if not all(map(find_spec, ADAPTERS[adapter])):
        pytest.skip(f"{', '.join(ADAPTERS[adapter])} must be installed")
    environment = {name: value for name, value in os.environ.items() if name != "NO_ALBUMENTATIONS_UPDATE"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _WATCH.replace("ADAPTER", adapter)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]


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
