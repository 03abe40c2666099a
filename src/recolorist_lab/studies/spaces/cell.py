"""Study 1: compare colour spaces and methods of matching. One cell is one dataset, space, method and seed.

Pairs are matched as 8-bit images of the evaluation size, one at a time, and are measured at once. The images are never all in
memory. The style side's features are kept on disk and shared by all configurations of a dataset and seed.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from recolorist.core.audit import Audit, audit
from recolorist.core.match import MATCHERS, match
from recolorist.core.moments import measure
from recolorist.core.plan import plan
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.data.named import data_of
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.report.stats import bootstrap
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS
from recolorist_lab.studies.protocol import EVALUATION_SIZE, Paired, open_pairs, refuse_odd_pairs

if TYPE_CHECKING:
    from recolorist_lab.metrics import Evaluation, Triple

__all__ = ["FILE", "METRICS", "Spaces", "run", "transferred"]

#: All there are; those before LPIPS need no network.
METRICS: Final = ("ssim", "ssim_luminance", "gradient_similarity", "wasserstein", "lpips", "fid", "kid", "artfid")
FILE: Final = "pairs.csv"  #: kept beside the result: the metrics of every pair
_INTERVALS: Final = ("ssim", "lpips", "wasserstein")


@dataclass(frozen=True)
class Spaces:
    """One configuration of the colour-space study."""

    dataset: str = identity("synthetic")
    space: str = identity("rgb")
    method: str = identity("mean_std")
    seed: int = identity(SEEDS[0])
    pairs: int = identity(800)
    split: str = identity("train")
    size: int = identity(EVALUATION_SIZE)
    resize: Literal["squash", "letterbox"] = identity("squash")
    fid_backend: Literal["classic", "torchvision"] = identity("classic")
    metrics: tuple[str, ...] = identity(METRICS)
    batch: int = identity(16)  # it moves the last bits of a network's sums
    root: str = operational("")
    features: str = operational("")  # folder of the style side's features; by default the user's cache
    device: str = operational("cpu")
    threads: int = operational(0)  # of torch; 0 leaves its own choice

    def __post_init__(self) -> None:
        refuse_odd_pairs(self.pairs, self.seed, self.size)
        unknown([self.space], SPACES, "space")
        unknown([self.method], MATCHERS, "method")
        unknown(self.metrics, METRICS, "metrics")
        if self.size < 32 or self.batch < 1 or self.threads < 0:
            raise OptionError(
                f"size={self.size}, batch={self.batch}, threads={self.threads}; all images need one size of 32 pixels or more, "
                "a batch one image, and threads are counted from 0"
            )


def run(config: Spaces, context: Context) -> Mapping[str, Json]:
    """Match pairs, measure them, and time each part.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.

    Raises:
        RecoloristError: A pair was lost.
    """
    from recolorist_lab.metrics import FeatureCache, evaluate

    _use_threads(config.threads)
    paired, clock = open_pairs(config), _Clock()
    start = time.perf_counter()
    evaluation = evaluate(
        transferred(config, paired, clock),
        metrics=config.metrics,
        fid_backend=config.fid_backend,
        batch=config.batch,
        device=config.device,
        cache=FeatureCache(Path(config.features)) if config.features else FeatureCache(),
        style_key=f"{data_of(config)}/{config.split}/{config.size}/{config.resize}/{config.seed}/{config.pairs}",
    )
    seconds = time.perf_counter() - start
    if evaluation.n != config.pairs:
        raise RecoloristError(f"{evaluation.n} of {config.pairs} pairs came through the evaluation; no result is reported")
    context.keep(FILE, _table(evaluation.pairs))
    return {
        "images": len(paired.samples),
        "repeats": paired.pairs.repeats,
        **_metrics(evaluation),
        "intervals": {name: _interval(evaluation.pairs[name]) for name in _INTERVALS if name in evaluation.pairs},
        "time": _times(evaluation, clock, seconds),
    }


@dataclass
class _Clock:
    """Seconds that the iterator spent on each part."""

    transform: list[float] = field(default_factory=list)
    audit: float = 0.0
    warm: float = 0.0


def transferred(config: Spaces, paired: Paired, clock: _Clock) -> Iterator[Triple]:
    """Match every pair, in order.

    Args:
        config: The configuration of the cell.
        paired: The images and which are paired.
        clock: Adds up the time of each part.

    Yields:
        Content, style and output of a pair.
    """
    from recolorist_lab.metrics import Triple

    for pair in paired.stream():
        content, style = pair.content.image, pair.style.image
        masks = pair.content.mask, pair.style.mask
        if not pair.number:  # libraries are imported and tables filled by the first call, and that is no part of a transfer
            clock.warm = _timed(content, style, masks, config)[1]
        output, seconds = _timed(content, style, masks, config)
        clock.transform.append(seconds)
        start = time.perf_counter()
        audited = _audited(content, style, masks, config)
        clock.audit += time.perf_counter() - start
        yield Triple(content, style, output, audited)


def _timed(content: Bytes, style: Bytes, masks: tuple[Any, Any], config: Spaces) -> tuple[Bytes, float]:
    start = time.perf_counter()
    output: Bytes = match(content, style, config.method, config.space, *masks, apply_to="all" if masks[0] is None else "mask")
    return output, time.perf_counter() - start


def _audited(content: Bytes, style: Bytes, masks: tuple[Any, Any], config: Spaces) -> Audit | None:
    """Audit the plan; return None for a histogram method, which has no plan."""
    if MATCHERS[config.method].needs_pixels:
        return None
    space = "rgb" if SPACES[config.space].is_linear else config.space
    moments = [measure(image, mask, space=space) for image, mask in zip((content, style), masks, strict=True)]
    method: Any = config.method
    return audit(content, plan(moments[0], moments[1], config.space, method=method), mask=masks[0])


def _use_threads(count: int) -> None:
    if count:
        import torch

        torch.set_num_threads(count)


def _metrics(evaluation: Evaluation) -> dict[str, Json]:
    values = evaluation.to_dict()
    names = [name for name in values if name not in ("n", "seconds", "choices")]
    return {"pairs": evaluation.n, **{name: values[name] for name in names}, "choices": values["choices"]}


def _interval(values: Any) -> list[Json]:
    interval = bootstrap(values)
    return [interval.low, interval.high]


def _times(evaluation: Evaluation, clock: _Clock, seconds: float) -> dict[str, Json]:
    """Return seconds of the whole, and the median milliseconds of one transfer, which a busy machine affects little."""
    transform = float(np.sum(clock.transform)) + clock.warm
    reading = evaluation.seconds["read"] - transform - clock.audit
    parts = {name.replace(" ", "_"): round(value, 6) for name, value in evaluation.seconds.items() if name != "read"}
    return {
        "whole": round(seconds, 6),
        "transform": round(transform, 6),
        "transform_share": round(transform / seconds, 8),
        "transform_ms": round(1000 * float(np.median(clock.transform)), 6),
        "audit": round(clock.audit, 6),
        "images": round(reading, 6),
        "parts": dict(parts),
    }


def _table(pairs: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(pairs)
    writer.writerows(zip(*(values.tolist() for values in pairs.values()), strict=True))
    return text.getvalue().encode()
