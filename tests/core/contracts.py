"""The contract of every public name, as data. `test_contracts.py` holds each name to its record, and misses none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.histograms import WorkingChannel, working_channels
from recolorist.core.image import open_image

KERNELS: Final = ("numpy", *(("c",) if kernels._compiled else ()))

DTYPES: Final = ("uint8", "uint16", "float16", "float32", "float64")


def channels_of(image: NDArray[Any], space: str) -> list[WorkingChannel]:
    """The channels of an image as the histogram methods see them."""
    opened = open_image(image)
    return working_channels(opened, space, np.empty((opened.channels, *opened.array.shape[:2])))


def _transposed(image: NDArray[Any]) -> NDArray[Any]:
    """Channel-first memory seen channel-last, as frameworks hand it over."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(image, -1, 0)), 0, -1)


def _strided(image: NDArray[Any]) -> NDArray[Any]:
    """Every second row and third column of a larger image."""
    height, width = image.shape[:2]
    large = np.ones((2 * height, 3 * width, *image.shape[2:]), image.dtype)
    large[::2, 1::3] = image
    return large[::2, 1::3]


def _backwards(image: NDArray[Any]) -> NDArray[Any]:
    return image[::-1, ::-1].copy()[::-1, ::-1]


def _read_only(image: NDArray[Any]) -> NDArray[Any]:
    locked = image.copy()
    locked.flags.writeable = False
    return locked


def _mapped(image: NDArray[Any], folder: Path) -> NDArray[Any]:
    path = folder / "image.npy"
    np.save(path, image)
    return cast("NDArray[Any]", np.load(path, mmap_mode="r"))


#: How the same pixels may lie in memory.
LAYOUTS: Final[Mapping[str, Callable[[NDArray[Any], Path], NDArray[Any]]]] = {
    "C": lambda image, _: image.copy(),
    "Fortran": lambda image, _: np.asfortranarray(image),
    "strided": lambda image, _: _strided(image),
    "backwards": lambda image, _: _backwards(image),
    "channel-first": lambda image, _: _transposed(image),
    "read-only": lambda image, _: _read_only(image),
    "big-endian": lambda image, _: image.astype(image.dtype.newbyteorder(">")),
    "memmap": _mapped,
}


@dataclass(frozen=True, slots=True)
class Contract:
    """What is promised of one public name."""

    kind: (
        str  #: "function of an image" (or of a batch), "transform of an image", "function", "record", "table", "error" or "text"
    )
    dtypes: tuple[str, ...] = ()  #: of images it takes
    layouts: tuple[str, ...] = ()
    channels: str = ""
    output: str = ""  #: shape and dtype of what it returns
    aliasing: str = ""  #: what it may share with its input
    reference: str = ""  #: the formula or independent code it is compared with
    parameters: tuple[tuple[str, Any], ...] = ()  #: the first ones, in order, with their defaults; `...`: required


_IMAGES: Final[dict[str, Any]] = {"kind": "function of an image", "dtypes": DTYPES, "layouts": tuple(LAYOUTS)}

CONTRACTS: Final[Mapping[str, Contract]] = {
    "measure": Contract(
        **_IMAGES,
        channels="1 to 512; four are RGBA unless alpha=False; three in any space but rgb",
        output="Moments; a batch gives a tuple of them",
        aliasing="nothing shared, input never written",
        reference="numpy.mean and numpy.cov(bias=True) in float64; for integers fractions.Fraction",
        parameters=(("image", ...), ("mask", None)),
    ),
    "plan": Contract(
        kind="function",
        output="Plan; a batch of moments gives a tuple of them",
        aliasing="nothing shared",
        reference="x' = M⁻¹ D M (x − μc) + μs, D = diag(σs / σc)",
        parameters=(
            ("content", ...),
            ("style", ...),
            ("space", "rgb"),
            ("strength", 1.0),
            ("max_gain", 10.0),
            ("eps_mode", "exact"),
        ),
    ),
    "apply": Contract(
        **_IMAGES,
        channels="as many as the plan; alpha beside them",
        output="image of the same type, shape, dtype, byte order and memory order",
        aliasing="nothing shared, input never written; `out` is filled and returned, and may not overlap the input",
        reference="rint(matrix @ x + offset) in float64, clipped",
        parameters=(("image", ...), ("plan", ...), ("out", None), ("mask", None)),
    ),
    "match": Contract(
        **_IMAGES,
        channels="as many as the style; alpha beside them; three in any space but rgb",
        output="image of the same type, shape, dtype, byte order and memory order as the content",
        aliasing="nothing shared, content and style never written; `out` as in apply",
        reference="apply(content, plan(measure(content), measure(style)))",
        parameters=(
            ("content", ...),
            ("style", ...),
            ("method", "mean_std"),
            ("space", "rgb"),
            ("mask", None),
            ("style_mask", None),
            ("strength", 1.0),
        ),
    ),
    "audit": Contract(
        **_IMAGES,
        channels="as many as the output or the plan",
        output="Audit; a batch gives a tuple of them",
        aliasing="nothing shared, content and output never written",
        reference="counting pixel by pixel; numpy.corrcoef",
        parameters=(("content", ...), ("out_or_plan", ...)),
    ),
    "Colorist": Contract(
        kind="transform of an image",
        dtypes=DTYPES,
        layouts=tuple(LAYOUTS),
        channels="as many as the bank's styles; alpha beside them",
        output="image of the same type, shape, dtype, byte order and memory order; the very image where nothing is drawn",
        aliasing="nothing shared where something is drawn, input never written",
        reference="match(image, the style that was drawn)",
        parameters=(("bank", ...), ("p", 0.3), ("method", "mean_std"), ("space", "rgb"), ("sampler", "uniform")),
    ),
    "Harmoniser": Contract(
        kind="transform of an image",
        dtypes=DTYPES,
        layouts=tuple(LAYOUTS),
        channels="as many as the bank's styles; alpha beside them",
        output="image of the same type, shape, dtype, byte order and memory order; the very image where it is left as it is",
        aliasing="nothing shared where it is moved, input never written",
        reference="match(image, the average style of the bank)",
        parameters=(("bank", ...), ("gate", None)),
    ),
    "match_within_batch": Contract(
        kind="function of a batch",
        dtypes=DTYPES,
        layouts=tuple(LAYOUTS),
        channels="any; alpha beside them",
        output="batch of the same shape, dtype, byte order and memory order",
        aliasing="nothing shared, input never written",
        reference="match(images[i], images[j]) for those drawn, the rest as they were",
        parameters=(("images", ...), ("p", 0.3), ("mode", "per_sample")),
    ),
    "StyleBank": Contract(kind="record", reference="the moments of the images it was built from"),
    "Harmonisation": Contract(kind="record", reference="from_json(to_json()) equals it to the bit"),
    "Moments": Contract(kind="record", aliasing="arrays are copied and frozen", reference="+ equals measuring both together"),
    "Plan": Contract(kind="record", reference="from_json(to_json()) equals it to the bit"),
    "Audit": Contract(kind="record", reference="to_json() is one line any JSON reader takes"),
    "SPACES": Contract(kind="table", reference="scikit-image; the 13 names of the paper, SECAM and Reinhard"),
    "MATCHERS": Contract(kind="table", reference="mean_std, histogram, exact_histogram, covariance"),
    "RecoloristError": Contract(kind="error", reference="a ValueError; every error of ours is one"),
    "__version__": Contract(kind="text", reference="PEP 440"),
}
