"""What an augmentation is: one image in, one out, and every random number drawn from the stream of (seed, epoch, index)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from recolorist.augment.streams import stream
from recolorist.errors import ImageError
from recolorist_lab.data.pixels import Box, Bytes

__all__ = ["BATCH", "PURPOSE", "Augmentation", "Chain", "Chance", "Nothing", "inside", "refuse_other_images"]

PURPOSE: Final = 301  # of the random streams; Colorist's own have another
BATCH: Final = 302


class Augmentation(ABC):
    """One augmentation, or several in a row.

    The same call gives the same bits in any process, with any number of workers, and after any resume. The image that comes is
    never written to; where nothing is done it is returned itself.
    """

    options: ClassVar[Mapping[str, bool | int | float | str]] = MappingProxyType({})  #: of a plugin, with their defaults
    default_p: ClassVar[float] = 1.0  #: of a plugin: the share of images it is applied to
    has_batch = False  #: whether :meth:`batch` does anything
    moves = False  #: whether pixels change place, so that the box of a letterboxed picture is no longer known

    @abstractmethod
    def __call__(
        self, image: Bytes, *, index: int, epoch: int, label: Any = None, domain: str = "", box: Box | None = None
    ) -> Bytes:
        """Augment image number ``index`` of the training split.

        ``box`` is where the picture lies in a letterboxed image: borders take no part in colour statistics.
        """

    def batch(self, images: Any, *, epoch: int, step: int) -> Any:  # noqa: ARG002 - most do nothing here
        """Augment a batch, after its images were augmented one by one.

        Args:
            images: A float tensor (B, 3, H, W) in [0, 1], on any device.
            epoch: Number of the epoch.
            step: Number of the batch in the epoch.

        Returns:
            The batch; the same tensor unless ``has_batch``.
        """
        return images


class Nothing(Augmentation):
    """No augmentation: the baseline.

    >>> image = np.zeros((4, 5, 3), np.uint8)
    >>> Nothing()(image, index=0, epoch=0) is image
    True
    """

    def __call__(
        self,
        image: Bytes,
        *,
        index: int,  # noqa: ARG002 - the common signature
        epoch: int,  # noqa: ARG002
        label: Any = None,  # noqa: ARG002
        domain: str = "",  # noqa: ARG002
        box: Box | None = None,  # noqa: ARG002
    ) -> Bytes:
        """Return the image as it is."""
        return image


class Chance(Augmentation):
    """An augmentation that is applied with probability ``p``; the first number of the sample's stream decides."""

    def __init__(self, p: float, seed: int) -> None:
        """Keep the probability; it was checked with the names and options."""
        self.p, self.seed = p, seed

    def __call__(
        self,
        image: Bytes,
        *,
        index: int,
        epoch: int,
        label: Any = None,  # noqa: ARG002 - the common signature
        domain: str = "",  # noqa: ARG002
        box: Box | None = None,
    ) -> Bytes:
        """Change the image with probability ``p``, else return it as it is."""
        refuse_other_images(image)
        rng = stream(self.seed, epoch, index, PURPOSE)
        return self.change(image, rng, index, box) if rng.random() < self.p else image

    @abstractmethod
    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:
        """Augment an image.

        Args:
            image: 8-bit RGB (H, W, 3), which must not be written to.
            rng: The stream of this image in this epoch; all draws come from it.
            index: Number of the image in the training split.
            box: The part of the image that is not border; None if all of it is.

        Returns:
            The augmented image, as an array of its own.
        """


class Chain(Augmentation):
    """Several in a row, left to right."""

    def __init__(self, parts: Sequence[Augmentation]) -> None:
        """Keep the parts; each has a seed of its own already."""
        self.parts = tuple(parts)
        self.has_batch = any(part.has_batch for part in parts)
        self.moves = any(part.moves for part in parts)

    def __call__(
        self, image: Bytes, *, index: int, epoch: int, label: Any = None, domain: str = "", box: Box | None = None
    ) -> Bytes:
        """Apply one after the other; after the first that moves pixels the box is no longer known."""
        for part in self.parts:
            image = part(image, index=index, epoch=epoch, label=label, domain=domain, box=box)
            box = None if part.moves else box
        return image

    def batch(self, images: Any, *, epoch: int, step: int) -> Any:
        """Change a batch by one augmentation after the other.

        Args:
            images: The batch.
            epoch: Counted from 0.
            step: Of the epoch.

        Returns:
            The changed batch.
        """
        for part in self.parts:
            images = part.batch(images, epoch=epoch, step=step)
        return images


def refuse_other_images(image: Any) -> None:
    """Check that an image is as the loader gives it.

    Args:
        image: Accepted are 8-bit RGB arrays (H, W, 3).

    Raises:
        ImageError: It is anything else.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        form = f"{image.dtype} of shape {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise ImageError(f"{form} came; augmentations take 8-bit RGB arrays (H, W, 3), as recolorist_lab.data.loader gives them")


def inside(image: Bytes, box: Box | None, change: Callable[[Bytes], Bytes]) -> Bytes:
    """Change the picture inside its box and leave the border.

    Args:
        image: 8-bit RGB (H, W, 3).
        box: Left, top, right and bottom of the picture; None if there is no border.
        change: Makes a picture of the same size from a picture.

    Returns:
        The changed image.

    Example:
        >>> image = np.zeros((4, 4, 3), np.uint8)
        >>> inside(image, (0, 1, 4, 3), lambda picture: picture + np.uint8(9))[:, 0, 0].tolist()
        [0, 9, 9, 0]
    """
    if box is None or box == (0, 0, image.shape[1], image.shape[0]):
        return change(image)
    x0, y0, x1, y1 = box
    result = image.copy()
    result[y0:y1, x0:x1] = change(np.ascontiguousarray(image[y0:y1, x0:x1]))
    return result
