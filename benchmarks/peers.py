"""The arms that do not call recolorist: yardsticks, the formula in other hands, and what users would pick instead.

Each factory receives the pair, prepares what a user would have prepared once (tensors, transforms, style statistics where the
name says "style known"), and returns the call to be timed. Peers are imported inside, so an absent one skips only its arm.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from benchmarks.cases import Case, Pixels, textbook
from benchmarks.environment import load

Call = Callable[[], object]


# Yardsticks


def memcpy(case: Case) -> Call:
    """Copy the tile into a buffer that exists."""
    out = np.empty_like(case.content)
    return lambda: np.copyto(out, case.content)


def fresh_copy(case: Case) -> Call:
    """Copy the tile into a new buffer, as every call with an output has to at least."""
    return case.content.copy


def pillow_jpeg(case: Case) -> Call:
    """Decode the tile's JPEG with Pillow into an array."""
    data = case.jpeg
    return lambda: np.asarray(Image.open(io.BytesIO(data)))


def opencv_jpeg(case: Case) -> Call:
    """Decode the tile's JPEG with OpenCV and put the channels in RGB order."""
    cv2, data = load("cv2"), np.frombuffer(case.jpeg, np.uint8)
    return lambda: cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


# The same formula in other hands


def numpy_known(case: Case) -> Call:
    """The formula in float64, style statistics known."""
    mean, std = case.style_mean, case.style_std
    return lambda: textbook(case.content, mean, std)


def numpy_pair(case: Case) -> Call:
    """The formula in float64, both images measured."""

    def call() -> Pixels:
        style = case.style.astype(np.float64)
        return textbook(case.content, style.mean((0, 1)), style.std((0, 1)))

    return call


def _gain_offset(mean: Pixels, std: Pixels, case: Case) -> tuple[Pixels, Pixels]:
    gain = case.style_std / std
    return gain, case.style_mean - gain * mean


def _table(mean: Pixels, std: Pixels, case: Case) -> Pixels:
    """Return the 256-entry table of each channel, shape (256, 3)."""
    gain, offset = _gain_offset(mean, std, case)
    return np.clip(np.rint(np.arange(256)[:, None] * gain + offset), 0, 255).astype(np.uint8)


def opencv_lut(case: Case) -> Call:
    """`cv2.meanStdDev`, then one table per channel through `cv2.LUT`; style known."""
    cv2 = load("cv2")

    def call() -> object:
        mean, std = cv2.meanStdDev(case.content)
        return cv2.LUT(case.content, _table(mean.ravel(), std.ravel(), case)[None])

    return call


def opencv_transform(case: Case) -> Call:
    """`cv2.meanStdDev`, then a 3×4 affine map through `cv2.transform`; style known. Floats are clipped in place."""
    cv2 = load("cv2")

    def call() -> object:
        mean, std = cv2.meanStdDev(case.content)
        gain, offset = _gain_offset(mean.ravel(), std.ravel(), case)
        out = cv2.transform(case.content, np.column_stack([np.diag(gain), offset]))
        return out if case.dtype == "uint8" else np.clip(out, 0, 1, out=out)

    return call


def pillow_point(case: Case) -> Call:
    """Pillow's `histogram()` and `point()`, Pillow image in and out; style known."""
    image, grey = Image.fromarray(case.content), np.arange(256)

    def call() -> object:
        counts = np.asarray(image.histogram(), np.float64).reshape(3, 256)
        mean = counts @ grey / counts.sum(1)
        std = np.sqrt(counts @ grey**2 / counts.sum(1) - mean**2)
        return image.point(_table(mean, std, case).T.ravel().tolist())

    return call


# The authors' package, a black box: only its documented function is called


def colorist_numpy(case: Case) -> Call:
    """`colorist.transfer_rgb` on arrays; it takes a style image, never statistics."""
    colorist = load("colorist")
    return lambda: colorist.transfer_rgb(case.content, case.style)


def colorist_pillow(case: Case) -> Call:
    """`colorist.transfer_rgb` on Pillow images."""
    colorist, content, style = load("colorist"), Image.fromarray(case.content), Image.fromarray(case.style)
    return lambda: colorist.transfer_rgb(content, style)


def colorist_tensor(case: Case) -> Call:
    """`colorist.transfer_rgb` on CHW tensors."""
    colorist, content, style = load("colorist"), tensor(case.content), tensor(case.style)
    return lambda: colorist.transfer_rgb(content, style)


# Reference-based methods


def skimage_histograms(case: Case) -> Call:
    """`skimage.exposure.match_histograms`."""
    exposure = load("skimage.exposure")
    return lambda: exposure.match_histograms(case.content, case.style, channel_axis=-1)


def albumentations_histograms(case: Case) -> Call:
    """Albumentations `HistogramMatching`, always applied, full blend."""
    transform = load("albumentations").HistogramMatching(blend_ratio=(1, 1), metadata_key="style", p=1)
    return lambda: transform(image=case.content, style=[case.style])["image"]


def albumentations_standard(case: Case) -> Call:
    """Albumentations `PixelDistributionAdaptation("standard")`, always applied, full blend: the same formula as ours."""
    return _pixel_distribution(case, "standard")


def albumentations_pca(case: Case) -> Call:
    """Albumentations `PixelDistributionAdaptation("pca")`, always applied, full blend."""
    return _pixel_distribution(case, "pca")


def _pixel_distribution(case: Case, kind: str) -> Call:
    adaptation = load("albumentations").PixelDistributionAdaptation
    transform = adaptation(blend_ratio=(1, 1), transform_type=kind, metadata_key="style", p=1)
    return lambda: transform(image=case.content, style=[case.style])["image"]


# General augmentations


def albumentations_jitter(case: Case) -> Call:
    """Albumentations `ColorJitter`, always applied."""
    transform = load("albumentations").ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1), p=1)
    return lambda: transform(image=case.content)["image"]


def torchvision_jitter_tensor(case: Case) -> Call:
    """The v2 `ColorJitter` on a CHW tensor."""
    transform, image = load("torchvision.transforms.v2").ColorJitter(0.4, 0.4, 0.4, 0.1), tensor(case.content)
    return lambda: transform(image)


def torchvision_jitter_pillow(case: Case) -> Call:
    """The v2 `ColorJitter` on a Pillow image."""
    transform, image = load("torchvision.transforms.v2").ColorJitter(0.4, 0.4, 0.4, 0.1), Image.fromarray(case.content)
    return lambda: transform(image)


def randaugment_tensor(case: Case) -> Call:
    """The v2 `RandAugment` on a CHW tensor."""
    transform, image = load("torchvision.transforms.v2").RandAugment(), tensor(case.content)
    return lambda: transform(image)


def randaugment_pillow(case: Case) -> Call:
    """The v2 `RandAugment` on a Pillow image."""
    transform, image = load("torchvision.transforms.v2").RandAugment(), Image.fromarray(case.content)
    return lambda: transform(image)


def tensor(image: Pixels) -> object:
    """Return a contiguous CHW tensor of an HWC array."""
    return load("torch").from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
