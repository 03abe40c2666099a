"""Whole collections, as functions: what the command line does, for use from Python.

Every function takes a folder, a manifest (CSV or Parquet with ``path,label,domain,split``), a list of paths or a stack of images
(.npy, .npz in MedMNIST layout), works with any number of processes or on Ray with the same result, and never stops for one bad
file: what could not be done is in ``failures``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recolorist.bank import drift as drift_numbers
from recolorist.bank.style_bank import StyleBank
from recolorist.bank.table import Row
from recolorist.collections.audit import AuditWork, Limits, mark_outliers, panel_of, summary_of
from recolorist.collections.items import Collection, Item, Source, collected
from recolorist.collections.options import AugmentOptions, HarmoniseOptions, MeasureOptions, OutputOptions
from recolorist.collections.run import Failure
from recolorist.collections.target import Target
from recolorist.collections.work import Augment, Harmonise, Measure, group_of
from recolorist.collections.write import HERE, RunResult, Where, identity_of, write_all
from recolorist.core.moments import Moments
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError, StatisticsError
from recolorist.io.images import Reading
from recolorist.io.write import QUALITY

__all__ = [
    "AuditResult",
    "BankResult",
    "DriftResult",
    "Failure",
    "Reading",
    "RunResult",
    "Where",
    "audit",
    "augment",
    "build_bank",
    "drift",
    "harmonise",
    "open_bank",
    "reference",
]


@dataclass(frozen=True, slots=True)
class BankResult:
    """A bank, and the files that could not be measured."""

    bank: StyleBank
    failures: list[Failure]


@dataclass(frozen=True, slots=True)
class AuditResult:
    """One line per image, and the counts."""

    lines: list[dict[str, Any]]
    failures: list[Failure]
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DriftResult:
    """How far a collection lies from a bank: all of it, its groups, and every image."""

    region: drift_numbers.Region
    overall: drift_numbers.Group
    groups: list[drift_numbers.Group]
    lines: list[dict[str, Any]]
    measured: StyleBank
    failures: list[Failure]


# ---- banks ------------------------------------------------------------------------------------------------------------------


def build_bank(
    source: Source,
    *,
    name: str | None = None,
    split: str | None = None,
    preprocessing: str = "",
    mask: str | None = None,
    space: str = "rgb",
    with_histograms: bool = False,
    label_from: int | None = -1,
    domain_from: int | None = None,
    root: str | Path | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    where: Where = HERE,
    any_split: bool = False,
) -> BankResult:
    """Measure a collection. Of a manifest with several splits one must be chosen, unless ``any_split`` says that all are meant.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (5, 4), "red").save(f"{folder}/a.png")
    ...     _ = Path(folder, "b.png").write_bytes(b"not an image")
    ...     result = build_bank(folder, split="train")
    >>> len(result.bank), [failure.key for failure in result.failures]
    (1, ['b.png'])
    """
    work = Measure(reading, MeasureOptions(mask, space, with_histograms))
    with collected(source, label_from=label_from, domain_from=domain_from, split=split, root=root) as images:
        if split is None and len(images.splits) > 1 and not any_split:
            raise OptionError(
                f"the manifest has the splits {', '.join(images.splits)}; say which one the bank is made of (--split train), or "
                "styles of test images would leak into training"
            )
        values = _in_order(where.run(work, images.items), len(images))
        return _bank_of(images, values, name, preprocessing, work.options.measured_space)


def _bank_of(images: Collection, values: list[Any], name: str | None, preprocessing: str, space: str) -> BankResult:
    values = _one_kind(images.items, values)
    good = [(item, value) for item, value in zip(images.items, values, strict=True) if isinstance(value, Row)]
    failures = [value for value in values if isinstance(value, Failure)]
    if not good:
        raise ImageError(f"none of {len(values)} file(s) could be measured; the first says: {failures[0].message}")
    items, rows = zip(*good, strict=True)
    bank = StyleBank.from_rows(
        rows,
        [item.key for item in items],
        [item.label for item in items],
        [item.domain for item in items],
        name=images.name if name is None else name,
        split=images.split,
        preprocessing=preprocessing,
        space=space,
    )
    return BankResult(bank, failures)


def _one_kind(items: Sequence[Item], values: list[Any]) -> list[Any]:
    """A bank holds grey or colour; what differs from most is a failure that names itself."""
    kinds = Counter(len(value.mean) for value in values if isinstance(value, Row))
    if len(kinds) < 2:
        return values
    most = max(kinds, key=lambda channels: (kinds[channels], channels))
    return [
        Failure(item.key, f"it has {len(value.mean)} channel(s), most others have {most}")
        if isinstance(value, Row) and len(value.mean) != most
        else value
        for item, value in zip(items, values, strict=True)
    ]


def open_bank(path: str | Path) -> StyleBank:
    """Read a bank: :meth:`recolorist.StyleBank.open`."""
    return StyleBank.open(path)


def reference(bank: StyleBank, domain: str | None = None) -> Moments:
    """Return the average style of a bank: :meth:`recolorist.StyleBank.average`."""
    return bank.average(domain)


# ---- writing ----------------------------------------------------------------------------------------------------------------


def augment(
    source: Source,
    out: str | Path,
    bank: StyleBank,
    *,
    copies: int = 1,
    p: float = 1.0,
    seed: int = 0,
    sampler: str = "uniform",
    method: str = "mean_std",
    space: str = "rgb",
    strength: float | tuple[float, float] = 1.0,
    max_gain: float = 10.0,
    max_clip: float | None = None,
    mask: str | None = None,
    apply_to: str = "all",
    allow_split: bool = False,
    label_from: int | None = -1,
    domain_from: int | None = None,
    split: str | None = None,
    root: str | Path | None = None,
    quality: int = QUALITY,
    keep_icc: bool = False,
    full_audit: bool = False,
    force: bool = False,
    resume: bool = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    where: Where = HERE,
) -> RunResult:
    """Write stylised copies of a collection, with the structure of its folders, and one line of provenance for each."""
    options = AugmentOptions(
        MatchOptions(method, space, max_gain=max_gain, apply_to=apply_to),  # type: ignore[arg-type]
        strength, copies, p, seed, sampler, max_clip, mask, allow_split,
    )  # fmt: skip
    output = OutputOptions(quality, keep_icc, full_audit, force, resume)
    identity = identity_of("augment", options.to_dict() | {"quality": quality, "icc": keep_icc}, bank.fingerprint, reading)
    work = Augment(Target(str(out), force), reading, output, identity, options, bank)
    work.refuse_early()
    with collected(source, label_from=label_from, domain_from=domain_from, split=split, root=root) as images:
        return write_all(work, images, source, resume=resume, where=where)


def harmonise(
    source: Source,
    out: str | Path,
    style: Moments,
    *,
    style_name: str = "",
    method: str = "mean_std",
    space: str = "rgb",
    strength: float = 1.0,
    max_gain: float = 10.0,
    mask: str | None = None,
    apply_to: str = "all",
    pool: bool = False,
    split: str | None = None,
    root: str | Path | None = None,
    quality: int = QUALITY,
    keep_icc: bool = False,
    full_audit: bool = False,
    force: bool = False,
    resume: bool = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    where: Where = HERE,
) -> RunResult:
    """Give every image of a collection one style.

    ``pool`` measures all images of a folder together (the tiles of a slide) and maps them alike, so that a pale tile of a dark
    slide stays paler than its neighbours.
    """
    options = HarmoniseOptions(
        MatchOptions(method, space, strength, max_gain, apply_to=apply_to),  # type: ignore[arg-type]
        mask, pool,
    )  # fmt: skip
    output = OutputOptions(quality, keep_icc, full_audit, force, resume)
    identity = identity_of(
        "harmonise",
        options.to_dict() | {"style": style.to_dict(), "pool": pool, "quality": quality, "icc": keep_icc},
        style_name,
        reading,
    )
    with collected(source, split=split, root=root) as images:
        pooled, bad = _pooled(images.items, Measure(reading, MeasureOptions(mask, space)), where) if pool else (None, [])
        work = Harmonise(Target(str(out), force), reading, output, identity, options, style, style_name, pooled)
        usable = replace(images, items=tuple(item for item in images.items if item.key not in {f.key for f in bad}))
        result = write_all(work, usable, source, resume=resume, where=where)
        return replace(result, failures=[*bad, *result.failures])


def _pooled(items: Sequence[Item], work: Measure, where: Where) -> tuple[dict[str, Moments], list[Failure]]:
    """The moments of each folder: those of its images, added up in order."""
    sums: dict[str, Moments] = {}
    failures = []
    for item, value in zip(items, _in_order(where.run(work, items), len(items)), strict=True):
        if isinstance(value, Failure):
            failures.append(value)
            continue
        moments = Moments(value.pixels, value.mean, value.cov, 1.0, work.options.measured_space)
        group = group_of(item)
        sums[group] = sums[group] + moments if group in sums else moments
    return sums, failures


# ---- looking ----------------------------------------------------------------------------------------------------------------


def audit(
    source: Source,
    bank: StyleBank | None = None,
    *,
    mask: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    label_from: int | None = -1,
    domain_from: int | None = None,
    split: str | None = None,
    root: str | Path | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    where: Where = HERE,
) -> AuditResult:
    """Look at every image: flat, near blank, saturated, and, with a bank, what matching to its styles would clip."""
    panel = None if bank is None else panel_of(bank)
    MeasureOptions(mask)  # refuses an unknown rule
    with collected(source, label_from=label_from, domain_from=domain_from, split=split, root=root) as images:
        values = _in_order(where.run(AuditWork(reading, mask, panel, limits), images.items), len(images))
    failures = [value for value in values if isinstance(value, Failure)]
    lines = [value for value in values if not isinstance(value, Failure)]
    mark_outliers(lines, limits)
    return AuditResult(lines, failures, summary_of(lines, len(failures)))


def drift(
    bank: StyleBank,
    source: Source,
    *,
    level: float = drift_numbers.LEVEL,
    mask: str | None = None,
    group_from: int | None = 0,
    split: str | None = None,
    root: str | Path | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    where: Where = HERE,
) -> DriftResult:
    """Compare a collection with the bank a model was trained on; groups are sub-folders or a manifest's domains."""
    region = drift_numbers.region_of(bank, level)
    result = build_bank(
        source, mask=mask, domain_from=group_from, split=split, root=root, reading=reading, where=where, any_split=True
    )
    new = result.bank
    if new.channels != bank.channels:
        raise StatisticsError(f"the images have {new.channels} channel(s) and the bank's {bank.channels}; they must agree")
    distance = region.distance(new.mean, new.cov)
    groups = [new.domain(row) or "" for row in range(len(new))]
    parts = []
    for name in sorted(set(groups)) if len(set(groups)) > 1 else []:
        rows = np.array([group == name for group in groups])
        parts.append(drift_numbers.group_of(name, region, new.mean[rows], new.std[rows], distance[rows], level))
    overall = drift_numbers.group_of("all", region, new.mean, new.std, distance, level)
    lines = drift_numbers.image_lines(region, new.keys, groups, new.mean, new.std, distance)
    return DriftResult(region, overall, parts, lines, new, result.failures)


def _in_order(results: Iterable[tuple[int, Any]], count: int) -> list[Any]:
    values: list[Any] = [None] * count
    for i, value in results:
        values[i] = value
    return values
