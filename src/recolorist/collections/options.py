"""The options of work on collections: one frozen object for each concern, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from recolorist.augment.harmoniser import GATES, Gate
from recolorist.augment.samplers import SAMPLERS
from recolorist.augment.streams import check_word
from recolorist.bank.drift import ALPHA, COVERAGE
from recolorist.bank.shift import RESAMPLES
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.options import Blank, MatchOptions
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError
from recolorist.io.reading import check_whole

__all__ = [
    "AuditOptions",
    "AugmentOptions",
    "BankOptions",
    "DriftOptions",
    "HarmoniseOptions",
    "Limits",
    "Masks",
    "MeasureOptions",
    "OutputOptions",
    "Progress",
    "SourceOptions",
    "Where",
]

#: Given the results as they come and how many there will be; passes them on.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Which images of a source are meant, and how they are labelled.

    Args:
        label_from: Level of sub-folders that names the label: 0 is the first, -1 the one that holds the file.
        domain_from: The same for the domain.
        split: Split of a manifest or MedMNIST archive.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.

    Raises:
        OptionError: A level is no whole number.
    """

    label_from: int | None = -1
    domain_from: int | None = None
    split: str | None = None
    root: str | Path | None = None
    follow_links: bool = False

    def __post_init__(self) -> None:
        """Check the levels."""
        for name in ("label_from", "domain_from"):
            level = getattr(self, name)
            if level is not None and (not isinstance(level, int) or isinstance(level, bool)):
                raise OptionError(
                    f"{name}={level!r}; accepted are whole numbers, 0 for the first level, -1 for the last, and None"
                )


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How outputs are written.

    Args:
        quality: JPEG quality, 1 to 100.
        keep_icc: Keep colour profiles; all other metadata is dropped.
        full_audit: Also record correlations and inversions of every image.
        force: Replace files that exist.
        resume: Continue an earlier run; outputs that it recorded are verified and kept.

    Raises:
        OptionError: The quality lies outside its limits.

    Example:
        >>> OutputOptions(quality=0)
        Traceback (most recent call last):
        recolorist.errors.OptionError: quality=0; accepted are whole numbers from 1 to 100
    """

    quality: int = 95
    keep_icc: bool = False
    full_audit: bool = False
    force: bool = False
    resume: bool = False

    def __post_init__(self) -> None:
        """Check the quality."""
        check_whole(self.quality, 1, 100, "quality")


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What is measured of each image.

    Args:
        mask: Name of a foreground rule; only its pixels are measured.
        space: Colour space the moments will be used in.
        with_histograms: Keep histograms as well, for the histogram methods.

    Raises:
        OptionError: The rule or the space is unknown.
    """

    mask: str | None = None
    space: str = "rgb"
    with_histograms: bool = False

    def __post_init__(self) -> None:
        """Check the names."""
        _check_rule(self.mask)
        check.option(self.space, SPACES, "space")

    @property
    def measured_space(self) -> str:
        """The space moments are taken in: RGB for every linear space, else the space itself."""
        return "rgb" if SPACES[self.space].is_linear else self.space


@dataclass(frozen=True, slots=True)
class BankOptions:
    """How a bank is made of a collection.

    Args:
        measure: What is measured of each image.
        name: Name of the bank; by default that of the collection.
        preprocessing: What was done to the images before, in your words.
        any_split: Accept a manifest with several splits as a whole.
        with_blank: Keep the styles of blank images, which are left out otherwise.
    """

    measure: MeasureOptions = field(default_factory=MeasureOptions)
    name: str | None = None
    preprocessing: str = ""
    any_split: bool = False
    with_blank: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a figure of an audit becomes a flag; shares and deviations in units of the range.

    Args:
        saturated: Share of values at white, in every channel.
        clip: Share of values that the median style clips although they did not lie at an end of the range.
        loss: Share of patches that lose more than half of their detail in the median style.
        max_gain: Largest factor on a channel.
        outlier: Robust deviations from the median of the collection.

    Raises:
        OptionError: A number lies outside its limits.
    """

    saturated: float = 0.05
    clip: float = 0.02
    loss: float = 0.02
    max_gain: float = 10.0
    outlier: float = 6.0

    def __post_init__(self) -> None:
        """Check every number."""
        for name in ("saturated", "clip", "loss"):
            check.number(getattr(self, name), 0, 1, name)
        for name in ("max_gain", "outlier"):
            check.number(getattr(self, name), 0, math.inf, name)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How a collection is audited.

    Args:
        mask: Name of a foreground rule; only its pixels are counted.
        limits: Where a figure becomes a flag.

    Raises:
        OptionError: The rule is unknown.
    """

    mask: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Check the rule."""
        _check_rule(self.mask)


@dataclass(frozen=True, slots=True)
class DriftOptions:
    """How a collection is compared with a bank.

    Args:
        coverage: Share of images like those of the bank that count as inside.
        mask: Name of a foreground rule; only its pixels are measured.
        alpha: Probability below which a group counts as drifted.
        patients: Regular expression for the patient or slide in keys, where there are several images of each.

    Raises:
        OptionError: The rule is unknown, or the coverage or alpha lies outside its limits.
    """

    coverage: float = COVERAGE
    mask: str | None = None
    alpha: float = ALPHA
    patients: str | None = None

    def __post_init__(self) -> None:
        """Check the coverage, the rule and alpha."""
        _check_coverage(self.coverage)
        _check_rule(self.mask)
        least = 1 / (1 + RESAMPLES)  # no shift of a group gets a smaller probability
        if not isinstance(self.alpha, (int, float)) or not least < self.alpha <= 0.5:
            raise OptionError(f"alpha={self.alpha!r}; accepted are probabilities above {least:g} and up to 0.5")


@dataclass(frozen=True, slots=True)
class Masks:
    """The pixels of one match that are measured: files (0 is outside) or names of foreground rules.

    Args:
        mask: File or rule for the content.
        style_mask: File or rule for the style.

    Raises:
        OptionError: One of them is neither a rule nor a file that exists.
    """

    mask: str | None = None
    style_mask: str | None = None

    def __post_init__(self) -> None:
        """Check that each is a rule or a file."""
        for name, value in (("mask", self.mask), ("style_mask", self.style_mask)):
            if value is not None and value not in foreground.RULES and not Path(value).exists():
                rules = " or ".join(map(repr, foreground.RULES))
                raise OptionError(f"{name}={value!r} does not exist; give a file, or a foreground rule: {rules}")


@dataclass(frozen=True, slots=True)
class HarmoniseOptions:
    """How every image gets one style.

    Args:
        match: How an image is matched to the style.
        mask: Name of a foreground rule; only its pixels are measured.
        pool: Measure all images of a folder together and map them alike.
        style_name: Name of the style in records.
        gate: What happens to images outside the bank: ``"centre"`` or ``"edge"``; ``"off"`` moves all of them. None is
            ``"centre"`` for a bank, and ``"off"`` for a style that is one image.
        coverage: Share of images like those of the bank that count as inside.
        blank: ``"keep"`` leaves blank images as they are, ``"match"`` matches them like all others.

    Raises:
        OptionError: The rule or the gate is unknown, or the method needs the pixels of the style.
    """

    match: MatchOptions
    mask: str | None = None
    pool: bool = False
    style_name: str = ""
    gate: Gate | None = None
    coverage: float = COVERAGE
    blank: Blank = "keep"
    copies: ClassVar[int] = 1  #: of each image, as with augmenting

    def __post_init__(self) -> None:
        """Check the rule, the gate and the method."""
        _check_rule(self.mask)
        _check_coverage(self.coverage)
        if self.gate is not None:
            check.option(self.gate, GATES, "gate")
        object.__setattr__(self, "match", replace(self.match, blank=self.blank))
        if self.match.needs_pixels:
            raise OptionError(
                f"method={self.match.method!r} needs the pixels of the style for every image; harmonise with mean_std or "
                "covariance, or match the files one by one"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the outputs, as plain values."""
        own = {name: getattr(self, name) for name in ("mask", "pool", "gate", "coverage")}
        return _matching_fields(self.match) | {"strength": self.match.strength} | own


@dataclass(frozen=True, slots=True)
class AugmentOptions:
    """How styles are drawn and applied.

    Args:
        match: How an image is matched to its style; the strength comes from ``strength``.
        strength: The strength, or a range to draw it from.
        copies: Copies of each image, each in another style.
        p: Probability that a copy is changed.
        seed: Equal seeds give equal outputs.
        sampler: A key of :data:`recolorist.samplers.SAMPLERS`.
        mask: Name of a foreground rule; only its pixels are measured.
        allow_split: Accept a bank that is not of a training split.
        blank: ``"keep"`` leaves blank images as they are and draws no style of one, ``"match"`` treats them like all others.

    Raises:
        OptionError: A name is unknown or a number lies outside its limits.
    """

    match: MatchOptions
    strength: float | tuple[float, float] = 1.0
    copies: int = 1
    p: float = 1.0
    seed: int = 0
    sampler: str = "uniform"
    mask: str | None = None
    allow_split: bool = False
    blank: Blank = "keep"

    def __post_init__(self) -> None:
        """Check what belongs to collections; :class:`recolorist.Colorist` checks the rest before a file is read."""
        _check_rule(self.mask)
        object.__setattr__(self, "match", replace(self.match, blank=self.blank))
        if not isinstance(self.copies, int) or self.copies < 1:
            raise OptionError(f"copies={self.copies!r}; at least one is needed")
        check.number(self.p, 0, 1, "p")
        check_word(self.seed, "seed")  # without one every process would draw by its own
        check.option(self.sampler, SAMPLERS, "sampler")  # provenance can record a name

    def for_colorist(self) -> dict[str, Any]:
        """Return the keywords of :class:`recolorist.Colorist`."""
        own = {name: getattr(self, name) for name in ("p", "seed", "sampler", "strength", "mask", "allow_split")}
        return own | _matching_fields(self.match)

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the outputs, as plain values."""
        return self.for_colorist() | {"copies": self.copies}


@dataclass(frozen=True, slots=True)
class Where:
    """Where the work is done; results do not depend on it.

    Args:
        jobs: Number of processes; by default one for each core.
        engine: ``"local"`` for processes on this machine, ``"ray"`` for a cluster.
        address: Address of the Ray cluster; without it one is started here.
        progress: Function that is given the results and their number, and passes them on.

    Raises:
        OptionError: The engine is unknown or the number of processes is below one.

    Example:
        >>> Where(jobs=0)
        Traceback (most recent call last):
        recolorist.errors.OptionError: jobs=0; at least one process is needed
    """

    jobs: int | None = None
    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Check engine and number."""
        check.option(self.engine, ("local", "ray"), "engine")
        if self.jobs is not None and (not isinstance(self.jobs, int) or self.jobs < 1):
            raise OptionError(f"jobs={self.jobs!r}; at least one process is needed")


def _matching_fields(options: MatchOptions) -> dict[str, Any]:
    names = ("method", "space", "max_gain", "apply_to", "blank", "max_clip", "max_loss")
    return {name: getattr(options, name) for name in names}


def _check_rule(rule: Any) -> None:
    if rule is not None:
        check.option(rule, foreground.RULES, "mask")


def _check_coverage(value: Any) -> None:
    if not check.is_number(value) or not 0.5 <= float(value) < 1:
        raise OptionError(f"coverage={value!r}; accepted are numbers from 0.5 to below 1")
