"""Properties of mean–std matching on N pairs: correlation before and after clipping, and the clipped share.

The figures are those of the paper's supplement. Everything is computed on float64 values that are not rounded. So clipping is the
only thing besides the affine map. What writing 8 bits adds is given beside it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import image as check
from recolorist.core.apply import apply
from recolorist.core.clipping import predicted_share
from recolorist.core.foreground import RULES
from recolorist.core.moments import Moments, measure
from recolorist.core.options import EpsMode
from recolorist.core.plan import Plan, plan
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.data.pairs import Pairs
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.report.stats import bootstrap
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS
from recolorist_lab.studies.protocol import EVALUATION_SIZE, open_pairs, refuse_odd_pairs

__all__ = ["FILE", "NO_CAP", "Instance", "PairProperties", "Properties", "properties_of", "run", "widening"]

Array = NDArray[np.float64]
NO_CAP: Final = 1e9  #: a `max_gain` that no image reaches
FILE: Final = "instances.csv"  #: kept beside the result: one line per pair and channel
_ROUNDING: Final = 1e-9  # a value this little outside the range got there by rounding, and is not clipped
_HALVINGS: Final = 10  # strength is found to a thousandth, as the augmentation does


@dataclass(frozen=True)
class Properties:
    """One dataset, one seed, one way of holding the transform back.

    ``max_clip`` weakens a pair's match until no more than this share of values would be clipped; 1 lets everything pass. With a
    ``mask`` only the foreground is measured, changed and counted. ``size`` 0 keeps every picture's own.
    """

    dataset: str = identity("synthetic")
    split: str = identity("train")
    seed: int = identity(SEEDS[-1])
    pairs: int = identity(400)
    size: int = identity(EVALUATION_SIZE)
    resize: Literal["squash", "letterbox"] = identity("squash")
    space: str = identity("rgb")
    max_gain: float = identity(10.0)
    max_clip: float = identity(1.0)
    mask: str = identity("none")
    eps_mode: Literal["exact", "paper"] = identity("exact")
    root: str = operational("")

    def __post_init__(self) -> None:
        refuse_odd_pairs(self.pairs, self.seed, self.size)
        unknown([self.space], SPACES, "space")
        unknown([self.mask], ("none", *RULES), "mask")
        if self.max_gain < 0 or not 0 <= self.max_clip <= 1:
            raise OptionError(f"max_gain={self.max_gain}, max_clip={self.max_clip}; a gain from 0, and a share from 0 to 1")


class Instance(NamedTuple):
    """One channel of one pair."""

    pair: int
    channel: int
    gain: float
    clipped: float  #: share of values outside the range before clipping, by however little
    clipped_levels: float  #: share of 8-bit values that clipping changes: outside by half a level or more
    before: float  #: correlation of content and output, before clipping; NaN where a channel is flat
    after: float  #: after it
    written: float  #: after rounding to 8 bits as well


class PairProperties(NamedTuple):
    """One pair."""

    instances: tuple[Instance, ...]
    clipped_pixels: float  #: share of pixels with at least one channel clipped
    pooled_before: float  #: all channels as one vector
    pooled_after: float
    strength: float
    flags: frozenset[str]


def run(config: Properties, context: Context) -> Mapping[str, Json]:
    """Measure every pair. The figures of each channel are kept beside the summary.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.
    """
    paired = open_pairs(config)
    pairs = [properties_of(pair.content.picture, pair.style.picture, config, number=pair.number) for pair in paired.stream()]
    context.keep(FILE, _table(pairs))
    return {"images": len(paired.samples), "repeats": paired.pairs.repeats, **_summary(pairs, paired.pairs)}


def properties_of(content: Bytes, style: Bytes, config: Properties, *, number: int = 0) -> PairProperties:
    """Measure one pair.

    Args:
        content: The content, 8 bits.
        style: The style, 8 bits.
        config: The configuration of the cell.
        number: Number of the pair.

    Returns:
        Its figures.
    """
    inside, style_inside = (_foreground(image, config.mask) for image in (content, style))
    plan = _make_plan(content, inside, measure(style, style_inside, space=_measured_in(config.space)), config)
    unit = content / 255.0
    free = apply(unit, plan, clip=False)
    before, out = (image.reshape(-1, 3) if inside is None else image[inside] for image in (unit, free))
    clipped = np.clip(out, 0.0, 1.0)
    outside = (out < -_ROUNDING) | (out > 1.0 + _ROUNDING)
    written, levels = np.rint(255.0 * clipped), np.rint(255.0 * out)
    beyond = (levels < 0.0) | (levels > 255.0)
    instances = tuple(
        Instance(
            number,
            channel,
            float(plan.gain[channel]),
            float(outside[:, channel].mean()),
            float(beyond[:, channel].mean()),
            *(correlation(before[:, channel], values[:, channel]) for values in (out, clipped, written)),
        )
        for channel in range(3)
    )
    pooled = [correlation(before.ravel(), values.ravel()) for values in (out, clipped)]
    flags = frozenset(name for channel in plan.flags for name in channel)
    return PairProperties(instances, float(outside.any(axis=1).mean()), pooled[0], pooled[1], plan.strength, flags)


def correlation(x: Array, y: Array) -> float:
    """Return Pearson's correlation, in float64.

    Args:
        x: Values.
        y: As many values.

    Returns:
        The correlation; NaN where one of the two is flat.

    Example:
        >>> round(correlation(np.array([0.0, 1.0, 2.0]), np.array([5.0, 7.0, 9.0])), 12)
        1.0
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    dx, dy = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(dx @ dx)) * math.sqrt(float(dy @ dy))
    return min(1.0, max(-1.0, float(dx @ dy) / spread))


# ---- helpers ----------------------------------------------------------------------------------------------------------------


def _foreground(image: Bytes, rule: str) -> NDArray[np.bool_] | None:
    return None if rule == "none" else RULES[rule](image, 255.0)


def _measured_in(space: str) -> str:
    return "rgb" if SPACES[space].is_linear else space


def _make_plan(content: Bytes, inside: NDArray[np.bool_] | None, style: Moments, config: Properties) -> Plan:
    """Return the plan at full strength, or the strongest one within the limit of clipping."""
    measured = measure(content, inside, space=_measured_in(config.space))
    mode: EpsMode = config.eps_mode

    def at(strength: float) -> Plan:
        return plan(measured, style, config.space, strength, config.max_gain, mode)

    full = at(1.0)
    opened = check.open_image(content, None)
    if config.max_clip >= 1 or predicted_share(opened, full, inside) <= config.max_clip:
        return full
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = predicted_share(opened, at(middle), inside) <= config.max_clip
        low, high = (middle, high) if fits else (low, middle)
    return at(low)


def _summary(pairs: list[PairProperties], drawn: Pairs) -> dict[str, Json]:
    instances = [instance for pair in pairs for instance in pair.instances]
    column: dict[str, Array] = {name: np.array([getattr(instance, name) for instance in instances]) for name in Instance._fields}
    defined = np.isfinite(column["after"]) & np.isfinite(column["before"])
    if not defined.any():
        raise RecoloristError(
            f"every channel of all {len(pairs)} pairs is flat, so no correlation is defined; give images of more than one colour"
        )
    flags = [name for pair in pairs for name in pair.flags]
    return {
        "pairs": len(pairs),
        "instances": len(instances),
        "flat_instances": int((~defined).sum()),
        "pearson_before_min": float(column["before"][defined].min()),
        "pearson_after_mean": float(column["after"][defined].mean()),
        "pearson_after_min": float(column["after"][defined].min()),
        "pearson_after_interval": _interval(_per_pair(column["after"], len(pairs)), drawn),
        "pearson_written_mean": float(np.nanmean(column["written"][defined])),
        "clipped_values": float(column["clipped"].mean()),
        "clipped_levels": float(column["clipped_levels"].mean()),
        "clipped_interval": _interval(_per_pair(column["clipped"], len(pairs)), drawn),
        "clipped_pixels": float(np.mean([pair.clipped_pixels for pair in pairs])),
        "unclipped_instances": float((column["clipped"] == 0).mean()),
        "unclipped_instances_levels": float((column["clipped_levels"] == 0).mean()),
        "pooled_before": _mean([pair.pooled_before for pair in pairs]),
        "pooled_after": _mean([pair.pooled_after for pair in pairs]),
        "spearman_clipped_after": _spearman(column["clipped"][defined], column["after"][defined]),
        "strength_mean": float(np.mean([pair.strength for pair in pairs])),
        "pairs_weakened": sum(pair.strength < 1 for pair in pairs),
        "pairs_gain_capped": flags.count("gain_capped"),
        "pairs_flat": flags.count("flat") + flags.count("collapsed"),
    }


def _per_pair(values: Array, pairs: int) -> Array:
    """Average over a pair's channels, since the bootstrap draws pairs; NaN where no channel has a value."""
    table = values.reshape(pairs, 3)
    known = np.isfinite(table)
    return np.where(known.any(axis=1), np.where(known, table, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1), np.nan)


def _interval(values: Array, drawn: Pairs) -> list[Json]:
    """Compute a BCa interval over pairs, widened where pairs share images and so are not independent."""
    known = np.isfinite(values)
    interval = bootstrap(values[known])
    wider = widening(values[known], drawn.content[known], drawn.style[known])
    return [interval.estimate - wider * (interval.estimate - side) for side in (interval.low, interval.high)]


def widening(values: Array, content: NDArray[np.int64], style: NDArray[np.int64]) -> float:
    """Return how much larger the standard error of a mean over pairs is when pairs with an image in common may be correlated.

    The variance is the sum of products of the deviations of all pairs that share an image, beside that of pairs on their own
    (Aronow, Samii and Assenova, Political Analysis 23, 2015). It is never taken for smaller.

    Args:
        values: One for each pair.
        content: The image of each pair that is changed.
        style: The image it takes its colours from.

    Returns:
        The factor, at least 1.

    Example:
        >>> values = np.array([1.0, 1.0, 2.0, 2.0])
        >>> content, style = np.array([0, 0, 1, 1]), np.array([2, 3, 4, 5])
        >>> round(widening(values, content, style), 3), widening(values, np.arange(4), np.arange(4, 8))
        (1.414, 1.0)
    """
    away = values - values.mean()
    alone = float(away @ away)
    if alone == 0:
        return 1.0
    is_shared = np.zeros((len(values), len(values)), bool)
    for first in (content, style):
        for second in (content, style):
            is_shared |= first[:, None] == second[None, :]
    return math.sqrt(max(1.0, float(away @ is_shared @ away) / alone))


def _mean(values: list[float]) -> float:
    return float(np.nanmean(values))


def _spearman(x: Array, y: Array) -> float | None:
    """Compute the rank correlation; None where nothing was clipped."""
    from scipy import stats

    return None if np.ptp(x) == 0 or np.ptp(y) == 0 else float(stats.spearmanr(x, y).statistic)


def _table(pairs: list[PairProperties]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Instance._fields)
    for pair in pairs:
        writer.writerows([_field(value) for value in instance] for instance in pair.instances)
    return text.getvalue().encode()


def _field(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value
