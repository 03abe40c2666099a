"""Work on whole collections, with options as objects: what the public functions and the commands call."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recolorist._version import __version__
from recolorist.augment.harmoniser import Harmoniser
from recolorist.bank import drift as drift_numbers
from recolorist.bank.making import ALL_PIXELS, warn_of_other_mask
from recolorist.bank.names import find_patients
from recolorist.bank.style_bank import StyleBank
from recolorist.bank.table import Row
from recolorist.collections.auditing import AuditWork, mark_outliers, panel_of, summary_of
from recolorist.collections.chunks import Failure
from recolorist.collections.items import Collection, Item, Source, open_collection
from recolorist.collections.journal import PROVENANCE, Journal, as_line, read_records
from recolorist.collections.load import name_of
from recolorist.collections.options import (
    AuditOptions,
    AugmentOptions,
    BankOptions,
    DriftOptions,
    HarmoniseOptions,
    MeasureOptions,
    OutputOptions,
    SourceOptions,
    Where,
)
from recolorist.collections.run import run
from recolorist.collections.target import Target
from recolorist.collections.work import Augment, Harmonise, KeptItem, Measure, Recolour, group_of
from recolorist.core.moments import Moments
from recolorist.errors import ImageError, OptionError, StatisticsError
from recolorist.io.images import Reading
from recolorist.io.listing import Ignored
from recolorist.io.reading import display_path

__all__ = [
    "AuditResult",
    "Bank",
    "BankResult",
    "DriftResult",
    "RunResult",
    "audit_images",
    "compare_images",
    "measure_bank",
    "write_augmented",
    "write_harmonised",
]

#: A bank, or the path of a saved one.
Bank = StyleBank | str | os.PathLike[str]

_TOGETHER: Final = 16  # lines noted at a time; what a kill loses of them is done again, with the same result


@dataclass(frozen=True, slots=True)
class BankResult:
    """A bank, the files that could not be measured, and what the folder holds besides."""

    bank: StyleBank
    failures: list[Failure]
    ignored: Ignored = field(default_factory=Ignored)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """One line per image, and the counts."""

    lines: list[dict[str, Any]]
    failures: list[Failure]
    summary: dict[str, Any]
    ignored: Ignored = field(default_factory=Ignored)


@dataclass(frozen=True, slots=True)
class DriftResult:
    """How far a collection lies from a bank: all of it, its groups, and every image."""

    region: drift_numbers.Region
    overall: drift_numbers.Group
    groups: list[drift_numbers.Group]
    lines: list[dict[str, Any]]
    measured: StyleBank
    failures: list[Failure]
    ignored: Ignored = field(default_factory=Ignored)


@dataclass(frozen=True)
class RunResult:
    """What was written: one line of provenance per output, in order. ``kept`` counts verified outputs of an earlier run."""

    lines: list[str]
    failures: list[Failure]
    kept: int = 0
    ignored: Ignored = field(default_factory=Ignored)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The lines, parsed."""
        return [json.loads(line) for line in self.lines]


# ---- tasks ------------------------------------------------------------------------------------------------------------------


def measure_bank(source: Source, options: BankOptions, select: SourceOptions, reading: Reading, where: Where) -> BankResult:
    """Measure a collection; see :func:`recolorist.collections.build_bank`."""
    with open_collection(source, select) as images:
        if select.split is None and len(images.splits) > 1 and not options.any_split:
            raise OptionError(
                f"the manifest has the splits {', '.join(images.splits)}; say which one the bank is made of (split='train'), or "
                "styles of test images would leak into training"
            )
        values = _in_order(run(Measure(reading, options.measure), images.items, where), len(images))
        return _make_bank(images, values, options)


def write_augmented(
    source: Source,
    out: str | Path,
    bank: Bank,
    options: AugmentOptions,
    select: SourceOptions,
    output: OutputOptions,
    reading: Reading,
    where: Where,
) -> RunResult:
    """Write stylised copies; see :func:`recolorist.collections.augment`."""
    bank = StyleBank.of(bank)
    decisive = options.to_dict() | {"quality": output.quality, "icc": output.keep_icc}
    identity = _identity_of("augment", decisive, bank.fingerprint, reading)
    work = Augment(Target(str(out), output.force), reading, output, identity, options, bank)
    work.refuse_early()
    warn_of_other_mask(bank.mask, options.mask, "these images")
    with open_collection(source, select) as images:
        return _write_all(work, images, source, where)


def write_harmonised(
    source: Source,
    out: str | Path,
    style: Bank | Moments,
    options: HarmoniseOptions,
    select: SourceOptions,
    output: OutputOptions,
    reading: Reading,
    where: Where,
) -> RunResult:
    """Give every image one style; see :func:`recolorist.collections.harmonise`."""
    style = style if isinstance(style, Moments) else StyleBank.of(style)
    if isinstance(style, StyleBank):
        warn_of_other_mask(style.mask, options.mask, "these images")
    if options.pool and options.match.is_limited:
        raise OptionError(
            "pool maps all images of a folder alike, and max_clip and max_loss hold for each image; leave out pool=True or "
            "the limits"
        )
    harmoniser = Harmoniser.with_options(style, options.match, options.gate, options.coverage, options.style_name)
    identity = style.fingerprint if isinstance(style, StyleBank) else style.to_dict()
    decisive = options.to_dict() | {"quality": output.quality, "icc": output.keep_icc, "style": identity}
    identity = _identity_of("harmonise", decisive, options.style_name, reading)
    with open_collection(source, select) as images:
        measure = Measure(reading, MeasureOptions(options.mask, options.match.space))
        pooled, bad = _pool_moments(images.items, measure, where) if options.pool else (None, [])
        work = Harmonise(Target(str(out), output.force), reading, output, identity, options, harmoniser, pooled)
        failed = {failure.key for failure in bad}
        usable = replace(images, items=tuple(item for item in images.items if item.key not in failed)) if bad else images
        result = _write_all(work, usable, source, where)
        return replace(result, failures=[*bad, *result.failures])


def audit_images(
    source: Source, bank: Bank | None, options: AuditOptions, select: SourceOptions, reading: Reading, where: Where
) -> AuditResult:
    """Audit every image; see :func:`recolorist.collections.auditing`."""
    work = AuditWork(reading, options, None if bank is None else panel_of(StyleBank.of(bank)))
    with open_collection(source, select) as images:
        values = _in_order(run(work, images.items, where), len(images))
    failures = [value for value in values if isinstance(value, Failure)]
    lines = [value for value in values if not isinstance(value, Failure)]
    mark_outliers(lines, options.limits)
    return AuditResult(lines, failures, summary_of(lines, len(failures)), images.ignored)


def compare_images(
    bank: Bank, source: Source, options: DriftOptions, select: SourceOptions, reading: Reading, where: Where
) -> DriftResult:
    """Compare a collection with a bank; see :func:`recolorist.collections.drift`."""
    bank = StyleBank.of(bank)
    warn_of_other_mask(bank.mask, options.mask, "the new images")
    region = drift_numbers.region_of(bank, options.coverage, _patients(bank, options.patients))
    measure = BankOptions(MeasureOptions(options.mask), any_split=True, with_blank=True)
    result = measure_bank(source, measure, select, reading, where)
    new = result.bank
    if new.channels != bank.channels:
        raise StatisticsError(f"the images have {new.channels} channel(s) and the bank's {bank.channels}; they must agree")
    distance = region.distance(new.mean, new.cov)
    groups, units = [new.domain(row) or "" for row in range(len(new))], _patients(new, options.patients)

    def judge(name: str, rows: NDArray[np.bool_]) -> drift_numbers.Group:
        patients = None if units is None else units[rows]
        return drift_numbers.group_of(name, region, new.mean[rows], new.cov[rows], patients, options.alpha)

    names = sorted(set(groups)) if len(set(groups)) > 1 else []
    parts = [judge(name, np.array([group == name for group in groups])) for name in names]
    overall = judge("all", np.ones(len(new), bool))
    lines = drift_numbers.image_lines(region, new.keys, groups, new.mean, new.std, distance)
    return DriftResult(region, overall, parts, lines, new, result.failures, result.ignored)


def _patients(bank: StyleBank, pattern: str | None) -> NDArray[np.str_] | None:
    return None if pattern is None else find_patients(bank.keys, pattern)


# ---- parts of them ----------------------------------------------------------------------------------------------------------


def _make_bank(images: Collection, values: list[Any], options: BankOptions) -> BankResult:
    values = _fail_other_kinds(images.items, values)
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
        name=images.name if options.name is None else options.name,
        split=images.split,
        preprocessing=options.preprocessing,
        space=options.measure.measured_space,
        mask=options.measure.mask or ALL_PIXELS,
        with_blank=options.with_blank,
    )
    return BankResult(bank, failures, images.ignored)


def _fail_other_kinds(items: Sequence[Item], values: list[Any]) -> list[Any]:
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


def _pool_moments(items: Sequence[Item], work: Measure, where: Where) -> tuple[dict[str, Moments], list[Failure]]:
    """The moments of each folder: those of its images, added up in order."""
    sums: dict[str, Moments] = {}
    failures = []
    for item, value in zip(items, _in_order(run(work, items, where), len(items)), strict=True):
        if isinstance(value, Failure):
            failures.append(value)
            continue
        moments = Moments(value.pixels, value.mean, value.cov, 1.0, work.options.measured_space)
        group = group_of(item)
        sums[group] = sums[group] + moments if group in sums else moments
    return sums, failures


def _in_order(results: Iterable[tuple[int, Any]], count: int) -> list[Any]:
    values: list[Any] = [None] * count
    for i, value in results:
        values[i] = value
    return values


def _write_all(work: Recolour, images: Collection, source: Source, where: Where) -> RunResult:
    """Do the work on every image that is not done yet, note each output, and list all of them at the end."""
    target, numbers = work.target, [None] if work.options.copies == 1 else range(1, work.options.copies + 1)
    names = {item.key: [name_of(item, number) for number in numbers] for item in images.items}
    _refuse_clash(names, source, target)
    earlier = {record["output"]: record for record in read_records(target)}
    if not work.output.resume and not target.force:
        _refuse_overwriting(target, names)
    target.prepare()
    target.sweep()
    items: Sequence[Item] = images.items
    if work.output.resume:
        items = [_add_earlier(item, names[item.key], earlier, work.run) for item in items]
    journal = Journal(target)
    try:
        values = _record(run(work, items, where), journal, len(items))
    except BaseException:
        journal.close(None)
        raise
    lines = [
        line
        for value in values
        if not isinstance(value, Failure)
        for line in ([as_line(earlier[name]) for name in value.outputs] if isinstance(value, KeptItem) else value)
    ]
    ours = {name for item, value in zip(items, values, strict=True) if not isinstance(value, Failure) for name in names[item.key]}
    journal.close([*(as_line(old) for name, old in earlier.items() if name not in ours and target.exists(name)), *lines])
    kept = sum(len(value.outputs) for value in values if isinstance(value, KeptItem))
    return RunResult(lines, [value for value in values if isinstance(value, Failure)], kept, images.ignored)


def _record(results: Iterable[tuple[int, Any]], journal: Journal, count: int) -> list[Any]:
    """Results in order; what was written is in the journal as soon as it is known."""
    values: list[Any] = [None] * count
    waiting: list[str] = []
    try:
        for i, value in results:
            values[i] = value
            if not isinstance(value, Failure | KeptItem):
                waiting.extend(value)
            if len(waiting) >= _TOGETHER:
                journal.add(waiting)
                waiting = []
    finally:
        journal.add(waiting)
    return values


def _add_earlier(item: Item, names: list[str], records: Mapping[str, Mapping[str, Any]], identity: str) -> Item:
    """Add what an earlier run with the same options recorded of this item, if that is all of its outputs."""
    matching = [records[name] for name in names if name in records]
    same = [record for record in matching if record.get("run") == identity and record["source"] == item.key]
    if len(same) < len(names):
        return item
    return replace(item, done=tuple((record["output"], record["sha256"], record.get("source_sha256", "")) for record in same))


def _refuse_clash(names: Mapping[str, list[str]], source: Source, target: Target) -> None:
    counts = Counter(chain.from_iterable(names.values()))
    name, times = counts.most_common(1)[0]
    if times > 1:
        keys = [key for key, outputs in names.items() if name in outputs]
        raise OptionError(f"{' and '.join(keys[:2])} would both be written as {name}; put them into different folders")
    if isinstance(source, str | Path) and Path(source).is_dir():
        inside = Path(target.folder).resolve()
        if inside == Path(source).resolve() or inside.is_relative_to(Path(source).resolve()):
            raise OptionError(
                f"the target {display_path(target.folder)} lies inside the source; its files would be sources next "
                "time; choose a folder outside it"
            )


def _refuse_overwriting(target: Target, names: Mapping[str, list[str]]) -> None:
    existing = [name for outputs in names.values() for name in outputs if target.exists(name)]
    if target.exists(PROVENANCE):
        existing.append(PROVENANCE)
    if existing:
        raise OptionError(
            f"{len(existing)} of the outputs exist in {display_path(target.folder)} already ({display_path(existing[0])} is one)"
            "; pass resume=True to go on with an earlier run, or force=True to replace them"
        )


def _identity_of(task: str, options: Mapping[str, Any], style: str, reading: Reading) -> str:
    """A short digest of everything that decides the outputs."""
    facts = {
        "what": task,
        "library": __version__,
        "options": options,
        "style": style,
        "reading": [reading.convert, reading.bits, reading.data_range, reading.level, reading.grey],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
