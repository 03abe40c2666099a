"""The shim for a torchvision whose compiled operators do not load, on packages of the same shape that need neither."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from recolorist import _torchvision_ops as shim

#: What 0.21 to 0.27 do, and what 0.28 does: the second form binds the submodule even if it is loaded already.
FORMS = {"older": "from .extension import HAS_OPS", "newer": "from . import extension"}


class Library:
    """Declarations of operators, as torch keeps them."""

    declared: list[str] = []  # noqa: RUF012 - emptied by the fixture

    def __init__(self, name: str, kind: str) -> None:
        assert (name, kind) == ("torchvision", "DEF")

    def define(self, signature: str) -> None:
        self.declared.append(signature.partition("(")[0])


@pytest.fixture
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A torchvision that stops at an operator which is not declared."""
    monkeypatch.setattr(Library, "declared", [])
    library: Any = types.ModuleType("torch.library")
    library.Library = Library
    torch: Any = types.ModuleType("torch")
    torch.library = library
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "torchvision")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", torch)
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(f"{FORMS[request.param]}\nfrom . import registrations\n")
    (package / "extension.py").write_text("HAS_OPS = False\n")
    (package / "registrations.py").write_text(
        "import torch\nimport torchvision.extension\n\nassert not torchvision.extension.HAS_OPS\n"
        "if 'nms' not in torch.library.Library.declared:\n    raise RuntimeError('operator torchvision::nms does not exist')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("broken", FORMS, indirect=True)
@pytest.mark.usefixtures("broken")
def test_missing_operators_are_declared_once() -> None:
    assert shim.declare_missing_ops() == ("nms", "qnms")
    assert Library.declared == ["nms", "qnms"]
    assert not importlib.import_module("torchvision").extension.HAS_OPS
    assert shim.declare_missing_ops() == ()


def test_without_torchvision_the_import_of_the_caller_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    assert shim.declare_missing_ops() == ()


def test_other_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(RuntimeError, match="something else"):
        shim.declare_missing_ops()
