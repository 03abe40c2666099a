"""The quick study of properties, cut short for its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]


QUICK = Path(__file__).parents[4] / "configs" / "properties.quick.toml"
