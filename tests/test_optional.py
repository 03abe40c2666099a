"""Libraries of the extras: imported when they are there, named with their extra when they are not."""

from __future__ import annotations

import importlib
import json
import tomllib
from pathlib import Path

import pytest

from recolorist import optional

ROOT = Path(__file__).parents[1]


def test_a_library_that_is_there_is_imported() -> None:
    assert optional.load("json", "read JSON") is json


@pytest.mark.parametrize("error", [ImportError("no module"), OSError("libopenslide.so.1: cannot open shared object file")])
def test_a_missing_library_is_named_with_the_command_that_installs_it(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(optional.MissingExtraError) as caught:
        optional.load("openslide", "read slides")
    message = str(caught.value)
    assert "openslide is needed to read slides" in message
    assert str(error) in message
    assert "pip install 'recolorist[slides]'" in message


def test_every_extra_that_is_named_exists() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(optional.EXTRAS.values()) <= set(declared)
