"""Times of small cells on this machine, and estimates for other cells from them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.data.named import ABSENT, fingerprint_of, open_dataset
from recolorist_lab.data.registry import find_card
from recolorist_lab.paper.numbers import RUNTIME

__all__ = ["FORWARD", "Rates", "has_printed_time", "seconds_to_read", "sizes_of", "speed_up", "times_adain"]

FORWARD: Final = 1 / 3  #: of a training step: looking at an image without learning from it
_TIMED: Final = 5  # images that are read to know how long one takes
_REFERENCE: Final = RUNTIME["gpu", "AdaIN"]


@dataclass(frozen=True)
class Rates:
    """Seconds that the small cells took, and bytes that they kept."""

    train: float  #: one image learnt from by the classifier
    learn: float  #: one image of one training step of AdaIN
    pair: float  #: one pair transferred and measured
    properties: float  #: one pair of the properties study
    classifier_bytes: int
    baseline_bytes: int
    networks: bool  #: whether `pair` holds LPIPS and FID
    device: str


def sizes_of(config: Any) -> tuple[int, int, int]:
    """Count the images of a configuration's dataset.

    Args:
        config: The configuration of the cell.

    Returns:
        Numbers of training, validation and test images.
    """
    card = find_card(config.dataset)
    if card is not None:
        expected = card.expected
        return expected.train, expected.val, expected.test
    sizes = open_dataset(config.dataset, config.root).manifest.sizes()
    return sizes.get("train", 0), sizes.get("val", 0), sizes.get("test", 0)


def seconds_to_read(config: Any) -> float:
    """Time how long one training image takes to be decoded and resized: the median of five; 0 where the data are not here.

    Synthetic tiles are in memory, and count as nothing.

    Args:
        config: The configuration of a training.

    Returns:
        Seconds.
    """
    if config.dataset.partition(":")[0] == "synthetic" or fingerprint_of(config.dataset, config.root) == ABSENT:
        return 0.0
    return _seconds_to_read(config.dataset, config.root, config.size, config.resize)


@lru_cache
def _seconds_to_read(dataset: str, root: str, size: int, resize: str) -> float:
    samples = open_dataset(dataset, root).samples("train", size=size, resize=resize)
    seconds = []
    for place in range(0, len(samples), max(1, len(samples) // _TIMED)):
        start = time.perf_counter()
        _ = samples[place]
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[-_TIMED:])


def has_printed_time(method: str) -> bool:
    """Return whether the paper prints a time of this method on a GPU.

    Args:
        method: The name of a method.

    Returns:
        True if it does.

    Example:
        >>> has_printed_time("adain")
        True
    """
    return ("gpu", METHODS[method].title) in RUNTIME


def times_adain(method: str, side: int) -> float:
    """Return how many times AdaIN's time for an image a method takes for an image of this side.

    The paper's times on a GPU are compared, pixel for pixel. A method that the paper does not time is counted like AdaIN.

    Args:
        method: The name of a method.
        side: Of the image, in pixels.

    Returns:
        The factor.

    Example:
        >>> times_adain("adain", 512)
        4.0
    """
    printed = RUNTIME["gpu", METHODS[method].title] if has_printed_time(method) else _REFERENCE
    return printed.mean / _REFERENCE.mean * (side / printed.resolution) ** 2


def speed_up() -> float:
    """Return how many times faster than a processor a GPU is in the paper's runtimes: the median of thirteen networks.

    Returns:
        The factor.

    Example:
        >>> 10 < speed_up() < 200
        True
    """
    timed_on_both = [name for device, name in RUNTIME if device == "gpu"]
    return statistics.median(RUNTIME["cpu", name].mean / RUNTIME["gpu", name].mean for name in timed_on_both)
