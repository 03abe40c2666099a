"""The transfer protocol that several studies share: pairs of a split as 8-bit images of one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from recolorist.errors import OptionError
from recolorist_lab.data.loader import Sample, Samples
from recolorist_lab.data.named import open_dataset
from recolorist_lab.data.pairs import Pairs, draw_pairs

__all__ = ["EVALUATION_SIZE", "ImagePair", "Paired", "open_pairs", "refuse_odd_pairs"]

EVALUATION_SIZE: Final = 224  #: pixels a side; the paper says all images are brought to it


class ImagePair(NamedTuple):
    """One content and one style."""

    number: int
    content: Sample
    style: Sample


class Paired:
    """The pairs of a split, read when they are asked for."""

    def __init__(self, samples: Samples, pairs: Pairs) -> None:
        self.samples, self.pairs = samples, pairs

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def stream(self, start: int = 0, end: int | None = None) -> Iterator[ImagePair]:
        """Yield pairs in order, from one number up to another.

        Args:
            start: The first.
            end: The one after the last; None for all.

        Yields:
            Pairs.
        """
        for number in range(start, len(self) if end is None else min(end, len(self))):
            content, style = int(self.pairs.content[number]), int(self.pairs.style[number])
            yield ImagePair(number, self.samples[content], self.samples[style])


def open_pairs(config: Any) -> Paired:
    """Open the pairs of a configuration.

    Args:
        config: Has ``dataset``, ``root``, ``split``, ``size``, ``resize``, ``seed`` and ``pairs``.

    Returns:
        The images and which are paired.
    """
    images = open_dataset(config.dataset, config.root)
    samples = images.samples(config.split, size=config.size or None, resize=config.resize)
    return Paired(samples, draw_pairs(len(samples), config.seed, config.pairs))


def refuse_odd_pairs(pairs: int, seed: int, size: int) -> None:
    """Check the numbers of a protocol.

    Args:
        pairs: Number of pairs.
        seed: The seed.
        size: Side of the images.

    Raises:
        OptionError: One of them cannot be used.
    """
    if pairs < 2 or seed < 0 or size < 0:
        raise OptionError(
            f"pairs={pairs}, seed={seed}, size={size}; accepted are two pairs or more, a seed from 0, and a side in pixels "
            "(0 keeps every picture's own)"
        )
