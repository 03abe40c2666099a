"""Check that matching recovers the other scanner: synthetic tissue is scanned twice, so the true result is known.

One cell takes N pairs. Tissue seen by scanner A is matched to *other* tissue seen by scanner B. The result is compared with the
first tissue as B really sees it. It needs no data, and is the smallest study that exercises everything a large one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recolorist.core.audit import audit
from recolorist.core.match import MATCHERS, match
from recolorist.core.spaces import SPACES
from recolorist.demo.synthetic import SCANNERS, scan, tissue
from recolorist.errors import OptionError
from recolorist_lab.runs.config import Json, identity, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import seed_of

__all__ = ["TransferCheck", "run"]


@dataclass(frozen=True)
class TransferCheck:
    """One colour space, one method, one seed."""

    space: str = identity()
    method: str = identity()
    seed: int = identity(0)
    pairs: int = identity(12)
    size: int = identity(128)

    def __post_init__(self) -> None:
        unknown([self.space], SPACES, "space")
        unknown([self.method], MATCHERS, "method")
        if self.pairs < 1 or self.seed < 0:
            raise OptionError(
                f"pairs={self.pairs} and seed={self.seed}; accepted is at least one pair, and a seed of zero or more"
            )


def run(config: TransferCheck, _: Context) -> Mapping[str, Json]:
    """Match synthetic pairs whose true result is known.

    Args:
        config: The configuration of the cell.

    Returns:
        Mean absolute errors in levels before and after matching, the share of samples clipped, and the pairs made worse.
    """
    rows = np.array([_pair(config, number) for number in range(config.pairs)])
    before, after, clipped = (float(value) for value in rows.mean(axis=0))
    worse = int(np.count_nonzero(rows[:, 1] > rows[:, 0]))
    return {"error_before": before, "error_after": after, "clipped": clipped, "pairs_made_worse": worse}


def _pair(config: TransferCheck, number: int) -> tuple[float, float, float]:
    draw = np.random.default_rng(seed_of("transfer_check", config.seed, number))
    names = sorted(SCANNERS)
    source, target = (names[i] for i in draw.permutation(len(names))[:2])
    seed, style_seed = (int(value) for value in draw.integers(0, 2**31, 2))
    dyes = tissue(seed, config.size)
    content, truth = scan(dyes, source, seed), scan(dyes, target, seed).astype(np.float64)
    style = scan(tissue(style_seed, config.size), target, style_seed)
    out = match(content, style, method=config.method, space=config.space)
    error = [float(np.abs(image - truth).mean()) for image in (content, out)]
    return error[0], error[1], float(audit(content, out).clipped_overall)
