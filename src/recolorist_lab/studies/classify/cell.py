"""Studies 3 and 4: train a classifier and test it. One cell is one run.

This module must import little, so that study files are read quickly. What only shows results must not be imported here: otherwise
a change of a table's wording would make every run stale.
"""

from __future__ import annotations

from collections.abc import Mapping

from recolorist_lab.runs.config import Json
from recolorist_lab.runs.kind import Context
from recolorist_lab.training.settings import Settings

__all__ = ["Classify", "run"]

Classify = Settings


def run(config: Classify, context: Context) -> Mapping[str, Json]:
    """Train and test one network; see :func:`recolorist_lab.training.run`.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.
    """
    from recolorist_lab.training import run as training

    return training.run(config, context)
