"""Check the images that metrics receive."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist_lab.metrics.errors import MetricError, RangeError

__all__ = ["finite", "levels", "pair", "unit"]

_ACCEPTED: Final = "images are float tensors of shape (N, 3, H, W) with values in [0, 1]"


def unit(images: Any, name: str = "images", *, least: int = 1) -> torch.Tensor:
    """Check that images are float tensors in [0, 1], as every metric takes them.

    Args:
        images: The images, `(N, 3, H, W)`.
        name: What to call them in an error.
        least: The shortest side that the metric can use.

    Returns:
        The same tensor, detached.

    Raises:
        RangeError: They are of another type, shape or range.

    Example:
        >>> unit(torch.zeros(1, 3, 4, 4)).shape
        torch.Size([1, 3, 4, 4])
        >>> unit(torch.full((1, 3, 4, 4), 200.0))
        Traceback (most recent call last):
        recolorist_lab.metrics.errors.RangeError: images hold values from 200 to 200; images are float tensors of shape ...
    """
    if not isinstance(images, torch.Tensor):
        raise RangeError(f"{name} are a {type(images).__name__}; {_ACCEPTED}: use torch.from_numpy, channels first")
    if not images.is_floating_point():
        raise RangeError(f"{name} are {str(images.dtype).removeprefix('torch.')}; {_ACCEPTED}: divide 8-bit levels by 255")
    _refuse_shape(images, name, least)
    low, high = (float(end) for end in torch.aminmax(images.detach()))
    if not (low >= 0.0 and high <= 1.0):  # also where either is not a number
        raise RangeError(f"{name} hold values from {low:g} to {high:g}; {_ACCEPTED}: rescale or clip them first")
    return images.detach()


def pair(a: Any, b: Any, *, least: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Check two batches of one shape on one device.

    Args:
        a: The first batch.
        b: The second batch.
        least: The shortest side that the metric can use.

    Returns:
        Both, detached.

    Raises:
        RangeError: One of them is not accepted by :func:`unit`, or they differ in shape or device.

    Example:
        >>> pair(torch.zeros(1, 3, 4, 4), torch.zeros(2, 3, 4, 4))
        Traceback (most recent call last):
        recolorist_lab.metrics.errors.RangeError: a has shape (1, 3, 4, 4) and b (2, 3, 4, 4); pairs are of one shape
    """
    first, second = unit(a, "a", least=least), unit(b, "b", least=least)
    if first.shape != second.shape:
        raise RangeError(f"a has shape {tuple(first.shape)} and b {tuple(second.shape)}; pairs are of one shape")
    if first.device != second.device:
        raise RangeError(f"a is on {first.device} and b on {second.device}; move them to one device")
    return first, second


def levels(image: Any, name: str = "image") -> NDArray[np.uint8]:
    """Check an 8-bit colour image, as it is read from a file.

    Args:
        image: The image, `(H, W, 3)`.
        name: What to call it in an error.

    Returns:
        The image as a contiguous array.

    Raises:
        RangeError: It is of another type or shape.

    Example:
        >>> levels(np.zeros((2, 2), np.uint8))
        Traceback (most recent call last):
        recolorist_lab.metrics.errors.RangeError: image is uint8 of shape (2, 2); it must be uint8 of shape (H, W, 3): ...
    """
    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise RangeError(
            f"{name} is {array.dtype} of shape {array.shape}; it must be uint8 of shape (H, W, 3): round floats as a PNG "
            "would, and repeat grey three times"
        )
    return np.ascontiguousarray(array)


def finite(values: NDArray[np.float64], name: str, first: int = 0) -> NDArray[np.float64]:
    """Return the values, or raise if one of them is not finite.

    Args:
        values: One value for each pair.
        name: The metric.
        first: The number of the first pair, for the message.

    Returns:
        The values, unchanged.

    Raises:
        MetricError: One of them is infinite or not a number.

    Example:
        >>> finite(np.array([0.5, np.nan]), "LPIPS", first=16)
        Traceback (most recent call last):
        recolorist_lab.metrics.errors.MetricError: LPIPS of pair 17 is nan; no value is reported
    """
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise MetricError(f"{name} of pair {first + wrong[0]} is {values[wrong[0]]}; no value is reported")
    return values


def _refuse_shape(images: torch.Tensor, name: str, least: int) -> None:
    if images.ndim != 4 or images.shape[1] != 3 or 0 in images.shape:
        raise RangeError(f"{name} have shape {tuple(images.shape)}; {_ACCEPTED}: repeat grey images three times")
    if min(images.shape[2:]) < least:
        raise RangeError(
            f"{name} are {images.shape[2]} × {images.shape[3]}; this metric needs {least} pixels a side: enlarge them"
        )
