"""Input and result of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core.audit import Audit
from recolorist_lab.plugins import Registry

__all__ = [
    "ALL",
    "FID_BACKENDS",
    "LPIPS_NETS",
    "METRICS",
    "MODULES",
    "PER_PAIR",
    "SSIM_FORMS",
    "Evaluation",
    "Metric",
    "Triple",
    "with_parts",
]

#: A metric from outside: contents, styles and outputs, float tensors (N, 3, H, W) in [0, 1], to a tensor of N values.
Metric: TypeAlias = Callable[[Any, Any, Any], Any]

#: Metrics of one pair; the evaluation reports their means and keeps the values.
PER_PAIR: Final = ("ssim", "ssim_luminance", "gradient_similarity", "lpips", "wasserstein")
#: Every metric that can be asked for.
ALL: Final = (*PER_PAIR, "fid", "kid", "artfid")
#: The modules behind each metric, imported when it is asked for: a change of one leaves the results of the others valid.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "ssim": ("structure",),
    "ssim_luminance": ("structure",),
    "gradient_similarity": ("structure",),
    "lpips": ("perceptual",),
    "wasserstein": ("colour",),
    "fid": ("distances", "frechet"),
    "kid": ("distances", "kernel"),
    "artfid": ("frechet",),  # and those of LPIPS and FID, which it is made of
}
#: What each choice of an evaluation accepts.
SSIM_FORMS: Final = ("skimage", "torchmetrics")
LPIPS_NETS: Final = ("alex", "vgg")
FID_BACKENDS: Final = ("classic", "torchvision", "torchvision_raw")
#: Metrics of one pair that plugins add; they are computed if they are named.
METRICS: Final[Registry[Metric]] = Registry("metrics", {}, lambda plugin: cast("Metric", plugin.load()))


def with_parts(metrics: Iterable[str]) -> frozenset[str]:
    """Add the metrics from which others are computed.

    Args:
        metrics: Names of metrics.

    Returns:
        The names given, and those of the metrics that they are computed from.

    Example:
        >>> sorted(with_parts(["artfid"]))
        ['artfid', 'fid', 'lpips']
    """
    names = frozenset(metrics)
    return names | {"lpips", "fid"} if "artfid" in names else names


class Triple(NamedTuple):
    """A content, a style and the output made of them: uint8 (H, W, 3), all of the evaluation size.

    ``audit`` is the result of :func:`recolorist.audit`, where one was requested.
    """

    content: NDArray[np.uint8]
    style: NDArray[np.uint8]
    output: NDArray[np.uint8]
    audit: Audit | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The metrics of a set of pairs. A metric that was not asked for is None; one that failed was raised.

    SSIM, luminance SSIM and gradient similarity: output against content, 1 is equal. LPIPS: output against content, 0 is equal.
    Wasserstein, FID and KID: output against style, 0 is equal. ``clipped`` and ``pearson`` are means over the audits, the latter
    over those where it is defined: of a flat image it is not, and NaN among the pairs.
    """

    n: int
    ssim: float | None = None
    ssim_luminance: float | None = None
    gradient_similarity: float | None = None
    lpips: float | None = None
    wasserstein: float | None = None
    fid: float | None = None
    kid: float | None = None
    kid_low: float | None = None
    kid_high: float | None = None
    artfid: float | None = None
    clipped: float | None = None
    pearson: float | None = None
    added: Mapping[str, float] = field(default_factory=dict)  #: means of the metrics of plugins
    seconds: Mapping[str, float] = field(default_factory=dict)  #: by part; "read" is what the caller's iterator took
    choices: Mapping[str, str] = field(default_factory=dict)  #: forms and networks behind the numbers
    pairs: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)  #: values of every pair, in order

    def to_dict(self, *, pairs: bool = False) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes None.

        Args:
            pairs: Include the values of every pair.

        Returns:
            The values by name.

        Example:
            >>> Evaluation(2, ssim=0.5, pairs={"ssim": np.array([0.4, 0.6])}).to_dict(pairs=True)["pairs"]
            {'ssim': [0.4, 0.6]}
        """
        summary = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "pairs"}
        summary["added"], summary["seconds"], summary["choices"] = dict(self.added), dict(self.seconds), dict(self.choices)
        per_pair = {
            name: [value if np.isfinite(value) else None for value in values.tolist()] for name, values in self.pairs.items()
        }
        return summary | ({"pairs": per_pair} if pairs else {})
