"""Colorist, the augmentation, free of any framework: an array or PIL image in, the same out."""

from __future__ import annotations

import inspect
import math
import os
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.augment import streams
from recolorist.augment.bank_checks import pixels_of_histograms, refuse_unfit_bank, warn_of_preparation
from recolorist.augment.counts import BlankCounts
from recolorist.augment.decisions import Decision, Draw, Recolouring
from recolorist.augment.epochs import SharedEpoch
from recolorist.augment.masks import MaskRule, find_mask, open_rule
from recolorist.augment.read_options import ReadOptions
from recolorist.augment.samplers import SAMPLERS, Content, Sampler, Style
from recolorist.augment.styles import name_of_sampler
from recolorist.bank.making import MaskCheck, PreprocessingWarning
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.apply import apply, finished, make_target
from recolorist.core.blank import blank_map, is_blank
from recolorist.core.gains import Pairs
from recolorist.core.limits import Fit
from recolorist.core.match import StylePixels, match_opened, plan_opened
from recolorist.core.moments import Moments
from recolorist.core.options import Blank, match_options
from recolorist.core.plan import Plan
from recolorist.core.style_change import StyleChange
from recolorist.errors import ImageError, StatisticsError

__all__ = ["Colorist", "Decision", "Draw", "MaskRule", "PreprocessingWarning", "Recolouring"]

Mask = NDArray[np.bool_] | None
_NOTHING_KNOWN: Final = Content()
_TRIES: Final = 4  # styles tried where a limit is exceeded, before the last one is weakened


class Colorist(ReadOptions):
    """With probability ``p``, give an image the colour statistics of a style drawn from a bank.

    Where a style exceeds ``max_clip`` or ``max_loss`` others are tried. If none keeps the limit, the last one gives less of its
    contrast and then less of its colour. :meth:`as_published` is the paper's setting, :meth:`recommended` that of the recipe.

    The call draws from the stream of (seed, epoch, index) where an index or key is given, and from a sequence of the worker's own
    otherwise. Call :meth:`set_epoch` at the beginning of every epoch. Otherwise a key has the same colours in all of them. Where
    keys come back and no epoch was ever set, a :class:`~recolorist.augment.epochs.RepeatedEpochWarning` says so, once.

    Args:
        bank: The styles to draw from; a bank, or the path of a saved one.
        p: Probability of changing an image.
        method: A key of :data:`recolorist.MATCHERS`.
        space: A key of :data:`recolorist.SPACES`.
        sampler: A key of :data:`recolorist.samplers.SAMPLERS`, or a callable.
        strength: 0 leaves the image as it is, 1 matches it fully; two numbers are a range to draw from.
        max_gain: Largest factor on a channel.
        max_clip: Largest share of values that may be clipped.
        mask: ``"tissue"``, ``"fundus"`` or a callable from image to mask; a mask in the call goes before it.
        seed: Equal seeds give equal draws; by default a fresh one.
        max_loss: Largest share of patches that may lose more than half of their detail (see :mod:`recolorist.core.detail`).
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        data_range: Largest value that a float image may hold; 1.0 unless declared.
        preprocessing: What was done to the images, in your words; a bank that says otherwise is warned of.
        allow_split: Accept a bank that is not of a training split.
        blank: ``"keep"`` leaves images without content as they are (:mod:`recolorist.core.blank`), and never draws a style of
            such an image; ``"match"`` treats them like all others.

    Raises:
        OptionError: An option is unknown or outside its limits, or the bank does not serve it.

    Example:
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> aug = Colorist(StyleBank.build(tiles, split="train"), p=1.0, seed=1)
        >>> first, again = aug(tiles[0], key="0"), aug(tiles[0], key="0")
        >>> aug.set_epoch(2)
        >>> np.array_equal(first, again), np.array_equal(first, aug(tiles[0], key="0"))
        (True, False)
    """

    def __init__(
        self,
        bank: StyleBank | str | os.PathLike[str],
        p: float = 0.3,
        method: str = "mean_std",
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        mask: str | MaskRule | None = None,
        seed: int | None = None,
        *,
        max_loss: float | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        preprocessing: str | None = None,
        allow_split: bool = False,
        blank: Blank = "keep",
    ) -> None:
        """Check every option once, here."""
        styles = StyleBank.of(bank)
        styles.refuse_other_splits(allow=allow_split)
        self.p = check.number(p, 0, 1, "p")
        self.sampler = sampler if callable(sampler) else SAMPLERS[check.option(sampler, SAMPLERS, "sampler")]
        self.strength = check.number_range(strength, 0, 1, "strength")
        self.options = match_options(
            method, space, self.strength[1], max_gain, "exact", False, True, apply_to, "raise", blank, max_clip, max_loss
        )
        self.bank = styles.without_blank() if blank == "keep" else styles
        self.mask = open_rule(mask)
        self.seed = streams.fresh_seed() if seed is None else seed
        self.data_range, self.preprocessing, self.allow_split = data_range, preprocessing, allow_split
        self._sequence, self._epoch = streams.Sequence(self.seed), SharedEpoch()
        self._names = (sampler if isinstance(sampler, str) else name_of_sampler(sampler), mask)
        refuse_unfit_bank(self.bank, self.options, self.sampler)
        self._warned, self._blank_counts = styles.size is None, BlankCounts()
        if preprocessing is not None and preprocessing != styles.preprocessing:
            warn_of_preparation(f"prepared as {styles.preprocessing!r}", f"prepared as {preprocessing!r}")
        self.mask_check = MaskCheck(styles.mask, mask)

    @classmethod
    def as_published(cls, bank: StyleBank | str | os.PathLike[str], p: float = 0.3, **options: Any) -> Colorist:
        """Return the augmentation as published: every image is matched, blank ones too, without a limit on the gain.

        Args:
            bank: The bank; build it ``with_blank=True``, since the paper draws every training image.
            p: Probability of changing an image.
            **options: Other options, which go before those of the paper.
        """
        options = {"max_gain": math.inf, "blank": "match", **options}
        return cls(bank, p, **options)

    @classmethod
    def recommended(cls, bank: StyleBank | str | os.PathLike[str], **options: Any) -> Colorist:
        """Return Colorist as the recipe has it for images of unknown laboratories (docs/recipe.md). RandAugment follows it.

        Args:
            bank: The styles to draw from.
            **options: Other options, which go before those of the recipe.
        """
        from recolorist.augment.recipe import RECOMMENDED

        return cls(bank, **{**RECOMMENDED, **options})

    @property
    def blank_images(self) -> int:
        """How many images this process left as they are because they are blank."""
        return self._blank_counts.blank

    @property
    def epoch(self) -> int:
        """The epoch of calls with a key or index that pass none."""
        return self._epoch.now

    @property
    def epochs_set(self) -> int:
        """How often :meth:`set_epoch` was called."""
        return self._epoch.settings

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch: new colours for every key and index, also in loader workers that are already running.

        Args:
            epoch: Its number.

        Raises:
            OptionError: It is no whole number from 0 on.
        """
        self._epoch.set(epoch)

    def __call__(
        self,
        image: Any,
        *others: Any,
        key: str | None = None,
        index: int | None = None,
        epoch: int | None = None,
        label: str | None = None,
        domain: str | None = None,
        mask: Any = None,
    ) -> Any:
        """Augment one image.

        Args:
            image: An array or PIL image; every image of a batch gets the same style.
            *others: Refused, for pipelines that pass whole samples; their adapters take those.
            key: The name of the image, such as its path; with it the draw depends on (seed, epoch, key) alone.
            index: Its number in the dataset, instead of a key.
            epoch: The epoch; by default that of :meth:`set_epoch`.
            label: The label of the image, for samplers that ask for it.
            domain: The domain of the image, for samplers that ask for it.
            mask: The pixels that are measured; goes before the rule.

        Returns:
            An image of the same type, shape and dtype; the one that came where nothing is done.

        Raises:
            ImageError: It is no image, or does not go with the bank.
        """
        if others:
            raise ImageError(
                f"{1 + len(others)} parts of a sample were given, and this class takes one image. In torchvision's Compose use "
                "recolorist.torchvision.Colorist, which passes labels on; the key of an image is given by name, key=..."
            )
        draw = self.draw(key, index=index, epoch=epoch, label=label, domain=domain)
        if draw is not None:
            return self.recolour(image, draw, mask)
        check.check_image(image, self.data_range)  # what is no image is refused whatever was drawn
        return image

    def params(
        self,
        image: Any,
        *,
        key: str | None = None,
        index: int | None = None,
        epoch: int | None = None,
        label: str | None = None,
        domain: str | None = None,
        mask: Any = None,
    ) -> Decision:
        """Return what a call with the same arguments would do, without doing it; :meth:`apply` does it."""
        now = self.epoch if epoch is None else epoch  # passed on, so that asking is not counted as a call
        draw = self.draw(key, index=index, epoch=now, label=label, domain=domain)
        return Decision(False) if draw is None else self.decide(image, draw, self.mask_of(image, mask))

    def draw(
        self,
        key: str | None = None,
        *,
        index: int | None = None,
        epoch: int | None = None,
        label: str | None = None,
        domain: str | None = None,
    ) -> Draw | None:
        """Return a style and a strength for one image, drawn with the same arguments as a call; None with probability 1 - p."""
        rng = streams.open_by_chance(self.p, *self._place(key, index, epoch))
        return None if rng is None else self.draw_from(rng, self._content(key, index, label, domain))

    def draw_from(self, rng: np.random.Generator, content: Content = _NOTHING_KNOWN) -> Draw:
        """Return a style and a strength, whatever ``p`` is.

        Args:
            rng: The generator to draw with.
            content: What is known of the image, for samplers that ask for it.
        """
        style, strength = self.sampler(self.bank, rng, content), self._strength(rng)
        if not self.options.is_limited or self.options.needs_pixels:
            return Draw(style, strength)
        return Draw(style, strength, tuple(self.sampler(self.bank, rng, content) for _ in range(_TRIES - 1)))

    def recolour(self, image: Any, draw: Draw, mask: Any = None) -> Any:
        """Return an image with what was drawn for it; every image of a batch gets the same style.

        Args:
            image: An array or PIL image.
            draw: What :meth:`draw` returned.
            mask: The pixels that are measured; goes before the rule.
        """
        opened = check.open_image(image, self.data_range, padded=self.options.by_channel and not self.options.is_limited)
        inside = check.open_mask(self.mask_of(image, mask), opened)
        self.warn_once_of_size(image)
        result, target = make_target(opened, None)
        if opened.is_batch:
            for i in range(len(opened.array)):
                self.recolour_opened(opened[i], None if inside is None else inside[i], draw, target[i])
        else:
            self.recolour_opened(opened, inside, draw, target)
        return finished(opened, result, None)

    def recolour_opened(self, opened: check.Opened, mask: Mask, draw: Draw, target: NDArray[Any]) -> Recolouring:
        """Give one opened image what was drawn for it, written to ``target``; returns what was done."""
        if self.options.needs_pixels:
            style: Moments | StyleChange | StylePixels = StylePixels(
                check.open_image(pixels_of_histograms(self.bank, draw.style, self.method))
            )
        else:
            style = draw.style.goal
        options = self.options.at_strength(draw.strength)
        applied = match_opened(opened, mask, style, target, options, [other.goal for other in draw.alternatives])
        is_blank = applied is not None and applied.is_blank
        self._blank_counts.add(is_blank=is_blank)
        if applied is None:
            return Recolouring(draw.style, draw.strength, None)
        return Recolouring((draw.style, *draw.alternatives)[applied.chosen], 0.0 if is_blank else applied.strength, applied)

    def is_kept(self, opened: check.Opened, mask: Mask = None, measured: Pairs | Moments | None = None) -> bool:
        """Say whether an opened image stays as it is because it is blank, and count it."""
        is_kept = self.blank == "keep" and is_blank(opened, mask, measured)
        self._blank_counts.add(is_blank=is_kept)
        return is_kept

    def decide(self, image: Any, draw: Draw, mask: Any = None) -> Decision:
        """Return what a draw does to this image: which of its styles is used and, where there are limits, how much of it.

        Args:
            image: An array or PIL image.
            draw: What :meth:`draw` returned.
            mask: The pixels that are measured.
        """
        opened = check.open_image(image, self.data_range)
        inside = check.open_mask(mask, opened)
        self.warn_once_of_size(image)
        if opened.is_batch and not self.options.needs_pixels:
            raise ImageError(f"a batch of shape {opened.shape} was given, and a decision is about one image; decide for each")
        if self.options.needs_pixels:
            if not opened.is_batch and self.is_kept(opened, inside):
                return Decision(False, plan=blank_map(opened).plan())
            return Decision(True, draw.style.name, draw.style.row, draw.strength)
        styles = [style.goal for style in draw.alternatives]
        fit = plan_opened(opened, inside, draw.style.goal, self.options.at_strength(draw.strength), styles)
        self._blank_counts.add(is_blank=fit is None)
        return Decision(False, plan=blank_map(opened).plan()) if fit is None else self.decision_of(draw, fit)

    @staticmethod
    def decision_of(draw: Draw, fit: Fit) -> Decision:
        """Describe what a draw came to."""
        style = (draw.style, *draw.alternatives)[fit.chosen]
        plan = fit.numbers if isinstance(fit.numbers, Plan) else fit.numbers.plan()
        return Decision(True, style.name, style.row, fit.strength, plan, fit.contrast)

    def apply(self, image: Any, decision: Decision, *, mask: Any = None) -> Any:
        """Return the image with what was decided for it.

        Args:
            image: The image that was decided on.
            decision: What :meth:`params` or :meth:`decide` returned.
            mask: The mask that came with the image.
        """
        if not decision.applied:
            return image
        if decision.plan is not None:
            inside = self.mask_of(image, mask) if self.apply_to == "mask" else None
            return apply(image, decision.plan, mask=inside, data_range=self.data_range)
        if decision.row is None or not 0 <= decision.row < len(self.bank):
            raise StatisticsError(f"the decision names style row {decision.row}, which this bank does not have")
        style = Style(self.bank.keys[decision.row], decision.row, self.bank.moments(decision.row))
        return self.recolour(image, Draw(style, decision.strength), mask)

    def __getstate__(self) -> dict[str, Any]:
        """Return the options, and nothing that changes when images come, so that a hash of it can name a cache."""
        return {**self.__dict__, "_warned": self.bank.size is None}

    def __repr__(self) -> str:
        """Return the bank in short, every option and the seed, so that a line of a log is enough to repeat a run."""
        return f"Colorist({self.bank!r}, {self.format_options()})"

    def format_options(self, *leave_out: str) -> str:
        """Return every option but the bank as ``name=value``, in the order of the constructor.

        Args:
            *leave_out: Names of options that an adapter fixes or shows itself.
        """
        low, high = self.strength
        sampler, mask = self._names
        shown: dict[str, Any] = {"sampler": sampler, "mask": mask, "strength": low if low == high else (low, high)}
        names = [name for name in _OPTIONS if name not in leave_out]
        return ", ".join(f"{name}={(shown[name] if name in shown else getattr(self, name))!r}" for name in names)

    def _place(self, key: str | None, index: int | None, epoch: int | None) -> tuple[int, int, int, int]:
        name = key if index is None else index
        if name is None:
            return self._sequence.next()
        number = streams.number_of(name)
        now = self._epoch.note(number, name) if epoch is None else streams.check_word(epoch, "epoch")
        return self._sequence.seed, now, number, 0

    def _content(self, key: str | None, index: int | None, label: str | None, domain: str | None) -> Content:
        name = key if key is not None or index is None else str(index)
        row = None if name is None else self.bank.row_of(name)
        if row is None and name is not None and self.bank.left_out:  # a blank image has no row, but a label and a domain
            entry = self.bank.find_left_out(name)
            label, domain = entry.label if label is None else label, entry.domain if domain is None else domain
        return Content(row, None if label is None else str(label), None if domain is None else str(domain))

    def _strength(self, rng: np.random.Generator) -> float:
        low, high = self.strength
        return low if low == high else low + float(rng.random()) * (high - low)

    def mask_of(self, image: Any, mask: Any = None) -> Any:
        """The mask for this image: the one given, else what the rule finds."""
        if self.mask is None:
            self.mask_check.see(mask)
        return find_mask(self.mask, image, self.data_range, or_all=self.blank == "match") if mask is None else mask

    def warn_once_of_size(self, image: Any) -> None:
        """Say, once, if images come in another size than the bank's had."""
        if self._warned:
            return
        self._warned = True
        size = (image.height, image.width) if hasattr(image, "height") else image.shape[-3:-1] if image.ndim > 2 else image.shape
        if tuple(size) != self.bank.size and self.bank.size is not None:
            warn_of_preparation("{} x {}".format(*self.bank.size), "{} x {}".format(*size))


_OPTIONS: Final = tuple(inspect.signature(Colorist).parameters)[1:]
