"""What augmentations may know of the training split: the styles of its images, and their pixels where styles are not enough."""

from __future__ import annotations

from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError
from recolorist_lab.data.banks import cached_bank
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.pixels import Bytes

__all__ = ["TrainingImages"]


class TrainingImages:
    """The training split as augmentations see it. An image's number is its place in the samples.

    >>> from recolorist_lab.data.synthetic import Recipe, make
    >>> images = TrainingImages(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
    >>> len(images), len(images.bank()), images.pixels(3).shape
    (4, 4, (16, 16, 3))
    """

    def __init__(self, samples: Samples, unseen: Samples | None = None) -> None:
        """``samples`` must be the training split: styles of any other would leak. ``unseen`` is for ceilings only."""
        if samples.split not in ("train", None):
            raise OptionError(f"these are the {samples.split!r} images; augmentations take their styles from the split 'train'")
        self.samples, self._unseen = samples, unseen
        self.dataset = samples.manifest.facts.dataset
        self._banks: dict[str, StyleBank] = {}

    def __len__(self) -> int:
        """Number of images."""
        return len(self.samples)

    def bank(self, space: str = "rgb") -> StyleBank:
        """Return the styles of all images: measured once, and kept beside the manifest where that can be written to.

        Args:
            space: The colour space of the styles.

        Returns:
            The bank.
        """
        if space not in self._banks:
            self._banks[space] = cached_bank(self.samples, space)
        return self._banks[space]

    def unseen_bank(self) -> StyleBank:
        """Return the styles of the test images in RGB, which show the most that styles can give and are of no use otherwise.

        Returns:
            The bank.

        Raises:
            OptionError: There are no test images.
        """
        if self._unseen is None:
            raise OptionError("styles='unseen' needs the images of a test, and none are given; use styles='train'")
        return cached_bank(self._unseen)

    def pixels(self, index: int) -> Bytes:
        """Return the pixels of an image, without the border of letterboxing.

        Args:
            index: The place of the image.

        Returns:
            The image.
        """
        return self.samples[index].picture
