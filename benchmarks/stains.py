"""What people use instead to match in CIELAB: OpenCV by hand, and the Reinhard normalisers of stain packages.

Each factory prepares what a user prepares once and returns the call to be timed: both images measured, 8-bit RGB in and out.
A package that cannot be imported skips its own row, and the reason is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from benchmarks.cases import Case, Pixels
from benchmarks.environment import load

__all__ = ["STAINS"]

Call = Callable[[], object]


def opencv_lab(case: Case) -> Call:
    """OpenCV's 8-bit CIELAB: two conversions, two meanStdDev, one transform, one conversion back."""
    cv2 = load("cv2")

    def call() -> Any:
        content, style = (cv2.cvtColor(image, cv2.COLOR_RGB2Lab) for image in (case.content, case.style))
        (mean, std), (goal, wanted) = cv2.meanStdDev(content), cv2.meanStdDev(style)
        gain = wanted.ravel() / std.ravel()
        table = np.zeros((3, 4))
        table[:, :3], table[:, 3] = np.diag(gain), goal.ravel() - gain * mean.ravel()
        return cv2.cvtColor(cv2.transform(content, table), cv2.COLOR_Lab2RGB)

    return call


def torchstain_torch(case: Case) -> Call:
    """Torchstain's Reinhard with torch tensors; the style is measured in every call."""
    torch = load("torch")
    normalizer = load("torchstain").normalizers.ReinhardNormalizer(backend="torch")
    content, style = (torch.from_numpy(image).permute(2, 0, 1).float() for image in (case.content, case.style))

    def call() -> Any:
        normalizer.fit(style)
        return normalizer.normalize(content)

    return call


def torchstain_numpy(case: Case) -> Call:
    """Torchstain's Reinhard with NumPy arrays."""
    normalizer = load("torchstain").normalizers.ReinhardNormalizer(backend="numpy")

    def call() -> Any:
        normalizer.fit(case.style)
        return normalizer.normalize(case.content)

    return call


def torch_staintools(case: Case) -> Call:
    """torch-staintools' Reinhard on a batch of one in float32."""
    torch = load("torch")
    normalizer = load("torch_staintools.normalizer").NormalizerBuilder.build("reinhard")
    content, style = (torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255 for image in (case.content, case.style))

    def call() -> Any:
        with torch.no_grad():
            normalizer.fit(style)
            return normalizer(content)

    return call


def tiatoolbox(case: Case) -> Call:
    """Tiatoolbox's Reinhard, which goes through OpenCV's CIELAB."""
    normalizer = load("tiatoolbox.tools.stainnorm").ReinhardNormalizer()

    def call() -> Any:
        normalizer.fit(case.style)
        return normalizer.transform(case.content)

    return call


def histomicstk(case: Case) -> Call:
    """HistomicsTK's Reinhard, in lαβ."""
    conversion = load("histomicstk.preprocessing.color_conversion")
    reinhard = load("histomicstk.preprocessing.color_normalization").reinhard

    def call() -> Pixels:
        goal = conversion.lab_mean_std(case.style)
        return np.asarray(reinhard(case.content, *goal))

    return call


STAINS: Final[dict[str, Callable[[Case], Call]]] = {
    "OpenCV 8-bit Lab: cvtColor, meanStdDev, transform": opencv_lab,
    "torchstain Reinhard (torch)": torchstain_torch,
    "torchstain Reinhard (numpy)": torchstain_numpy,
    "torch-staintools Reinhard": torch_staintools,
    "tiatoolbox Reinhard": tiatoolbox,
    "HistomicsTK Reinhard": histomicstk,
}
