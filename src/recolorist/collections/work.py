"""What is done with each image of a collection: measuring it for a bank, or giving it other colours."""

from __future__ import annotations

import hashlib
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.colorist import Colorist, Decision, Draw, PreprocessingWarning, Recolouring
from recolorist.augment.harmoniser import Harmoniser, Judgement
from recolorist.augment.samplers import Style
from recolorist.bank.build import measure_foreground, measure_row, unit_row
from recolorist.bank.style_bank import StyleBank
from recolorist.bank.table import Row
from recolorist.collections.items import Item
from recolorist.collections.journal import as_line
from recolorist.collections.load import LoadedItem, load, name_of, rule_mask, source_digest
from recolorist.collections.options import AugmentOptions, HarmoniseOptions, MeasureOptions, OutputOptions
from recolorist.collections.strips import MeasuredStrips, are_strips_blank, measure_strips, write_strips
from recolorist.collections.target import Target
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.apply import make_target
from recolorist.core.audit import add_loss, audit_written
from recolorist.core.blank import is_blank, is_low
from recolorist.core.clipping import maps_levels
from recolorist.core.limits import Fit, measure_loss
from recolorist.core.match import AffineMap, leave_blank, write_map
from recolorist.core.moments import Moments
from recolorist.core.plan import Plan, decide
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading
from recolorist.io.write import encode

__all__ = ["Augment", "Harmonise", "KeptItem", "Measure", "Outcome", "Recolour", "WrittenFile", "group_of"]

Mask = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure every image."""

    reading: Reading
    options: MeasureOptions = field(default_factory=MeasureOptions)

    def __call__(self, item: Item) -> Row:
        """Measure one image, as a whole or in strips."""
        rule, space, with_histograms = self.options.mask, self.options.measured_space, self.options.with_histograms
        loaded = load(item, self.reading)
        if loaded.strips is not None:
            with loaded.strips as source:
                if with_histograms:
                    raise OptionError("histograms of images that go through in strips are not kept; build without them")
                moments = measure_strips(source, rule, space)
                return unit_row(moments, source.shape[:2])._replace(is_blank=are_strips_blank(source, rule, moments))
        opened = loaded.opened
        if rule is not None:
            return measure_foreground(opened, foreground.RULES[rule], space, with_histogram=with_histograms)
        return measure_row(opened, None, space, with_histogram=with_histograms)

    def finish(self, values: list[Any]) -> list[Any]:
        """Return the rows as they are."""
        return values


_BLANK: Final = Decision(False)  # of an image in strips that is blank; recognised by identity
_UNTOUCHED: Final[dict[str, Any]] = {"clipped": [], "clipped_overall": 0.0, "flags": []}


def _describe_blank(channels: int) -> dict[str, Any]:
    """Return the audit of a blank image that was left as it is."""
    return _UNTOUCHED | {"clipped": [0.0] * channels, "flags": [["blank"]] * channels}


@dataclass(frozen=True, slots=True)
class KeptItem:
    """An item that an earlier run finished; its outputs were read again and are what was recorded."""

    outputs: tuple[str, ...]


class Outcome(NamedTuple):
    """What was done to one image, and what is recorded of it."""

    style: str | None
    row: int | None
    strength: float
    plan: Plan | AffineMap | None
    audit: dict[str, Any] | None
    facts: dict[str, Any]  #: what else is recorded: with harmonising, what the gate decided
    contrast: float = 1.0  #: share of the style's contrast that the limits left


class WrittenFile(NamedTuple):
    """One output: its names and digests, and what was done."""

    facts: dict[str, Any]
    outcome: Outcome

    def line(self, run: str) -> str:
        """Return its line of provenance, with the identity of the run."""
        style, row, strength, plan, audit, facts, contrast = self.outcome
        choices = {"style": style, "row": row, "strength": strength, "contrast": contrast, "audit": audit, **facts, "run": run}
        return f'{as_line(self.facts | choices)[:-1]}, "plan": {"null" if plan is None else plan.to_json()}}}'


@dataclass(frozen=True, eq=False)  # compared by identity: there is one per process
class Recolour(ABC):
    """Give every image other colours and write it, with a record of what was done."""

    target: Target
    reading: Reading
    output: OutputOptions
    run: str  #: identifies the options; a record of another run is not taken for done
    options: AugmentOptions | HarmoniseOptions

    def __call__(self, item: Item) -> list[WrittenFile] | KeptItem:
        """Read once, write every copy; returns what is known of each."""
        if item.done and self._is_verified(item):
            return KeptItem(tuple(output for output, _, _ in item.done))
        loaded = load(item, self.reading, digest=True)
        if loaded.strips is None:
            return [self._copy(item, loaded, copy) for copy in range(self.options.copies)]
        with loaded.strips as source:
            measured = MeasuredStrips(source, self.options.mask, self.options.match)
            return [self._copy(item, loaded, copy, measured) for copy in range(self.options.copies)]

    def _copy(self, item: Item, loaded: LoadedItem, copy: int, measured: MeasuredStrips | None = None) -> WrittenFile:
        name = name_of(item, None if self.options.copies == 1 else copy + 1)
        if measured is not None:
            decision, facts = self.plan_strips(item, measured, copy)
            mask = measured.changed if decision.applied and self.options.mask is not None else None
            write_strips(self.target, name, measured.source, decision.plan, mask)
            audit = _describe_blank(measured.moments.channels) if decision is _BLANK else self._audit_strips(measured, decision)
            outcome = Outcome(decision.style, decision.row, decision.strength, decision.plan, audit, facts, decision.contrast)
            digest = self.target.digest(name)
        else:
            outcome, pixels = self.match_loaded(item, loaded, copy)
            icc = loaded.icc if self.output.keep_icc else None
            data = encode(pixels, "." + name.rpartition(".")[2], icc=icc, quality=self.output.quality)
            self.target.place(name, data)
            digest = hashlib.sha256(data).hexdigest()
        facts = {"source": item.key, "output": name, "copy": copy, "source_sha256": loaded.digest, "sha256": digest}
        return WrittenFile(facts, outcome)

    def finish(self, values: list[Any]) -> list[Any]:
        """Return one line of provenance for each copy; cheaper for many in a row than each between two images."""
        return [value if isinstance(value, KeptItem) else [written.line(self.run) for written in value] for value in values]

    def match_loaded(self, item: Item, loaded: LoadedItem, copy: int) -> tuple[Outcome, NDArray[Any]]:
        """Return what was done to an image in memory, and the pixels after it."""
        opened = loaded.opened
        mask = check.open_mask(rule_mask(opened, self.options.mask, or_all=self.options.match.blank == "match"), opened)
        result, target = make_target(opened, None)
        recolouring, facts = self.recolour(item, opened, mask, copy, target)
        if recolouring is None:
            return Outcome(None, None, 0.0, None, _UNTOUCHED, facts), loaded.pixels  # type: ignore[return-value]
        if recolouring.map is not None and recolouring.map.is_blank:
            return Outcome(None, None, 0.0, None, _describe_blank(opened.channels), facts), loaded.pixels  # type: ignore[return-value]
        audit = self._audit(opened, target, mask, recolouring.map)
        contrast = 1.0 if recolouring.map is None else recolouring.map.contrast
        return Outcome(
            recolouring.style.name, recolouring.style.row, recolouring.strength, recolouring.map, audit, facts, contrast
        ), result

    def _audit(self, opened: check.Opened, target: NDArray[Any], mask: Mask, applied: AffineMap | None) -> dict[str, Any]:
        """Return exact figures of what was written; those that look at all pixels again only where they are needed or wanted."""
        short = applied is not None and not self.output.full_audit and applied.content.is_integer
        if applied is not None and short and (self.options.match.by_channel or maps_levels(applied.content, applied.plan())):
            clipped = applied.clipped_share()
            loss = measure_loss(applied.content, applied.numbers, applied.mask)
            flags = [list(flag) for flag in add_loss(applied.flags, loss)]
            figures: dict[str, Any] = {"clipped": clipped, "clipped_overall": sum(clipped) / len(clipped), "flags": flags}
            return figures | loss.figures()
        keep = (mask if self.options.match.apply_to == "mask" else None) if applied is None else applied.mask
        plan = None if applied is None else applied.plan()
        figures = json.loads(audit_written(opened, target, plan, keep).to_json())
        return figures if self.output.full_audit else {name: figures[name] for name in figures if name != "loss"}

    def _audit_strips(self, measured: MeasuredStrips, decision: Decision) -> dict[str, Any] | None:
        """Return the figures of an image in strips where they are known or wanted; they cost more passes over the file."""
        if decision.plan is None:
            return _UNTOUCHED
        if not (self.options.match.is_limited or self.output.full_audit):
            return None
        loss = measured.limits.loss(decision.plan)
        flags = [list(flag) for flag in add_loss(decision.plan.flags, loss)]
        is_short = measured.source.dtype.kind == "u" and not self.output.full_audit  # as for whole images
        if not is_short and measured.is_changed_part_blank():
            flags = [[*flag, "blank"] for flag in flags]
        return {"clipped_overall": measured.limits.count_clipped(decision.plan), "flags": flags} | loss.figures()

    def _keeps_strips(self, item: Item, measured: MeasuredStrips) -> bool:
        """Return whether an image in strips stays as it is because it is blank."""
        return self.may_keep(item) and are_strips_blank(measured.source, self.options.mask, measured.moments)

    def may_keep(self, item: Item) -> bool:  # noqa: ARG002 - for tiles that are mapped with their slide
        """Return whether this image stays as it is if it is blank.

        Args:
            item: The image.

        Returns:
            True unless it is changed like all others.
        """
        return self.options.match.blank == "keep"

    @abstractmethod
    def recolour(
        self, item: Item, opened: check.Opened, mask: Mask, copy: int, target: NDArray[Any]
    ) -> tuple[Recolouring | None, dict[str, Any]]:
        """Match an image in memory.

        Args:
            item: The image.
            opened: Its pixels.
            mask: The pixels to measure; None is all.
            copy: The number of the copy, from 0.
            target: The array to write to.

        Returns:
            What was done, or None where the image stays as it is, and facts to record.
        """

    @abstractmethod
    def plan_strips(self, item: Item, measured: MeasuredStrips, copy: int) -> tuple[Decision, dict[str, Any]]:
        """Decide what is done to an image that is read in strips.

        Args:
            item: The image.
            measured: What was measured of it.
            copy: The number of the copy, from 0.

        Returns:
            The decision, and facts to record.
        """

    def _is_verified(self, item: Item) -> bool:
        """Whether outputs and source are what was recorded; an output that was changed since is not replaced."""
        for output, digest, _ in item.done:
            present = self.target.digest(output)
            if present is None:
                return False
            if present != digest and not self.target.force:
                raise ImageError(f"{output} in the target differs from what was recorded; remove it, or pass force=True")
        checksum = source_digest(item, self.reading)
        return all(self.target.digest(output) == digest and source == checksum for output, digest, source in item.done)


@dataclass(frozen=True, eq=False)
class Augment(Recolour):
    """Styles drawn from a bank; copy k of an image draws from the stream of (seed, k, key)."""

    options: AugmentOptions
    bank: StyleBank

    def recolour(
        self, item: Item, opened: check.Opened, mask: Mask, copy: int, target: NDArray[Any]
    ) -> tuple[Recolouring | None, dict[str, Any]]:
        """Draw a style and match the image to it."""
        aug = _colorist(self)
        draw = aug.draw(item.key, epoch=copy, label=item.label, domain=item.domain)
        return None if draw is None else aug.recolour_opened(opened, mask, draw, target), {}

    def plan_strips(self, item: Item, measured: MeasuredStrips, copy: int) -> tuple[Decision, dict[str, Any]]:
        """Draw as the augmentation does, and plan from moments."""
        aug = _colorist(self)
        if self.options.match.needs_pixels:
            raise OptionError(
                f"method={self.options.match.method!r} needs the image in memory; raise max_pixels, or use another method"
            )
        draw = aug.draw(item.key, epoch=copy, label=item.label, domain=item.domain)
        if draw is None:
            return Decision(False), {}
        if self._keeps_strips(item, measured):
            return _BLANK, {}
        styles = [style.goal for style in (draw.style, *draw.alternatives)]
        return aug.decision_of(draw, measured.fit(styles, self.options.match.at_strength(draw.strength))), {}

    def refuse_early(self) -> None:
        """Refuse options that fit neither each other nor the bank before any file is read."""
        _colorist(self)


@lru_cache(maxsize=8)
def _colorist(work: Augment) -> Colorist:
    size = work.bank.size or (1, 1)
    with warnings.catch_warnings():  # a collection is of all sizes; another mask is reported once, before the work begins
        warnings.simplefilter("ignore", PreprocessingWarning)
        aug = Colorist(work.bank, **work.options.for_colorist())
        probe = np.zeros((size[0] + 1, size[1], work.bank.channels), np.uint8)
        if not work.options.match.needs_pixels:
            aug.decide(probe, Draw(Style("", None, work.bank.moments(0)), 0.0))
    return aug


@dataclass(frozen=True, eq=False)
class Harmonise(Recolour):
    """Every image to one style. ``pooled`` holds the moments of whole groups (all tiles of a slide, say) to be used for each."""

    options: HarmoniseOptions
    harmoniser: Harmoniser
    pooled: Mapping[str, Moments] | None = None

    def recolour(
        self,
        item: Item,
        opened: check.Opened,
        mask: Mask,
        copy: int,  # noqa: ARG002 - as declared
        target: NDArray[Any],
    ) -> tuple[Recolouring | None, dict[str, Any]]:
        """Harmonise the image, by its own moments or by those of its group."""
        if self.pooled is None:
            judgement, applied = self.harmoniser.harmonise_opened(opened, mask, target)
        else:
            judgement, applied = self._map_with_group(item, opened, mask, target)
        facts = {"gate": self.harmoniser.facts_of(judgement)}
        if applied is None:
            return None, facts
        return Recolouring(Style(self.options.style_name, None, self.harmoniser.style), applied.strength, applied), facts

    def _map_with_group(
        self, item: Item, opened: check.Opened, mask: Mask, target: NDArray[Any]
    ) -> tuple[Judgement, AffineMap | None]:
        """Map an image by the moments of its group; one without foreground goes with its slide as a whole."""
        if self.may_keep(item) and is_blank(opened, mask):
            return Judgement("blank", 0.0), leave_blank(opened, target)
        pooled = cast("Mapping[str, Moments]", self.pooled)[group_of(item)]
        judgement = self.harmoniser.judge(pooled)
        plan = self.harmoniser.plan(pooled, judgement)
        if plan is None:
            return judgement, None
        inside = None if mask is not None and not mask.any() else mask
        return judgement, AffineMap(plan, opened, write_map(opened, inside, plan, target, self.options.match))

    def may_keep(self, item: Item) -> bool:
        """Say whether this image stays as it is if it is blank; a tile of a slide that is not goes with its slide."""
        return super().may_keep(item) and (self.pooled is None or is_low(self.pooled[group_of(item)]))

    def plan_strips(self, item: Item, measured: MeasuredStrips, copy: int) -> tuple[Decision, dict[str, Any]]:  # noqa: ARG002
        """Decide from the moments of the image, or from those of its group."""
        if self._keeps_strips(item, measured):
            return _BLANK, {"gate": self.harmoniser.facts_of(Judgement("blank", 0.0))}
        content = measured.moments if self.pooled is None else self.pooled[group_of(item)]
        judgement = self.harmoniser.judge(content)
        facts = {"gate": self.harmoniser.facts_of(judgement)}
        if judgement.keeps:
            return Decision(False), facts
        options = self.options.match.at_strength(judgement.strength)
        if self.pooled is None:
            fit = measured.fit([self.harmoniser.style], options)
        else:
            fit = Fit(decide(content, self.harmoniser.style, options), judgement.strength)
        return Colorist.decision_of(Draw(Style(self.options.style_name, None, self.harmoniser.style), 1.0), fit), facts


def group_of(item: Item) -> str:
    """Return the folder that an image lies in: the slide its tiles were cut from.

    Args:
        item: The image.

    Returns:
        The path of the folder, relative to the source.

    Example:
        >>> group_of(Item("slide1/tile_3.png", "")), group_of(Item("loose.png", ""))
        ('slide1', '')
    """
    return item.key.rpartition("/")[0]
