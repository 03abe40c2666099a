"""What is done with each image of a collection: measuring it for a bank, or giving it other colours."""

from __future__ import annotations

import hashlib
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist import check, streams
from recolorist.augment import Colorist, Decision, PreprocessingWarning
from recolorist.bank import StyleBank
from recolorist.bank_build import histogram_of
from recolorist.batch_items import Item
from recolorist.batch_load import Loaded, load, mean_and_variance, measured_in, name_of, rule_mask, source_digest
from recolorist.batch_target import Target, as_line
from recolorist.errors import ImageError, OptionError
from recolorist.images import Reading
from recolorist.images_write import QUALITY, encode
from recolorist.matchers import MATCHERS
from recolorist.moments import Moments, integer_sums, measure_opened, trusted_moments
from recolorist.plan import Plan, decide
from recolorist.samplers import Content, Style
from recolorist.strips import measure_strips
from recolorist.strips_match import write_strips

Array = NDArray[np.float64]


class Measured(NamedTuple):
    """The row of one image in a bank: unit range."""

    mean: Array
    cov: Array
    pixels: int
    size: tuple[int, int]
    histogram: NDArray[np.uint32] | None


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure every image."""

    reading: Reading
    mask: str | None = None
    space: str = "rgb"
    with_histograms: bool = False

    def __call__(self, item: Item) -> _Sums | Measured:
        """Sums of an integer image, which `finish` turns into moments; moments of any other."""
        loaded = load(item, self.reading)
        space = measured_in(self.space)
        if loaded.strips is not None:
            if self.with_histograms:
                raise OptionError("histograms of images that go through in strips are not kept; build without them")
            with loaded.strips as source:
                return _measured(measure_strips(source, self.mask, space), source.shape[:2], None)
        opened = loaded.opened
        inside = None if self.mask is None else check.open_mask(rule_mask(opened, self.mask), opened)
        size, counts = opened.array.shape[:2], histogram_of(opened, inside) if self.with_histograms else None
        if not opened.is_integer or opened.data_range != check.NATURAL_RANGE[opened.kind] or space != "rgb":
            return _measured(measure_opened(opened, inside, space), size, counts)
        return _Sums(*integer_sums(opened, inside, opened.channels), opened.data_range, size, counts)

    def finish(self, values: list[Any]) -> list[Any]:
        """Sums to moments; for a small image that costs as much as summing if it is done with all checks, one by one."""
        return [value.measured() if isinstance(value, _Sums) else value for value in values]


@dataclass(slots=True)
class _Sums:
    """Exact sums of one image, in its own units."""

    count: int
    sums: tuple[int, ...]
    products: tuple[int, ...]
    data_range: float
    size: tuple[int, int]
    histogram: NDArray[np.uint32] | None

    def measured(self) -> Measured:
        """The very numbers that :func:`recolorist.measure` and ``rescaled(1.0)`` give."""
        count, sums, products = self.count, self.sums, self.products
        n, square, ratio = len(sums), count * count, 1.0 / self.data_range
        cov = [0.0] * (n * n)
        for d in range(n):
            for i in range(n - d):
                exact = (count * products[d * n + i] - sums[i] * sums[i + d]) / square
                cov[i * n + i + d] = cov[(i + d) * n + i] = exact * (ratio * ratio)
        mean = np.array([total / count * ratio for total in sums])
        return Measured(mean, np.array(cov).reshape(n, n), count, self.size, self.histogram)


def _measured(moments: Moments, size: tuple[int, ...], histogram: NDArray[np.uint32] | None) -> Measured:
    unit = moments.rescaled(1.0)
    return Measured(unit.mean, unit.cov, unit.count, (size[0], size[1]), histogram)


@dataclass(frozen=True, slots=True)
class Kept:
    """An item that an earlier run finished; its outputs were read again and are what was recorded."""

    outputs: tuple[str, ...]


@dataclass(frozen=True, eq=False)  # told apart by identity: there is one per process
class Recolour(ABC):
    """Give every image other colours and write it, with a record of what was done."""

    target: Target
    reading: Reading
    run: str  #: identifies the options; a record of another run is not taken for done
    copies: int = 1
    quality: int = QUALITY
    keep_icc: bool = False
    full_audit: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)  #: how colours are chosen; what that takes is up to the kind of work

    def __call__(self, item: Item) -> list[str] | Kept:
        """Read once, write every copy; returns one line of provenance for each."""
        if item.done and self._verified(item):
            return Kept(tuple(output for output, _, _ in item.done))
        loaded = load(item, self.reading, digest=True)
        with nullcontext() if loaded.strips is None else loaded.strips:
            return [self._copy(item, loaded, copy) for copy in range(self.copies)]

    def _copy(self, item: Item, loaded: Loaded, copy: int) -> str:
        name = name_of(item, None if self.copies == 1 else copy + 1)
        if loaded.strips is not None:
            source = loaded.strips
            decision = self.planned(item, lambda: measure_strips(source, self.rule, self.space), copy)
            write_strips(self.target, name, loaded.strips, decision.plan, None)
            digest, audit = self.target.digest(name), None
        else:
            decision, pixels = self.decided(item, loaded, copy)
            icc = loaded.icc if self.keep_icc else None
            data = encode(pixels, "." + name.rpartition(".")[2], icc=icc, quality=self.quality)
            self.target.place(name, data)
            digest = hashlib.sha256(data).hexdigest()
            audit = audit_line(loaded, decision, pixels, full=self.full_audit)
        facts = {"source": item.key, "output": name, "copy": copy, "source_sha256": loaded.digest, "sha256": digest}
        drawn = {"style": decision.style, "row": decision.row, "strength": decision.strength, "audit": audit, "run": self.run}
        plan = "null" if decision.plan is None else decision.plan.to_json()
        return f'{as_line(facts | drawn)[:-1]}, "plan": {plan}}}'

    def finish(self, values: list[Any]) -> list[Any]:
        """Nothing more."""
        return values

    @abstractmethod
    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any]]:
        """What is done to an image in memory, and the pixels after it."""

    @abstractmethod
    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:
        """What is done to an image of which only the moments are known."""

    @property
    def rule(self) -> str | None:
        """The foreground rule that chooses the pixels to measure."""
        return self.options.get("mask")

    @property
    def space(self) -> str:
        """The space moments are taken in."""
        return measured_in(str(self.options.get("space", "rgb")))

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

    bank: StyleBank | None = None

    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any]]:
        """Draw and apply."""
        aug = self._colorist(loaded.data_range)
        opened = loaded.opened
        if self._levels_suffice(aug, opened):
            counted = self.planned(item, lambda: moments_of_levels(loaded.counts(opened), opened.data_range), copy)
            return counted, aug.apply(loaded.pixels, counted)
        decision = aug.params(loaded.pixels, item.key, epoch=copy, label=item.label, domain=item.domain)
        return decision, aug.apply(loaded.pixels, decision)

    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:
        """Draw as the augmentation does, from moments alone."""
        aug = self._colorist(None)
        if aug.max_clip is not None or MATCHERS[aug.method].needs_pixels:
            raise OptionError("max_clip and the histogram methods need the image in memory; raise max_pixels, or leave them out")
        rng = streams.stream(aug.seed, copy, item.key)
        if rng.random() >= aug.p:
            return Decision(False)
        content = Content(aug.bank.row_of(item.key), item.label, item.domain)
        style, strength, *_ = aug.draw(rng, content)
        plan = decide(measure(), style.moments, aug.space, strength, aug.max_gain, "exact", aug.method, strict=False)
        return Decision(True, style.name, style.row, strength, plan)

    def _levels_suffice(self, aug: Colorist, opened: check.Opened) -> bool:
        """Whether a histogram tells all that is needed, which is one look at the pixels instead of two."""
        plain = aug.method == "mean_std" and aug.space == "rgb" and aug.max_clip is None and aug.mask is None
        return plain and opened.is_integer and opened.data_range == check.NATURAL_RANGE[opened.kind]

    def refuse_early(self) -> None:
        """Refuse options that fit neither each other nor the bank before any file is read."""
        self._colorist(None)

    def _colorist(self, data_range: float | None) -> Colorist:
        return _colorist(self, data_range)


@lru_cache(maxsize=8)
def _colorist(work: Augment, data_range: float | None) -> Colorist:
    if work.bank is None:
        raise OptionError("augmenting needs a bank")
    aug = Colorist(work.bank, **work.options, data_range=data_range)
    size = work.bank.size or (1, 1)
    with warnings.catch_warnings():  # a collection is of all sizes, and the warning comes with the first image only
        warnings.simplefilter("ignore", PreprocessingWarning)
        probe = np.zeros((size[0] + 1, size[1], work.bank.channels), np.uint8)
        if not MATCHERS[aug.method].needs_pixels:
            aug.decide(probe, Style("", None, work.bank.moments(0)), 0.0, streams.stream(0))
    return aug


@dataclass(frozen=True, eq=False)
class Harmonise(Recolour):
    """Every image to one style. ``pooled`` holds the moments of whole groups (all tiles of a slide, say) to be used for each."""

    style: Moments | None = None
    style_name: str = ""
    pooled: Mapping[str, Moments] | None = None

    def decided(self, item: Item, loaded: Loaded, copy: int) -> tuple[Decision, NDArray[Any]]:  # noqa: ARG002 - as declared
        """Measure, plan, apply."""
        opened = loaded.opened
        inside = check.open_mask(rule_mask(opened, self.rule), opened)
        decision = self.planned(item, lambda: measure_opened(opened, inside, self.space), 0)
        keep = inside if self.options.get("apply_to") == "mask" else None
        return decision, rc.apply(loaded.pixels, _planned(decision), mask=keep, data_range=loaded.data_range)

    def planned(self, item: Item, measure: Callable[[], Moments], copy: int) -> Decision:  # noqa: ARG002 - as declared
        """The map from these moments to the style."""
        if self.style is None:
            raise OptionError("harmonising needs a style")
        strength = float(self.options.get("strength", 1.0))
        plan = decide(
            self._pool(item) or measure(),
            self.style,
            str(self.options.get("space", "rgb")),
            strength,
            float(self.options.get("max_gain", 10.0)),
            "exact",
            str(self.options.get("method", "mean_std")),
            strict=False,
        )
        return Decision(True, self.style_name, None, strength, plan)

    def _pool(self, item: Item) -> Moments | None:
        return None if self.pooled is None else self.pooled[group_of(item)]


def group_of(item: Item) -> str:
    """The folder an image lies in: the slide its tiles were cut from.

    >>> group_of(Item("slide1/tile_3.png", "")), group_of(Item("loose.png", ""))
    ('slide1', '')
    """
    return item.key.rpartition("/")[0]


def audit_line(loaded: Loaded, decision: Decision, output: NDArray[Any], *, full: bool) -> dict[str, Any]:
    """What was done, in a few exact numbers; ``full`` adds what must look at all pixels again."""
    plan, opened = decision.plan, loaded.opened
    if full or plan is None or not (opened.is_integer and plan.is_linear_space and plan.is_diagonal):
        if plan is None and not decision.applied:
            return {"clipped": [], "clipped_overall": 0.0, "flags": []}
        result = rc.audit(loaded.pixels, output, plan=plan, data_range=loaded.data_range)
        told: dict[str, Any] = json.loads(result.to_json())
        return told
    clipped = clipped_share(loaded, opened, plan)
    return {"clipped": clipped, "clipped_overall": sum(clipped) / len(clipped), "flags": [list(flag) for flag in plan.flags]}


def moments_of_levels(counts: NDArray[np.uint64], data_range: float) -> Moments:
    """Means and variances from a histogram, the very numbers that measuring gives; covariances are left out.

    >>> moments_of_levels(np.array([[1, 0, 3]], np.uint64), 2.0).mean.tolist()
    [1.5]
    """
    exact = counts.astype(np.float64)
    pixels = exact.sum(axis=-1)
    mean, variance = mean_and_variance(exact, pixels)
    return trusted_moments(int(pixels[0]), mean, np.diag(variance), data_range)


def clipped_share(loaded: Loaded, opened: check.Opened, plan: Plan) -> list[float]:
    """Exact share of values a diagonal plan clips, per channel; pixels are looked at only if it can clip any level at all."""
    kept = ~plan.clipped_levels(int(opened.data_range))
    if kept.all():
        return [0.0] * len(kept)
    total = opened.array.shape[0] * opened.array.shape[1]
    counts = loaded.counts(opened)[:, : kept.shape[1]]
    return [(total - int(channel[levels].sum())) / total for channel, levels in zip(counts, kept, strict=True)]


def _planned(decision: Decision) -> Plan:
    if decision.plan is None:
        raise OptionError("this method needs the style's pixels; use mean_std or covariance")
    return decision.plan
