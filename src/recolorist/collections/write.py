"""Writing a collection: what is done already, what may not be overwritten, and the record of what was done."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from recolorist._version import __version__
from recolorist.collections.items import Collection, Item, Source
from recolorist.collections.load import name_of
from recolorist.collections.run import Engine, Failure, Work, run, terminated_like_interrupted
from recolorist.collections.target import PROVENANCE, Journal, Target, as_line, recorded
from recolorist.collections.work import Kept, Recolour
from recolorist.errors import OptionError
from recolorist.io.images import Reading, shown

#: Told the results as they come and how many there will be; passes them on.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Where:
    """Where the work is done: processes on this machine, or a Ray cluster (``address``; started here if there is none)."""

    jobs: int | None = None
    engine: Engine = "local"
    address: str | None = None
    progress: Progress | None = None

    def run(self, work: Work, items: Sequence[Item]) -> Iterator[tuple[int, Any]]:
        """Results as they come."""
        with terminated_like_interrupted():
            found: Iterable[Any] = run(work, items, self.jobs, self.engine, self.address)
            yield from self.progress(found, len(items)) if self.progress else found


HERE = Where()
_TOGETHER: Final = 16  # lines noted at a time; what a kill loses of them is done again, with the same result


@dataclass(frozen=True)
class RunResult:
    """What was written: one line of provenance per output, in order. ``kept`` counts verified outputs of an earlier run."""

    lines: list[str]
    failures: list[Failure]
    kept: int = 0

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The lines, parsed."""
        return [json.loads(line) for line in self.lines]


def write_all(work: Recolour, images: Collection, source: Source, *, resume: bool, where: Where) -> RunResult:
    """Do the work on every image that is not done yet, note each output, and list all of them at the end."""
    target, numbers = work.target, [None] if work.copies == 1 else range(1, work.copies + 1)
    names = {item.key: [name_of(item, number) for number in numbers] for item in images.items}
    _refuse_clash(names, source, target)
    before = {record["output"]: record for record in recorded(target)}
    if not resume and not target.force:
        _refuse_overwriting(target, names)
    target.prepare()
    target.sweep()
    items = [_with_done(item, names[item.key], before if resume else {}, work.run) for item in images.items]
    journal = Journal(target)
    try:
        values = _noted(where.run(work, items), journal, len(items))
    except BaseException:
        journal.close(None)
        raise
    lines = [
        line
        for value in values
        if not isinstance(value, Failure)
        for line in ([as_line(before[name]) for name in value.outputs] if isinstance(value, Kept) else value)
    ]
    ours = {name for item, value in zip(items, values, strict=True) if not isinstance(value, Failure) for name in names[item.key]}
    journal.close([*(as_line(old) for name, old in before.items() if name not in ours and target.exists(name)), *lines])
    kept = sum(len(value.outputs) for value in values if isinstance(value, Kept))
    return RunResult(lines, [value for value in values if isinstance(value, Failure)], kept)


def _noted(results: Iterable[tuple[int, Any]], journal: Journal, count: int) -> list[Any]:
    """Results in order; what was written is in the journal as soon as it is known."""
    values: list[Any] = [None] * count
    waiting: list[str] = []
    try:
        for i, value in results:
            values[i] = value
            if not isinstance(value, Failure | Kept):
                waiting.extend(value)
            if len(waiting) >= _TOGETHER:
                journal.add(waiting)
                waiting = []
    finally:
        journal.add(waiting)
    return values


def _with_done(item: Item, names: list[str], records: Mapping[str, Mapping[str, Any]], identity: str) -> Item:
    """Add what an earlier run with the same options recorded of this item, if that is all of its outputs."""
    found = [records[name] for name in names if name in records]
    same = [one for one in found if one.get("run") == identity and one["source"] == item.key]
    if len(same) < len(names):
        return item
    return replace(item, done=tuple((one["output"], one["sha256"], one.get("source_sha256", "")) for one in same))


def _refuse_clash(names: Mapping[str, list[str]], source: Source, target: Target) -> None:
    taken = Counter(name for several in names.values() for name in several)
    name, times = taken.most_common(1)[0]
    if times > 1:
        keys = [key for key, several in names.items() if name in several]
        raise OptionError(f"{' and '.join(keys[:2])} would both be written as {name}; put them into different folders")
    if isinstance(source, str | Path) and Path(source).is_dir():
        inside = Path(target.folder).resolve()
        if inside == Path(source).resolve() or inside.is_relative_to(Path(source).resolve()):
            raise OptionError(f"the target {shown(target.folder)} lies inside the source; its files would be sources next time")


def _refuse_overwriting(target: Target, names: Mapping[str, list[str]]) -> None:
    there = [name for several in names.values() for name in several if target.exists(name)]
    if target.exists(PROVENANCE):
        there.append(PROVENANCE)
    if there:
        raise OptionError(
            f"{len(there)} of the outputs exist in {shown(target.folder)} already ({shown(there[0])} is one); pass resume "
            "(--resume) to go on with an earlier run, or force (--force) to replace them"
        )


def identity_of(what: str, options: Mapping[str, Any], style: str, reading: Reading) -> str:
    """A short digest of everything that decides the outputs."""
    told = {
        "what": what,
        "library": __version__,
        "options": options,
        "style": style,
        "reading": [reading.convert, reading.bits, reading.data_range, reading.level],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
