"""Metrics of a transfer: SSIM, LPIPS, FID, KID, Wasserstein, ArtFID and others.

Every function declares what it takes: float tensors (N, 3, H, W) in [0, 1], or 8-bit images where its name says ``levels``. What
is of another shape, type or range is refused. A metric that fails raises an error; no other value is reported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from recolorist_lab.metrics.cache import FeatureCache
from recolorist_lab.metrics.errors import MetricError, RangeError
from recolorist_lab.metrics.evaluation import ALL, PER_PAIR, Evaluation, Triple

if TYPE_CHECKING:
    from recolorist_lab.metrics.colour import wasserstein, wasserstein_levels
    from recolorist_lab.metrics.frechet import artfid, fid
    from recolorist_lab.metrics.inception import features
    from recolorist_lab.metrics.kernel import Kid, kid
    from recolorist_lab.metrics.perceptual import lpips
    from recolorist_lab.metrics.streaming import evaluate
    from recolorist_lab.metrics.structure import gradient_similarity, ssim, ssim_luminance

# loaded when first asked for: most run on torch, which takes seconds, and a cell loads only the metrics that it uses
_LATER: Final = {
    "Kid": "kernel",
    "artfid": "frechet",
    "evaluate": "streaming",
    "features": "inception",
    "fid": "frechet",
    "gradient_similarity": "structure",
    "kid": "kernel",
    "lpips": "perceptual",
    "ssim": "structure",
    "ssim_luminance": "structure",
    "wasserstein": "colour",
    "wasserstein_levels": "colour",
}

__all__ = [
    "ALL",
    "PER_PAIR",
    "Evaluation",
    "FeatureCache",
    "Kid",
    "MetricError",
    "RangeError",
    "Triple",
    "artfid",
    "evaluate",
    "features",
    "fid",
    "gradient_similarity",
    "kid",
    "lpips",
    "ssim",
    "ssim_luminance",
    "wasserstein",
    "wasserstein_levels",
]


def __getattr__(name: str) -> Any:
    """Load a metric on first use."""
    if name in _LATER:
        return getattr(import_module(f"recolorist_lab.metrics.{_LATER[name]}"), name)
    raise AttributeError(f"module 'recolorist_lab.metrics' has no attribute {name!r}")
