"""What is done with each image of a collection: measuring it for a bank, or giving it other colours."""

from __future__ import annotations

import hashlib
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.augment import streams
from recolorist.augment.colorist import Colorist, Decision, Draw, PreprocessingWarning
from recolorist.augment.samplers import Content, Style
from recolorist.bank.build import measure_row, unit_row
from recolorist.bank.style_bank import StyleBank
from recolorist.bank.table import Row
from recolorist.collections.items import Item
from recolorist.collections.journal import as_line
from recolorist.collections.load import Loaded, load, name_of, rule_mask, source_digest
from recolorist.collections.options import AugmentOptions, HarmoniseOptions, MeasureOptions, OutputOptions
from recolorist.collections.strips import measure_strips, rule_in_use, write_strips
from recolorist.collections.target import Target
from recolorist.core import image as check
from recolorist.core.clipping import clipped_share
from recolorist.core.gains import Flags
from recolorist.core.match import MATCHERS, AffineMap
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import Plan, decide
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading
from recolorist.io.write import encode

__all__ = ["Augment", "Done", "Harmonise", "Kept", "Measure", "Recolour", "Written", "group_of"]

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
            if with_histograms:
                raise OptionError("histograms of images that go through in strips are not kept; build without them")
            with loaded.strips as source:
                return unit_row(measure_strips(source, rule, space), source.shape[:2])
        opened = loaded.opened
        inside = check.open_mask(rule_mask(opened, rule), opened)
        return measure_row(opened, inside, space, with_histogram=with_histograms)

    def finish(self, values: list[Any]) -> list[Any]:
        """Return the rows as they are."""
        return values


UNTOUCHED: Final[dict[str, Any]] = {"clipped": [], "clipped_overall": 0.0, "flags": []}


@dataclass(frozen=True, slots=True)
class Kept:
    """An item that an earlier run finished; its outputs were read again and are what was recorded."""

    outputs: tuple[str, ...]


class Done(NamedTuple):
    """What was done to one image, and what is said of it."""

    style: str | None
    row: int | None
    strength: float
    plan: Plan | AffineMap | None
    audit: dict[str, Any] | None


class Written(NamedTuple):
    """One output: its names and digests, and what was done."""

    facts: dict[str, Any]
    done: Done

    def line(self, run: str) -> str:
        """Its line of provenance."""
        style, row, strength, plan, audit = self.done
        drawn = {"style": style, "row": row, "strength": strength, "audit": audit, "run": run}
        return f'{as_line(self.facts | drawn)[:-1]}, "plan": {"null" if plan is None else plan.to_json()}}}'


@dataclass(frozen=True, eq=False)  # told apart by identity: there is one per process
class Recolour(ABC):
    """Give every image other colours and write it, with a record of what was done."""

    target: Target
    reading: Reading
    output: OutputOptions
    run: str  #: identifies the options; a record of another run is not taken for done

    def __call__(self, item: Item) -> list[Written] | Kept:
        """Read once, write every copy; returns what is known of each."""
        if item.done and self._verified(item):
            return Kept(tuple(output for output, _, _ in item.done))
        loaded = load(item, self.reading, digest=True)
        if loaded.strips is None:
            return [self._copy(item, loaded, copy) for copy in range(self.copies)]
        with loaded.strips as source:
            measure = cache(lambda: measure_strips(source, self.rule, self.match.measured_space))
            return [self._copy(item, loaded, copy, measure) for copy in range(self.copies)]

    def _copy(self, item: Item, loaded: Loaded, copy: int, measure: Callable[[], Moments] | None = None) -> Written:
        name = name_of(item, None if self.copies == 1 else copy + 1)
        if loaded.strips is not None and measure is not None:
            decision = self.planned(item, measure, copy)
            only = decision.applied and self.rule is not None and self.match.apply_to == "mask"
            mask = rule_in_use(loaded.strips, self.rule, measure()) if only else None
            write_strips(self.target, name, loaded.strips, decision.plan, mask)
            done, digest = Done(decision.style, decision.row, decision.strength, decision.plan, None), self.target.digest(name)
        else:
            done, pixels = self.recoloured(item, loaded, copy)
            icc = loaded.icc if self.output.keep_icc else None
            data = encode(pixels, "." + name.rpartition(".")[2], icc=icc, quality=self.output.quality)
            self.target.place(name, data)
            digest = hashlib.sha256(data).hexdigest()
        facts = {"source": item.key, "output": name, "copy": copy, "source_sha256": loaded.digest, "sha256": digest}
        return Written(facts, done)

    def finish(self, values: list[Any]) -> list[Any]:
        """One line of provenance for each copy; cheaper for many in a row than each between two images."""
        return [value if isinstance(value, Kept) else [written.line(self.run) for written in value] for value in values]

    def recoloured(self, item: Item, loaded: Loaded, copy: int) -> tuple[Done, NDArray[Any]]:
        """What was done to an image in memory, and the pixels after it."""
        decision, pixels, mask = self.decided(item, loaded, copy)
        audit = audit_line(loaded, decision, pixels, mask, full=self.output.full_audit)
        return Done(decision.style, decision.row, decision.strength, decision.plan, audit), pixels

    @abstractmethod
    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any], Mask]:
        """What is done to an image in memory, the pixels after it, and which of them were open to change (None: all)."""

    @abstractmethod
    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:
        """What is done to an image of which only the moments are known."""

    @property
    @abstractmethod
    def match(self) -> MatchOptions:
        """How an image is matched to its style."""

    @property
    @abstractmethod
    def rule(self) -> str | None:
        """The foreground rule that chooses the pixels to measure."""

    @property
    def copies(self) -> int:
        """Copies of each image."""
        return 1

    def changed(self, mask: Mask) -> Mask:
        """Return the pixels that may be changed; None: all."""
        return mask if self.match.apply_to == "mask" else None

    @property
    def _by_level(self) -> bool:
        """Whether each output level is a function of the input level, for all pixels and without a look at the neighbours."""
        return self.rule is None and not self.output.full_audit and self.match.by_channel

    def _verified(self, item: Item) -> bool:
        """Whether outputs and source are what was recorded; an output that was changed since is nobody's to replace."""
        for output, digest, _ in item.done:
            found = self.target.digest(output)
            if found is None:
                return False
            if found != digest and not self.target.force:
                raise ImageError(f"{output} in the target differs from what was recorded; remove it, or pass force (--force)")
        told = source_digest(item, self.reading)
        return all(self.target.digest(output) == digest and source == told for output, digest, source in item.done)


@dataclass(frozen=True, eq=False)
class Augment(Recolour):
    """Styles drawn from a bank; copy k of an image draws from the stream of (seed, k, key)."""

    options: AugmentOptions
    bank: StyleBank

    @property
    def match(self) -> MatchOptions:
        """How an image is matched to the drawn style."""
        return self.options.match

    @property
    def rule(self) -> str | None:
        """The foreground rule that chooses the pixels to measure."""
        return self.options.mask

    @property
    def copies(self) -> int:
        """Copies of each image, each in another style."""
        return self.options.copies

    def recoloured(self, item: Item, loaded: Loaded, copy: int) -> tuple[Done, NDArray[Any]]:
        """Draw and apply; what is known to be plain goes without what the rest needs, to the same end."""
        aug, opened = self._colorist(loaded.data_range), loaded.opened
        if not self._by_level or aug.max_clip is not None or opened.kind != "B" or not opened.array.flags.c_contiguous:
            return super().recoloured(item, loaded, copy)
        drawn = aug.draw(item.key, epoch=copy, label=item.label, domain=item.domain)
        if drawn is None:
            return Done(None, None, 0.0, None, UNTOUCHED), opened.array
        output = np.empty_like(opened.array)
        done = aug.recolour_opened(opened, None, drawn, output)
        audit = UNTOUCHED if done.map is None else clipping_told(done.map.clipped_share(), done.map.flags)
        return Done(done.style.name, done.style.row, done.strength, done.map, audit), output

    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any], Mask]:
        """Draw and apply."""
        aug = self._colorist(loaded.data_range)
        mask = rule_mask(loaded.opened, self.rule)
        decision = aug.params(loaded.pixels, item.key, epoch=copy, label=item.label, domain=item.domain, mask=mask)
        return decision, aug.apply(loaded.pixels, decision, mask=mask), self.changed(mask)

    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:
        """Draw as the augmentation does, from moments alone."""
        aug = self._colorist(None)
        if aug.max_clip is not None or MATCHERS[aug.method].needs_pixels:
            raise OptionError("max_clip and the histogram methods need the image in memory; raise max_pixels, or leave them out")
        rng = streams.stream(aug.seed, copy, item.key)
        if rng.random() >= aug.p:
            return Decision(False)
        content = Content(aug.bank.row_of(item.key), item.label, item.domain)
        style, strength, *_ = aug.draw_from(rng, content)
        plan = decide(measure(), style.moments, aug.options.at_strength(strength))
        return Decision(True, style.name, style.row, strength, plan)

    def refuse_early(self) -> None:
        """Refuse options that fit neither each other nor the bank before any file is read."""
        self._colorist(None)

    def _colorist(self, data_range: float | None) -> Colorist:
        return _colorist(self, data_range)


@lru_cache(maxsize=8)
def _colorist(work: Augment, data_range: float | None) -> Colorist:
    aug = Colorist(work.bank, **work.options.for_colorist(), data_range=data_range)
    size = work.bank.size or (1, 1)
    with warnings.catch_warnings():  # a collection is of all sizes, and the warning comes with the first image only
        warnings.simplefilter("ignore", PreprocessingWarning)
        probe = np.zeros((size[0] + 1, size[1], work.bank.channels), np.uint8)
        if not MATCHERS[aug.method].needs_pixels:
            aug.decide(probe, Draw(Style("", None, work.bank.moments(0)), 0.0))
    return aug


@dataclass(frozen=True, eq=False)
class Harmonise(Recolour):
    """Every image to one style. ``pooled`` holds the moments of whole groups (all tiles of a slide, say) to be used for each."""

    options: HarmoniseOptions
    style: Moments
    pooled: Mapping[str, Moments] | None = None

    @property
    def match(self) -> MatchOptions:
        """How an image is matched to the style."""
        return self.options.match

    @property
    def rule(self) -> str | None:
        """The foreground rule that chooses the pixels to measure."""
        return self.options.mask

    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any], Mask]:  # noqa: ARG002 - as declared
        """Measure, plan, apply."""
        opened = loaded.opened
        inside = check.open_mask(rule_mask(opened, self.rule), opened)
        decision = self.planned(item, lambda: measure_opened(opened, inside, self.match.measured_space), 0)
        keep = self.changed(inside)
        output = rc.apply(loaded.pixels, decision.plan, mask=keep, data_range=loaded.data_range)  # type: ignore[arg-type]
        return decision, output, keep

    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:  # noqa: ARG002 - as declared
        """The map from these moments to the style."""
        content = measure() if self.pooled is None else self.pooled[group_of(item)]
        plan = decide(content, self.style, self.match)
        return Decision(True, self.options.style_name, None, self.match.strength, plan)


def group_of(item: Item) -> str:
    """The folder an image lies in: the slide its tiles were cut from.

    >>> group_of(Item("slide1/tile_3.png", "")), group_of(Item("loose.png", ""))
    ('slide1', '')
    """
    return item.key.rpartition("/")[0]


def audit_line(loaded: Loaded, decision: Decision, output: NDArray[Any], mask: Mask, *, full: bool) -> dict[str, Any]:
    """Return exact figures of what was done to the pixels of the mask; ``full`` adds those that need all pixels again."""
    plan, opened = decision.plan, loaded.opened
    if plan is None and not decision.applied:
        return UNTOUCHED
    if full or plan is None or not (opened.is_integer and plan.is_linear_space and plan.is_diagonal):
        result = rc.audit(loaded.pixels, output, plan=plan, mask=mask, data_range=loaded.data_range)
        told: dict[str, Any] = json.loads(result.to_json())
        return told
    return clipping_told(clipped_share(opened, plan, mask), plan.flags)


def clipping_told(clipped: list[float], flags: Flags) -> dict[str, Any]:
    """The few numbers that cost next to nothing."""
    return {"clipped": clipped, "clipped_overall": sum(clipped) / len(clipped), "flags": [list(flag) for flag in flags]}
