"""Run cells in fresh processes and see which of our modules each loads.

Packages of others take seconds to load, so one process loads them, and forks for each cell.

The package `recolorist` is loaded without running its `__init__`, which would load modules that the cell does not use. Names that
are taken from the package itself are looked up as that file says.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_OURS: Final = ("recolorist", "recolorist_lab")
_HEAVY: Final = ("torch", "torchvision", "timm", "scipy.stats", "skimage.color", "sklearn.metrics", "pyarrow.parquet", "cv2")


class Nowhere:
    """A ledger that keeps nothing."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}

    def resume(self) -> None:
        """There is no checkpoint."""

    def save(self, step: int, data: bytes) -> None:
        """Forget a checkpoint."""

    def keep(self, name: str, data: bytes) -> None:
        """Forget a file."""


def loaded(cells: list[tuple[str, str, dict[str, Any]]]) -> list[set[str]]:
    """The modules of ours that are loaded while each cell, given by module, configuration and values, runs on its own."""
    return [set(names) for names in _answer("run", cells)]


def loaded_by_import(modules: list[str], package: str) -> dict[str, list[str]]:
    """The modules of a package that importing each of these loads."""
    answer: dict[str, list[str]] = _answer("load", modules, package)
    return answer


def _answer(*order: Any) -> Any:
    words = [sys.executable, "-W", "ignore", __file__, json.dumps(order)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our own interpreter
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _bare_library() -> None:
    """Put the package into place without running its `__init__`."""
    spec = importlib.util.find_spec("recolorist")
    assert spec is not None
    assert spec.origin is not None
    bare = ModuleType("recolorist")
    bare.__path__ = [str(Path(spec.origin).parent)]
    bare.__spec__, bare.__file__ = spec, spec.origin
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}

    def lookup(name: str) -> Any:
        if name not in homes:
            raise AttributeError(name)
        return getattr(importlib.import_module(str(homes[name])), name)

    bare.__getattr__ = lookup  # type: ignore[method-assign]
    sys.modules["recolorist"] = bare


def _run_each(cells: list[tuple[str, str, dict[str, Any]]]) -> list[list[str]]:
    if len(cells) == 1:
        return [_run(*cells[0])]
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()  # before torchvision
    for name in _HEAVY:
        importlib.import_module(name)
    for name in _ours(_OURS):
        if name != "recolorist":
            del sys.modules[name]
    return [_forked(*cell) for cell in cells]


def _forked(module: str, config: str, values: dict[str, Any]) -> list[str]:
    """Run a cell in a copy of this process, which ends with it."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        child = os.fork()
        if not child:
            try:
                json.dump(_run(module, config, values), answer)
                answer.flush()
                os._exit(0)
            except BaseException:  # noqa: BLE001 - printed, and the process ends here in any case
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if status:
            raise RuntimeError(f"the cell of {module} with {values} did not finish")
        answer.seek(0)
        names: list[str] = json.load(answer)
        return names


def _run(module: str, config: str, values: dict[str, Any]) -> list[str]:
    kind = importlib.import_module(module)
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    kind.run(getattr(kind, config)(**plain), Nowhere())
    return _ours(_OURS)


def _load(modules: list[str], package: str) -> dict[str, list[str]]:
    answer = {}
    for module in modules:
        for name in _ours((package,)):
            del sys.modules[name]
        importlib.import_module(module)
        answer[module] = _ours((package,))
    return answer


def _ours(packages: tuple[str, ...]) -> list[str]:
    """Modules with code; packages that only hold modules or pass their names on have none of their own."""
    inside = tuple(f"{package}." for package in packages)
    names = [name for name in sys.modules if name in packages or name.startswith(inside)]
    return [
        name for name in names if not hasattr(sys.modules[name], "__path__") or computes(Path(str(sys.modules[name].__file__)))
    ]


def computes(package: Path) -> bool:
    """Whether a package's `__init__` defines anything of its own, beside what loads names later."""
    own: list[str] = []
    for node in ast.parse(package.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            own.extend(ast.unparse(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target]))
    return bool(set(own) - {"KIND_PLACES", "__all__", "__getattr__", "_LATER"})


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file
    _bare_library()
    order = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps((_run_each if order[0] == "run" else _load)(*order[1:])) + "\n")
