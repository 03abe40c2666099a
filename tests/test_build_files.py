"""The Python that the Makefile, the containers and the workflows contain still runs against the present package."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FILES: Final = sorted(
    [ROOT / "Makefile", *(ROOT / "containers").glob("*"), *(ROOT / ".github" / "workflows").glob("*.yml")],
)
IMPORT: Final = re.compile(r"\bfrom (recolorist[\w.]*) import (\w+)|\bimport (recolorist[\w.]*)")


def imports(text: str) -> list[tuple[str, str]]:
    """Return (module, name) for every import of ours in a text; the name is empty for a plain import."""
    return [(match[1] or match[3], match[2] or "") for match in IMPORT.finditer(text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_import_resolves(path: Path) -> None:
    for module, name in imports(path.read_text(encoding="utf-8")):
        loaded = importlib.import_module(module)
        if name and not hasattr(loaded, name):
            importlib.import_module(f"{module}.{name}")


def test_the_makefile_is_looked_at() -> None:
    assert ("recolorist.core", "kernels") in imports((ROOT / "Makefile").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_source_path_exists(path: Path) -> None:
    for name in re.findall(r"\bsrc/recolorist[\w/]*\.(?:py|h|c)\b", path.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), f"{path.name} names {name}, which does not exist"
