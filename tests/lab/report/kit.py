"""Studies for the tests of reports."""

from __future__ import annotations

from pathlib import Path

CONFIGS = Path(__file__).parents[3] / "configs"


SMALL = """\
name = "small"

[[grid]]
kind = "transfer_check"
set = { space = "rgb", method = "mean_std", pairs = 1, size = 32 }
axes.seed = [0]
"""
