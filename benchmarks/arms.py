"""The literal table of everything that is timed. An arm that cannot run stays in it, skipped with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks import ours, peers
from benchmarks.cases import Case, DType

__all__ = ["ARMS", "AUDIT", "MEMCPY", "PUBLIC_CALL", "STYLE_IMAGE", "THREE_STEPS", "Arm", "by_name"]

Group = Literal[
    "yardstick", "ours", "ours, NumPy fallback", "same formula", "authors' package", "reference-based", "augmentation"
]
Promise = Literal["formula", "mean", "none"]
UINT8: Final[tuple[DType, ...]] = ("uint8",)
BOTH: Final[tuple[DType, ...]] = ("uint8", "float32")
SLOW: Final = 1024  # the largest size of an arm that needs tens of milliseconds there already


@dataclass(frozen=True)
class Arm:
    """One row of the tables.

    `promise` says what the output may be checked against: "formula" is mean-and-deviation matching in RGB, down to the bytes;
    "mean" promises the style's mean by another way; "none" promises nothing of the kind.
    `random` marks policies whose cost varies from call to call, which are averaged over more calls.
    """

    name: str
    group: Group
    factory: Callable[[Case], Callable[[], object]]
    includes: str
    package: str
    dtypes: tuple[DType, ...] = BOTH
    max_size: int = 4096
    promise: Promise = "none"
    random: bool = False

    @property
    def is_fallback(self) -> bool:
        """Whether the arm is about the NumPy fallback of the kernels."""
        return self.group == "ours, NumPy fallback"


MEMCPY: Final = "memcpy (np.copyto)"
PUBLIC_CALL: Final = "recolorist.match, style known"
STYLE_IMAGE: Final = "recolorist.match, style image"
THREE_STEPS: Final = "recolorist.apply(plan(measure)), style known"
AUDIT: Final = "recolorist.audit, plan known"
KNOWN: Final = "content measured, plan, map; style statistics given"
PAIR: Final = "both images measured, plan, map"

ARMS: Final = (
    Arm(MEMCPY, "yardstick", peers.memcpy, "copy into an existing buffer", "numpy"),
    Arm("np.copy", "yardstick", peers.fresh_copy, "allocation and copy", "numpy"),
    Arm("JPEG decode, Pillow", "yardstick", peers.pillow_jpeg, "quality 90, in memory, to an array", "pillow", UINT8),
    Arm("JPEG decode, OpenCV", "yardstick", peers.opencv_jpeg, "quality 90, in memory, to RGB", "opencv-python-headless", UINT8),
    Arm(PUBLIC_CALL, "ours", ours.match_known, KNOWN, "recolorist", promise="formula"),
    Arm(STYLE_IMAGE, "ours", ours.match_pair, PAIR, "recolorist", promise="formula"),
    Arm("recolorist.match, style known, Pillow", "ours", ours.pillow_known, KNOWN, "recolorist", UINT8, promise="formula"),
    Arm(
        "recolorist.match, style known, out=",
        "ours",
        ours.into_buffer,
        KNOWN + "; no allocation",
        "recolorist",
        promise="formula",
    ),
    Arm("recolorist.measure", "ours", ours.measure_only, "mean and covariance of one image", "recolorist"),
    Arm("recolorist.apply", "ours", ours.apply_only, "map only", "recolorist", promise="formula"),
    Arm(THREE_STEPS, "ours", ours.three_steps, KNOWN, "recolorist", promise="formula"),
    Arm(AUDIT, "ours", ours.audit_only, "audit of one image by a plan", "recolorist", max_size=SLOW),
    Arm("recolorist.match, YCbCr, style known", "ours", ours.linear_space, KNOWN, "recolorist", promise="mean"),
    Arm("recolorist.match, covariance, style known", "ours", ours.covariance, KNOWN, "recolorist", promise="mean"),
    Arm(
        "NumPy fallback: match, style known",
        "ours, NumPy fallback",
        ours.match_known,
        KNOWN,
        "recolorist",
        max_size=SLOW,
        promise="formula",
    ),
    Arm(
        "NumPy fallback: match, style image",
        "ours, NumPy fallback",
        ours.match_pair,
        PAIR,
        "recolorist",
        max_size=SLOW,
        promise="formula",
    ),
    Arm(
        "NumPy fallback: measure",
        "ours, NumPy fallback",
        ours.measure_only,
        "mean and covariance of one image",
        "recolorist",
        max_size=SLOW,
    ),
    Arm(
        "NumPy fallback: apply",
        "ours, NumPy fallback",
        ours.apply_only,
        "map only",
        "recolorist",
        max_size=SLOW,
        promise="formula",
    ),
    Arm(
        "NumPy fallback: match, YCbCr, style known",
        "ours, NumPy fallback",
        ours.linear_space,
        KNOWN,
        "recolorist",
        max_size=SLOW,
        promise="mean",
    ),
    Arm("NumPy float64, style known", "same formula", peers.numpy_known, KNOWN, "numpy", BOTH, SLOW, "formula"),
    Arm("NumPy float64, style image", "same formula", peers.numpy_pair, PAIR, "numpy", BOTH, SLOW, "formula"),
    Arm(
        "OpenCV meanStdDev + LUT, style known",
        "same formula",
        peers.opencv_lut,
        KNOWN,
        "opencv-python-headless",
        UINT8,
        promise="formula",
    ),
    Arm(
        "OpenCV meanStdDev + transform, style known",
        "same formula",
        peers.opencv_transform,
        KNOWN,
        "opencv-python-headless",
        promise="formula",
    ),
    Arm("Pillow histogram + point, style known", "same formula", peers.pillow_point, KNOWN, "pillow", UINT8, promise="formula"),
    Arm(
        "Albumentations PixelDistributionAdaptation(standard)",
        "same formula",
        peers.albumentations_standard,
        PAIR,
        "albumentations",
        BOTH,
        SLOW,
        "formula",
    ),
    Arm("colorist-aug, array", "authors' package", peers.colorist_numpy, PAIR, "colorist-aug", BOTH, SLOW, "formula"),
    Arm("colorist-aug, Pillow", "authors' package", peers.colorist_pillow, PAIR, "colorist-aug", UINT8, SLOW, "formula"),
    Arm("colorist-aug, tensor", "authors' package", peers.colorist_tensor, PAIR, "colorist-aug", BOTH, SLOW, "formula"),
    Arm(
        "scikit-image match_histograms",
        "reference-based",
        peers.skimage_histograms,
        "both histograms",
        "scikit-image",
        BOTH,
        SLOW,
        "mean",
    ),
    Arm(
        "Albumentations HistogramMatching",
        "reference-based",
        peers.albumentations_histograms,
        "both histograms",
        "albumentations",
        BOTH,
        SLOW,
        "mean",
    ),
    Arm(
        "Albumentations PixelDistributionAdaptation(pca)",
        "reference-based",
        peers.albumentations_pca,
        "both images, principal axes",
        "albumentations",
        BOTH,
        SLOW,
        "mean",
    ),
    Arm(
        "Albumentations ColorJitter",
        "augmentation",
        peers.albumentations_jitter,
        "four jitters",
        "albumentations",
        BOTH,
        SLOW,
        random=True,
    ),
    Arm(
        "torchvision ColorJitter, tensor",
        "augmentation",
        peers.torchvision_jitter_tensor,
        "four jitters",
        "torchvision",
        BOTH,
        SLOW,
        random=True,
    ),
    Arm(
        "torchvision ColorJitter, Pillow",
        "augmentation",
        peers.torchvision_jitter_pillow,
        "four jitters",
        "torchvision",
        UINT8,
        SLOW,
        random=True,
    ),
    Arm(
        "torchvision RandAugment, tensor",
        "augmentation",
        peers.randaugment_tensor,
        "two random operations",
        "torchvision",
        BOTH,
        SLOW,
        random=True,
    ),
    Arm(
        "torchvision RandAugment, Pillow",
        "augmentation",
        peers.randaugment_pillow,
        "two random operations",
        "torchvision",
        UINT8,
        SLOW,
        random=True,
    ),
)


def by_name(name: str) -> Arm:
    """Return the arm of that exact name."""
    return next(arm for arm in ARMS if arm.name == name)
