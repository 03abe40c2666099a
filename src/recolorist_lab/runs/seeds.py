"""Seeds: the three of the paper, and those of the random streams inside a run."""

from __future__ import annotations

from typing import Final

from recolorist_lab.runs.config import digest

__all__ = ["SEEDS", "seed_of"]

#: The three seeds of all runs of the paper (supplement, Reproducibility); properties and runtimes use the last alone.
SEEDS: Final = (71397589, 133560673, 265017005)


def seed_of(*coordinates: str | int) -> int:
    """Derive a seed from all of a run's coordinates, so that no two of its random streams are the same by accident.

    Args:
        coordinates: What tells the stream from others, such as its purpose, the run's seed and the number of an image.

    Returns:
        A number of 32 bits.

    Example:
        >>> seed_of("pair", 0, 1) == seed_of("pair", 0, 1) != seed_of("pair", 1, 0)
        True
    """
    return int(digest(list(coordinates))[:8], 16)
