"""The options of Colorist in the recipe (docs/recipe.md). A module of its own, because no study depends on what it recommends."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

__all__ = ["RECOMMENDED"]

#: For training where images of unknown laboratories matter most; follow it with RandAugment.
RECOMMENDED: Final[Mapping[str, Any]] = MappingProxyType({"p": 0.5, "sampler": "own_style", "method": "covariance"})
