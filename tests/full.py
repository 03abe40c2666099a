"""The size of the suite: quick by default, full with RECOLORIST_FULL_TESTS=1, as it runs once a week.

A quick suite tests every behaviour with fewer examples, kills and steps.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["IS_FULL", "full"]

IS_FULL: Final = os.environ.get("RECOLORIST_FULL_TESTS", "0") not in ("", "0")


def full(quick: int, everything: int) -> int:
    """Return how many examples, kills or steps to try."""
    return everything if IS_FULL else quick
