"""`python -m benchmarks.run`: time every arm on every pair, print the table and the verdicts, write JSON and Markdown."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import random
import re
import statistics
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import environment
from benchmarks.arms import ARMS, Arm
from benchmarks.cases import DTYPES, SIZES, Case, pair
from benchmarks.measure import Effort, calls_for, time_subjects
from benchmarks.memory import Peak, peaks
from benchmarks.records import Result, Run, Skip, document, problems, to_json
from benchmarks.report import losses, markdown, state
from benchmarks.subjects import Bound, reason
from benchmarks.targets import judge, judge_memory, judge_same_bytes, key
from recolorist.core import kernels

QUICK: Final = Effort(rounds=3, rounds_large=3, budget_ms=3.0, random_calls=3, random_calls_large=2)
SEED: Final = 20261115  # of the order within the rounds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code speaks of the run, not of the verdicts, which depend on the machine."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _options(given)
    if environment.missing_settings():
        environment.restart_with_settings("benchmarks.run", given)
    console = Console(width=None if sys.stdout.isatty() else 160)
    warnings.formatwarning = _warning_line
    with environment.one_core() as pinned:
        plain = _measure(options, pinned=pinned, console=console)
    wrong = problems(plain)
    for line in wrong:
        console.print(f"[red]{line}")
    _write(plain, options.out)
    _print(plain, console)
    return 1 if wrong else 0


def _warning_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> str:
    """Print a peer's warning without the line of its source."""
    return f"{category.__name__}: {message}\n"


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds per size, to see that everything runs; not to be quoted"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="edge lengths in pixels")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument(
        "--groups", nargs="+", choices=sorted({arm.group for arm in ARMS}), default=[], help="only these groups of arms"
    )
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory measurement")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder of the result files")
    return parser.parse_args(arguments)


def _measure(options: argparse.Namespace, *, pinned: bool, console: Console) -> dict[str, Any]:
    """Time everything that was asked for and return the result file."""
    effort = QUICK if options.quick else Effort()
    results: list[Result] = []
    skipped: list[Skip] = []
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for dtype in options.dtypes:
            for size in options.sizes:
                arms = [arm for arm in ARMS if dtype in arm.dtypes and size <= arm.max_size]
                arms = [arm for arm in arms if not options.groups or arm.group in options.groups]
                timed, left_out = _one_pair(arms, pair(dtype, size), effort, progress)
                results += timed
                skipped += left_out
    memory = [] if options.no_memory else _memory(256 if options.quick else 2048, console)
    figures = Run({}, results, [], [], []).figures
    digests = {key(row.arm, row.dtype, row.size): row.digest for row in results}
    verdicts = [*judge(figures), judge_same_bytes(digests), *judge_memory(memory)]
    return document(Run(_about(options, effort, results, pinned=pinned), results, skipped, memory, verdicts))


def _memory(size: int, console: Console) -> list[Peak]:
    """Measure memory; a failure there is printed and leaves its verdict "not measured", but does not cost the timings."""
    try:
        return peaks(size)
    except RuntimeError as error:
        console.print(str(error), markup=False, style="red")
        return []


def _one_pair(arms: list[Arm], case: Case, effort: Effort, progress: Progress) -> tuple[list[Result], list[Skip]]:
    """Time all arms on one pair, together, so that their ratios belong to one moment of the machine."""
    subjects, calls, running, skipped = [], [], [], []
    rounds = effort.rounds_at(case.size)
    task = progress.add_task(f"{case.dtype} {case.size}²", total=None)
    for arm in arms:
        try:
            subject = Bound(arm, case)
            calls.append(calls_for(subject, effort, effort.least_calls(case.size, varies=arm.random)))
        except Exception as error:  # noqa: BLE001 - whatever stops a peer stops its own row only, and is printed there
            skipped.append(Skip(arm.name, case.dtype, case.size, reason(error)))
            continue
        subjects.append(subject)
        running.append(arm)
    progress.update(task, total=rounds * len(subjects))
    timings = time_subjects(
        subjects, calls, rounds, random.Random(f"{SEED} {case.dtype} {case.size}"), lambda: progress.advance(task)
    )
    results = [
        Result(arm.name, case.dtype, case.size, timing.calls, timing.rounds, timing.cpu, timing.wall, *subject.checked)
        for arm, subject, timing in zip(running, subjects, timings, strict=True)
    ]
    return results, skipped


def _about(options: argparse.Namespace, effort: Effort, results: list[Result], *, pinned: bool) -> dict[str, Any]:
    """Describe machine, versions and settings."""
    settings = {"quick": options.quick, "pinned": pinned, "seed": SEED, "sizes": options.sizes, "dtypes": options.dtypes}
    settings |= {"groups": options.groups, **vars(effort), "environment": environment.START_SETTINGS}
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "commit": environment.commit(),
        "cpu": environment.cpu_name(),
        "simd": environment.simd_level(),
        "system": f"{platform.system()} {platform.machine()}",
        "kernel": kernels.active(),
        "versions": environment.versions(),
        "settings": settings,
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
        "wall_over_cpu": statistics.median([row.wall_us[1] / row.cpu_us[1] for row in results] or [1.0]),
    }


def _write(plain: dict[str, Any], folder: Path) -> None:
    """Write both files; a quick run never overwrites a real one."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{plain['date']}-{re.sub(r'[^a-z0-9]+', '-', plain['cpu'].lower()).strip('-')}"
    stem = folder / (name + ("-quick" if plain["settings"]["quick"] else ""))
    stem.with_name(stem.name + ".json").write_text(to_json(plain), encoding="utf-8")
    stem.with_name(stem.name + ".md").write_text(markdown(plain), encoding="utf-8")


def _print(plain: dict[str, Any], console: Console) -> None:
    """Print the figures and the verdicts, missed ones in red."""
    sizes = plain["settings"]["sizes"]
    table = Table("arm", "dtype", *map(str, sizes), title="median CPU time, µs per image")
    for arm in plain["arms"]:
        for dtype in arm["dtypes"]:
            found = {
                row["size"]: row["cpu_us"][1] for row in plain["results"] if (row["arm"], row["dtype"]) == (arm["name"], dtype)
            }
            if found:
                table.add_row(arm["name"], dtype, *(f"{found[size]:.4g}" if size in found else "–" for size in sizes))
    console.print(table)
    for row in {(row["arm"], row["reason"]) for row in plain["skipped"]}:
        console.print(f"skipped: {row[0]}: {row[1]}", markup=False)
    for arm_name, dtype, size, ratio in losses(plain):
        console.print(f"faster than us: {arm_name}, {dtype}, {size}²: {ratio:.2f} × our time", markup=False)
    for verdict in plain["verdicts"]:
        value = "–" if verdict["value"] is None else f"{verdict['value']:.3g}"
        colour = {True: "green", False: "red", None: "yellow"}[verdict["met"]]
        line = f"{state(verdict).strip('*'):12} {verdict['target']}: {value} (limit {verdict['limit']}) {verdict['detail']}"
        console.print(line, style=colour, markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
