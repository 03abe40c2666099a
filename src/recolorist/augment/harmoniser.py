"""Harmonising: an image of another laboratory gets the colours of the bank a model was trained on.

Harmonising helps on images that differ from the training data and can cost accuracy on those that do not. So there is a gate. An
image that lies inside the region of the bank, by the distance that :mod:`recolorist.bank.drift` uses, is left as it is.
"""

from __future__ import annotations

import os
from typing import Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.harmonisation import Harmonisation, Harmonised, Judgement
from recolorist.augment.masks import MaskRule, find_mask, open_rule
from recolorist.bank.drift import COVERAGE, Region, region_of
from recolorist.bank.making import MaskCheck
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.apply import apply, finished, make_target
from recolorist.core.blank import is_blank
from recolorist.core.limits import Fit
from recolorist.core.match import AffineMap, leave_blank, match_opened, plan_opened
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import MatchOptions, match_options
from recolorist.core.plan import Plan, decide, refuse_channels
from recolorist.errors import ImageError, OptionError, StatisticsError

__all__ = ["GATES", "STEPS", "Gate", "Harmonisation", "Harmonised", "Harmoniser", "Judgement", "strengths"]

Gate = Literal["centre", "edge", "off"]
Mask = NDArray[np.bool_] | None

#: What happens to an image outside the bank, or that no gate is asked.
GATES: Final = ("centre", "edge", "off")
#: Strengths that are tried for the edge, evenly spaced up to the full one.
STEPS: Final = 256


class Harmoniser:
    """Give images the average colours of a bank, except those that lie inside it already.

    Call it with one image at a time. It gives the bytes of ``recolorist harmonise``, which uses it.

    Args:
        bank: A :class:`recolorist.StyleBank`, or the path of a saved one; also the moments of one style, which have no gate.
        gate: What happens to an image outside the region of the bank. ``"centre"`` moves it to the average style; ``"edge"`` by
            the least strength that brings it inside or, if none does, nearest. ``"off"`` moves every image to the average style.
            By default ``"centre"``.
        coverage: Share of images like those of the bank that count as inside.
        domain: Use the styles of this domain of the bank only.
        method: ``"mean_std"`` or ``"covariance"``.
        space: A key of :data:`recolorist.SPACES`; spaces that are not linear need ``gate="off"``.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        max_clip: Largest share of values that may be clipped.
        max_loss: Largest share of patches that may lose more than half of their detail.
        mask: ``"tissue"``, ``"fundus"``, or a callable from image to mask; that with which the bank was measured.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        data_range: Largest value of floating-point images.
        blank: ``"keep"`` leaves images with nothing in them as they are, ``"match"`` treats them like all others.
        name: Name of the style in records; by default that of the bank.

    Raises:
        OptionError: An option is unknown or outside its limits.
        StatisticsError: The bank has too few styles for a gate, or is of a space that has none.

    Warns:
        SmallBankWarning: The bank has fewer than 60 styles, so that the gate may leave images of other laboratories alone.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> levels = rng.integers(90, 130, (60, 1, 1, 3))
        >>> tiles = rng.integers(levels - 40, levels + 40, (60, 8, 9, 3)).astype(np.uint8)
        >>> harmoniser = Harmoniser(StyleBank.build(tiles, split="train"))
        >>> usual, dark = tiles[0], tiles[0] // 2
        >>> harmoniser(usual) is usual, harmoniser.harmonise(dark).record.reason
        (True, 'outside')
    """

    def __init__(
        self,
        bank: StyleBank | Moments | str | os.PathLike[str],
        gate: Gate | None = None,
        *,
        coverage: float = COVERAGE,
        domain: str | None = None,
        method: str = "mean_std",
        space: str = "rgb",
        strength: float = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        max_loss: float | None = None,
        mask: str | MaskRule | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        blank: Literal["keep", "match"] = "keep",
        name: str | None = None,
    ) -> None:
        """Check every option once, here, and fit the region."""
        limits = (max_clip, max_loss)
        options = match_options(method, space, strength, max_gain, "exact", False, True, apply_to, "raise", blank, *limits)
        self.mask, self.data_range, self.coverage = open_rule(mask), data_range, check.number(coverage, 0.5, 1, "coverage")
        self._set_up(bank, options, gate, domain)
        self._mask_check = MaskCheck(None if self.bank is None else self.bank.mask, mask)
        self.name: str = name if name is not None else domain or ("" if self.bank is None else self.bank.name)

    @classmethod
    def with_options(
        cls,
        bank: StyleBank | Moments,
        options: MatchOptions,
        gate: Gate | None = None,
        coverage: float = COVERAGE,
        name: str = "",
    ) -> Harmoniser:
        """Make one of options that were checked before; masks are given with each image."""
        harmoniser = cls.__new__(cls)
        harmoniser.mask, harmoniser.data_range, harmoniser.coverage, harmoniser.name = None, None, coverage, name
        harmoniser._mask_check = MaskCheck(None, None)  # noqa: SLF001 - the same class; collections compare before they begin
        harmoniser._set_up(bank, options, gate, None)  # noqa: SLF001 - the same class
        return harmoniser

    def _set_up(self, bank: Any, options: MatchOptions, gate: Gate | None, domain: str | None) -> None:
        if options.needs_pixels:
            raise OptionError(
                f"method={options.method!r} needs the pixels of a style, and a bank has none; use mean_std or covariance"
            )
        is_style = isinstance(bank, Moments)
        self.bank = None if is_style else StyleBank.of(bank)
        if self.bank is not None and options.blank == "keep":
            self.bank = self.bank.without_blank()
        if self.bank is not None and domain is not None:
            self.bank = self.bank.subset(domain=domain)
        self.gate: Gate = ("off" if is_style else "centre") if gate is None else check.option(gate, GATES, "gate")
        self.options = options
        self.style = bank if self.bank is None else self.bank.average()
        self.region = self._fit_region()

    def _fit_region(self) -> Region | None:
        if self.gate == "off":
            return None
        if self.bank is None:
            raise OptionError(
                f"gate={self.gate!r} needs a bank, and the moments of one style were given; pass a bank, or gate='off'"
            )
        try:
            region = region_of(self.bank, self.coverage)
        except StatisticsError as error:
            raise StatisticsError(f"{error}, or move every image, with gate='off' (--gate off)") from error
        region.warn_if_poorly_known(stacklevel=5)  # names the caller of the class
        return region

    # ---- one image ------------------------------------------------------------------------------------------------------

    def __call__(self, image: Any, mask: Any = None) -> Any:
        """Return the image with the colours of the bank, or as it came.

        Args:
            image: An array or PIL image.
            mask: The pixels that are measured; goes before the rule.

        Raises:
            ImageError: A batch came, or something that is no image.
        """
        return self.harmonise(image, mask).image

    def harmonise(self, image: Any, mask: Any = None) -> Harmonised:
        """Return the image and what was done to it.

        Args:
            image: An array or PIL image.
            mask: The pixels that are measured; goes before the rule.

        Raises:
            ImageError: A batch came, or something that is no image.
        """
        opened, inside = self._open(image, mask)
        result, target = make_target(opened, None)
        judgement, applied = self.harmonise_opened(opened, inside, target)
        record = self.record_of(judgement, None if applied is None or judgement.keeps else applied.plan())
        return Harmonised(finished(opened, result, None) if record.is_changed else image, record)

    def decide(self, image: Any, mask: Any = None) -> Harmonisation:
        """Return what a call would do, without doing it.

        Args:
            image: An array or PIL image.
            mask: The pixels that are measured; goes before the rule.
        """
        opened, inside = self._open(image, mask)
        judgement = self._judge_opened(opened, inside)
        if judgement.keeps:
            return self.record_of(judgement, None)
        fit = cast("Fit", plan_opened(opened, inside, self.style, self.options.at_strength(judgement.strength)))
        return self.record_of(judgement, fit.numbers if isinstance(fit.numbers, Plan) else fit.numbers.plan())

    def apply(self, image: Any, record: Harmonisation, mask: Any = None) -> Any:
        """Return the image with what a record says.

        Args:
            image: The image that the record is about.
            record: What :meth:`harmonise` or :meth:`decide` returned.
            mask: The mask that came with the image.
        """
        if record.plan is None:
            return image
        inside = None
        if self.options.apply_to == "mask":
            inside = find_mask(self.mask, image, self.data_range) if mask is None else mask
        return apply(image, record.plan, mask=inside, data_range=self.data_range)

    def _open(self, image: Any, mask: Any) -> tuple[check.Opened, Mask]:
        opened = check.open_image(image, self.data_range)
        if opened.is_batch:
            raise ImageError(f"a batch of shape {opened.shape} was given, and each image is judged by itself; pass one at a time")
        if self.mask is None:
            self._mask_check.see(mask)
        or_all = self.options.blank == "match"
        inside = find_mask(self.mask, image, self.data_range, or_all=or_all) if mask is None else mask
        return opened, check.open_mask(inside, opened)

    # ---- for the adapters and for collections -----------------------------------------------------------------------------

    def harmonise_opened(self, opened: check.Opened, mask: Mask, target: NDArray[Any]) -> tuple[Judgement, AffineMap | None]:
        """Harmonise one opened image and write it to ``target``.

        Returns:
            What was done, and the map; None for an image inside, which was copied. That of a blank one changes nothing and
            has the flag ``blank``.
        """
        # without a gate, the match itself finds blank images, and measures the pixels once
        judgement = self._ungated() if self.region is None else self._judge_opened(opened, mask)
        if judgement.reason == "blank":
            return judgement, leave_blank(opened, target)
        if judgement.reason == "inside":
            target[...] = opened.array
            return judgement, None
        applied = match_opened(opened, mask, self.style, target, self.options.at_strength(judgement.strength))
        return (Judgement("blank", 0.0) if applied is not None and applied.is_blank else judgement), applied

    def judge(self, moments: Moments) -> Judgement:
        """Decide for an image, or a group of them, of which only the moments are known; blank ones are not recognised.

        Raises:
            StatisticsError: The moments have another number of channels than the bank.
        """
        if self.region is None:
            return self._ungated()
        refuse_channels(moments.channels, len(self.style.mean), self.options.space)
        unit = moments.rescaled(1.0)
        distance = _distance(self.region, unit.mean, unit.cov)
        if distance <= self.region.threshold:
            return Judgement("inside", 0.0, distance, distance)
        strength = self.options.strength if self.gate == "centre" else self._strength_to_edge(unit)
        return Judgement("outside", strength, distance, float(self._distances_after(unit, np.array([strength]))[0]))

    def plan(self, moments: Moments, judgement: Judgement) -> Plan | None:
        """Plan the map from moments alone; None for what is left as it is."""
        if judgement.keeps:
            return None
        return decide(moments, self.style, self.options.at_strength(judgement.strength))

    def facts_of(self, judgement: Judgement) -> dict[str, Any]:
        """Return what the gate decided, as plain values for a record."""
        edge = None if self.region is None else self.region.threshold
        return {
            "reason": judgement.reason,
            "distance": judgement.distance,
            "edge": edge,
            "distance_after": judgement.distance_after,
        }

    def record_of(self, judgement: Judgement, plan: Plan | None) -> Harmonisation:
        """Return the record of what was done."""
        edge = None if self.region is None else self.region.threshold
        style = "" if plan is None else self.name
        return Harmonisation(
            judgement.reason,
            judgement.distance,
            edge,
            judgement.distance_after,
            style,
            judgement.strength if plan is None else plan.strength,
            plan,
        )

    def _judge_opened(self, opened: check.Opened, mask: Mask) -> Judgement:
        keeps = self.options.blank == "keep"
        if keeps and mask is not None and not mask.any():
            return Judgement("blank", 0.0)
        moments = None if self.region is None else measure_opened(opened, mask, "rgb", name="image")
        if keeps and is_blank(opened, mask, moments):
            return Judgement("blank", 0.0)
        return self._ungated() if moments is None else self.judge(moments)

    def _ungated(self) -> Judgement:
        return Judgement("ungated", self.options.strength)

    def _strength_to_edge(self, unit: Moments) -> float:
        """Return the least of the :func:`strengths` that brings these moments inside; if none does, the nearest."""
        tried = strengths(self.options.strength)
        distances = self._distances_after(unit, tried)
        inside = distances <= self.region.threshold  # type: ignore[union-attr]
        return float(tried[inside.argmax() if inside.any() else distances.argmin()])

    def _distances_after(self, unit: Moments, tried: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances of these moments after the map at several strengths, without rounding and clipping."""
        plan = decide(unit, self.style, self.options.at_strength(1.0))
        identity = np.eye(unit.channels)
        matrices = identity + tried[:, None, None] * (plan.matrix - identity)  # strength blends with leaving the image alone
        means = unit.mean + tried[:, None] * (plan.matrix @ unit.mean + plan.offset - unit.mean)
        covs = matrices @ unit.cov @ matrices.transpose(0, 2, 1)
        return self.region.distance(means, covs)  # type: ignore[union-attr]

    def __repr__(self) -> str:
        """Return the options that matter, so that a log line is enough to repeat a run."""
        source = "one style" if self.bank is None else repr(self.bank)
        options = self.options
        return (
            f"Harmoniser({source}, gate={self.gate!r}, coverage={self.coverage:g}, method={options.method!r}, "
            f"space={options.space!r}, strength={options.strength:g}, max_gain={options.max_gain:g}, "
            f"apply_to={options.apply_to!r}, blank={options.blank!r})"
        )


def _distance(region: Region, mean: NDArray[np.float64], cov: NDArray[np.float64]) -> float:
    return float(region.distance(mean[None], cov[None])[0])


def strengths(full: float) -> NDArray[np.float64]:
    """Return the strengths that are tried for the edge.

    Example:
        >>> strengths(0.5)[[0, -1]].tolist()
        [0.001953125, 0.5]
    """
    return full * (np.arange(1, STEPS + 1) / STEPS)
