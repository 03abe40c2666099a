"""Colour matching as an augmentation: Colorist with any of its samplers, and histogram matching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import recolorist as rc
from recolorist.augment.decisions import Draw
from recolorist.augment.samplers import beyond_by, extrapolate_by, own_style_by
from recolorist.augment.streams import stream
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.match import MATCHERS
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError
from recolorist_lab.augmentations.base import BATCH, Augmentation, Chance, inside, refuse_other_images
from recolorist_lab.augmentations.images import TrainingImages
from recolorist_lab.augmentations.table import Part
from recolorist_lab.data.pixels import Box, Bytes

__all__ = ["ColoristAugmentation", "HistogramAugmentation", "partners"]


class ColoristAugmentation(Augmentation):
    """Colorist in training, in one of two modes.

    ``sample``: each image is changed with probability p, and takes a style of the whole training split, never its own.
    ``styles="unseen"`` takes those of the test images instead. Nobody has these in practice; they show the most that styles can
    give. ``batch_fraction``: a fixed share of each batch is changed, rounded down, but at least one image. Each takes the style
    of the next of them.
    """

    def __init__(self, part: Part, images: TrainingImages, seed: int) -> None:
        """Measure the training images, or read the bank that was kept."""
        options = part.options
        self.p, self.seed = part.p, seed
        self.mode = check.option(options["mode"], ("sample", "batch_fraction"), "mode")
        self.has_batch = self.mode == "batch_fraction"
        if self.has_batch:
            self.matching = _batch_options(part)
            return
        space, method = check.option(options["space"], SPACES, "space"), check.option(options["method"], MATCHERS, "method")
        if MATCHERS[method].needs_pixels:
            raise OptionError(
                f"method={method!r} needs the style's pixels; accepted here are 'mean_std' and 'covariance', and there is an "
                "augmentation 'histogram'"
            )
        self.is_ceiling = check.option(options["styles"], ("train", "unseen"), "styles") == "unseen"
        self.core = rc.Colorist.as_published(
            images.unseen_bank() if self.is_ceiling else _bank(images, space),
            part.p,
            method=method,
            space=space,
            sampler=_sampler(options),
            strength=options["strength"],
            max_gain=options["max_gain"],
            max_clip=None if options["max_clip"] == 1.0 else options["max_clip"],
            seed=seed,
            allow_split=self.is_ceiling,
        )

    def __call__(
        self,
        image: Bytes,
        *,
        index: int,
        epoch: int,
        label: Any = None,  # noqa: ARG002 - the bank knows label and domain of each of its images
        domain: str = "",  # noqa: ARG002
        box: Box | None = None,
    ) -> Bytes:
        """Give a share of the images new colours."""
        refuse_other_images(image)
        if self.has_batch:
            return image
        if self.is_ceiling:
            return self._recolour(image, self.core.draw(index=index, epoch=epoch), box)
        keys = self.core.bank.keys
        if not 0 <= index < len(keys):
            raise OptionError(f"index={index} came; the training split has the images 0 to {len(keys) - 1}")
        return self._recolour(image, self.core.draw(keys[index], index=index, epoch=epoch), box)

    def _recolour(self, image: Bytes, draw: Draw | None, box: Box | None) -> Bytes:
        return image if draw is None else inside(image, box, lambda picture: self.core.recolour(picture, draw))

    def batch(self, images: Any, *, epoch: int, step: int) -> Any:
        """Give a fixed share of a batch new colours, in the mode ``batch_fraction``."""
        if not self.has_batch or self.p == 0 or len(images) < 2:
            return images
        import torch

        from recolorist.torch.colormatch import ColorMatch, Draws

        indices, styles = partners(len(images), self.p, stream(self.seed, epoch, step, BATCH))
        applied, source = np.zeros(len(images), bool), np.zeros(len(images), np.int64)
        applied[indices], source[indices] = True, styles
        strength = torch.full((len(images),), float(self.matching["strength"]), dtype=torch.float64)
        draws = (torch.from_numpy(applied), torch.from_numpy(source), strength)
        return ColorMatch(None, **self.matching).to(images.device)(
            images, draws=Draws(*(tensor.to(images.device) for tensor in draws))
        )


class HistogramAugmentation(Chance):
    """The histograms of another training image, whose pixels are read when it is drawn."""

    def __init__(self, part: Part, images: TrainingImages, seed: int) -> None:
        """Nothing is measured beforehand: histograms of a whole split would fill the memory."""
        super().__init__(part.p, seed)
        self.images = images

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:
        """Match to any other image, all equally likely."""
        if len(self.images) < 2:
            return image
        number = int(rng.integers(len(self.images) - 1))
        style = self.images.pixels(number + (number >= index))
        return inside(image, box, lambda picture: np.asarray(rc.match(picture, style, "histogram")))


def partners(count: int, p: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw the images of a batch that are changed, and the one each takes its style from: the next of them, and never itself.

    Args:
        count: Images in the batch.
        p: The probability with which an image is changed.
        rng: Where randomness comes from.

    Returns:
        Places of the images that are changed, and places of their styles.

    Example:
        >>> chosen, styles = partners(10, 0.3, np.random.default_rng(0))
        >>> len(chosen), sorted(chosen) == sorted(styles), bool((chosen == styles).any())
        (3, True, False)
    """
    order = rng.permutation(count)
    share = max(1, int(p * count))
    indices = order[:share]
    return indices, np.roll(indices, -1) if share > 1 else order[1:2]


def _bank(images: TrainingImages, space: str) -> StyleBank:
    return images.bank("rgb" if SPACES[space].is_linear else space)


def _sampler(options: Mapping[str, Any]) -> Any:
    """Return the sampler of an option set: ``factor`` is for `extrapolate`, ``spread`` for `beyond`, the rest for `own_style`."""
    if options["sampler"] == "own_style":
        return own_style_by(options["scale"], options["least"], options["mix"])
    if options["sampler"] == "beyond":
        return beyond_by(check.number(options["spread"], 0, 10, "spread"))
    return extrapolate_by(options["factor"]) if options["sampler"] == "extrapolate" else options["sampler"]


def _batch_options(part: Part) -> dict[str, Any]:
    """The options as the library's batches take them; what they cannot do is refused now."""
    from recolorist.torch.colormatch import ColorMatch

    if part.options["sampler"] != "uniform" or part.options["max_clip"] != 1.0:
        raise OptionError("mode='batch_fraction' takes its styles from the batch; leave sampler and max_clip as they are")
    matching = {name: part.options[name] for name in ("method", "space", "strength", "max_gain")} | {"blank": "match"}
    ColorMatch(None, **matching)
    return matching
