"""`python -m benchmarks.spaces`: every colour space and method, as ratios to RGB mean–std in the same run.

Two tables: what each space and method costs, and the targets with what was measured. Both images are measured in every call,
8 bits, 256 × 256, one thread; the figures are medians of thread CPU time over shuffled rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import recolorist as rc
from benchmarks import environment
from benchmarks.cases import DTYPES, Case, DType, pair
from benchmarks.measure import Effort, Sample, calls_for, time_calls, time_subjects
from benchmarks.memory import MIB, Peak, space_peaks
from benchmarks.ours import audit_only, match_in, match_known, three_steps
from benchmarks.peers import albumentations_histograms, opencv_transform, skimage_histograms
from benchmarks.stains import STAINS
from benchmarks.subjects import reason
from recolorist.core import kernels

__all__ = ["MEMORY_LIMIT", "Goal", "goals", "main", "space_table"]

Call = Callable[[], object]
Key = tuple[str, str]

HISTOGRAMS: Final = ("scikit-image match_histograms", "Albumentations HistogramMatching")
BASE: Final[Key] = ("rgb", "mean_std")
METHODS: Final = tuple(rc.MATCHERS)
AFFINE: Final = ("mean_std", "covariance")
LINEAR: Final = tuple(name for name, space in rc.SPACES.items() if space.is_linear and name != "rgb")
OTHERS: Final = tuple(name for name, space in rc.SPACES.items() if not space.is_linear)
GROWN: Final = ("rgb", "ycbcr", *OTHERS)
SIZES: Final = (64, 256, 1024, 4096)
MEMORY_LIMIT: Final = 4  #: MiB beyond the output
QUICK: Final = Effort(rounds=3, rounds_large=3, budget_ms=3.0)


class Timed(NamedTuple):
    """A call that can be timed."""

    call: Call

    def time(self, calls: int) -> Sample:
        """Call `calls` times in a row."""
        return time_calls(self.call, calls)


class Goal(NamedTuple):
    """A ratio beside its limit; None where something was not measured."""

    text: str
    limit: float
    at_most: bool
    value: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the limit is kept."""
        if self.value is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print both tables, and write the figures if a file was named."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spaces", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that everything runs; not to be quoted")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(given)
    if environment.missing_settings():
        environment.restart_with_settings("benchmarks.spaces", given)
    effort = QUICK if options.quick else Effort()
    with environment.one_core() as pinned:
        figures, skipped = measure_calls(effort, sizes=SIZES[:2] if options.quick else SIZES)
    memory = {method: space_peaks(method, 256 if options.quick else 2048, _memory_dtypes(method)) for method in METHODS}
    about = f"{environment.cpu_name()}, {environment.simd_level()}, commit {environment.commit()}, {kernels.active()} loops"
    print(f"{about}{', pinned to one core' if pinned else ''}{'; quick, not to be quoted' if options.quick else ''}\n")
    print(
        "\n".join(
            [
                *space_table(figures),
                "",
                *goal_table([*goals(figures), *(_memory_goal(method, peaks) for method, peaks in memory.items())]),
                "",
            ]
        )
    )
    print("\n".join(f"skipped: {name}: {why}" for name, why in skipped.items()))
    if options.json:
        rows = {f"{space} {name}": value for (space, name), value in figures.items()}
        beyond = {f"{peak.call} {peak.dtype}": peak.beyond_output for peaks in memory.values() for peak in peaks}
        record = {"about": about, "cpu_us": rows, "bytes_beyond_output_at_2048": beyond, "skipped": skipped}
        options.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0


def measure_calls(effort: Effort, sizes: Sequence[int]) -> tuple[dict[Key, float], dict[str, str]]:
    """Time every call, those of one size together; returns median CPU microseconds, and why others were skipped."""
    figures: dict[Key, float] = {}
    skipped: dict[str, str] = {}
    for size in sizes:
        case, calls = pair("uint8", size), {}
        for key, factory in (_factories() if size == 256 else _sized_factories(size)).items():
            try:
                calls[key] = factory(case)
                calls[key]()
            except Exception as error:  # noqa: BLE001 - whatever keeps a peer from running is its reason
                skipped[" ".join(key)] = reason(error)
                calls.pop(key, None)
        subjects = [Timed(call) for call in calls.values()]
        counts = [calls_for(subject, effort) for subject in subjects]
        timings = time_subjects(subjects, counts, effort.rounds_at(size), random.Random(20261118))
        figures |= {key: timing.cpu.median for key, timing in zip(calls, timings, strict=True)}
    return figures, skipped


def _factories() -> dict[Key, Callable[[Case], Call]]:
    """Return every call at 256 × 256."""
    made: dict[Key, Callable[[Case], Call]] = {
        (space, method): partial(match_in, space=space, method=method) for space in rc.SPACES for method in METHODS
    }
    made |= {("peer", name): factory for name, factory in STAINS.items()}
    made |= {
        ("call", "match, style known"): match_known,
        ("call", "apply(plan(measure))"): three_steps,
        ("call", "audit(content, plan)"): audit_only,
        ("call", "core, batch of 32 float32"): _core_batch,
        ("call", "ColorMatch, batch of 32 float32"): _torch_batch,
        ("peer", "scikit-image match_histograms"): skimage_histograms,
        ("peer", "Albumentations HistogramMatching"): albumentations_histograms,
    }
    return made


def _sized_factories(size: int) -> dict[Key, Callable[[Case], Call]]:
    """Return the calls whose growth is looked at, and at 64 × 64 OpenCV beside them."""
    made: dict[Key, Callable[[Case], Call]] = {
        (space, f"mean_std {size}"): partial(match_in, space=space, method="mean_std") for space in GROWN
    }
    if size == 64:
        for dtype in DTYPES:
            made[("call", f"match 64 {dtype}, style known")] = partial(_tile, dtype=dtype, factory=match_known)
            made[("peer", f"OpenCV 64 {dtype}, style known")] = partial(_tile, dtype=dtype, factory=opencv_transform)
    return made


def _tile(case: Case, *, dtype: DType, factory: Callable[[Case], Call]) -> Call:
    return factory(pair(dtype, case.size))


def _core_batch(case: Case) -> Call:
    batch, style = np.stack([(case.content / 255).astype(np.float32)] * 32), rc.measure(case.style)
    return lambda: rc.match(batch, style)


def _torch_batch(case: Case) -> Call:
    torch = environment.load("torch")
    module = environment.load("recolorist.torch").ColorMatch(rc.StyleBank.build(case.style[None], split="train"), p=1.0)
    batch = torch.from_numpy(np.stack([(case.content / 255).astype(np.float32)] * 32)).permute(0, 3, 1, 2).contiguous()
    return lambda: module(batch)


def space_table(figures: Mapping[Key, float]) -> list[str]:
    """Return the cost of every space and method as lines of Markdown."""
    base = figures[BASE]
    lines = [f"RGB mean–std takes {base:.1f} µs; the table holds ratios to it.", "", f"| space | {' | '.join(METHODS)} |"]
    lines.append("|---" * (len(METHODS) + 1) + "|")
    lines += [f"| {space} | {' | '.join(_short(figures[space, m] / base) for m in METHODS)} |" for space in rc.SPACES]
    lab = figures["lab", "mean_std"]
    lines += ["", "| beside ours in lab, mean_std | its time ÷ ours |", "|---|---|"]
    return lines + [f"| {name} | {_short(figures['peer', name] / lab)} |" for name in STAINS if ("peer", name) in figures]


def goals(figures: Mapping[Key, float]) -> list[Goal]:
    """Hold the figures against the targets."""

    def worst(spaces: Sequence[str], method: str, below: Key = BASE) -> float | None:
        return max(figures[space, method] for space in spaces) / figures[below]

    def ratio(first: Key, second: Key) -> float | None:
        return figures[first] / figures[second] if first in figures and second in figures else None

    def growth(space: str, least: int) -> float | None:
        sizes = {64: f"mean_std {64}", 256: "mean_std", 1024: f"mean_std {1024}", 4096: f"mean_std {4096}"}
        each = [figures[space, name] / size**2 for size, name in sizes.items() if (space, name) in figures and size >= least]
        return max(each) / min(each) if len(each) > 1 else None

    lab, known = ("lab", "mean_std"), ("call", "match, style known")
    opencv = ("peer", next(iter(STAINS)))
    entries: list[tuple[str, float, bool, float | None]] = [
        ("linear spaces, mean_std", 2.5, True, worst(LINEAR, "mean_std")),
        ("covariance, rgb and linear spaces", 3, True, worst(("rgb", *LINEAR), "covariance")),
        ("other spaces, mean_std", 30, True, worst(OTHERS, "mean_std")),
        ("histogram, rgb", 6, True, ratio(("rgb", "histogram"), BASE)),
        ("histogram, other spaces", 100, True, worst((*LINEAR, *OTHERS), "histogram")),
        ("exact_histogram, rgb", 200, True, ratio(("rgb", "exact_histogram"), BASE)),
        ("exact_histogram, other spaces", 300, True, worst((*LINEAR, *OTHERS), "exact_histogram")),
        *((f"OpenCV's 8-bit Lab ÷ ours in {space}", 2, False, ratio(opencv, (space, "mean_std"))) for space in OTHERS),
        *((f"{name} ÷ ours in lab", 10, False, ratio(("peer", name), lab)) for name in STAINS if "Reinhard" in name),
        *((f"{name} ÷ our histogram, rgb", 4, False, ratio(("peer", name), ("rgb", "histogram"))) for name in HISTOGRAMS),
        ("apply(plan(measure)) ÷ match, style known", 1.4, True, ratio(("call", "apply(plan(measure))"), known)),
        ("audit(content, plan)", 3, True, ratio(("call", "audit(content, plan)"), BASE)),
        (
            "ColorMatch ÷ core, batch of 32 float32",
            1.3,
            True,
            ratio(("call", "ColorMatch, batch of 32 float32"), ("call", "core, batch of 32 float32")),
        ),
        *(
            (
                f"OpenCV ÷ ours at 64², {dtype}, style known",
                1,
                False,
                ratio(("peer", f"OpenCV 64 {dtype}, style known"), ("call", f"match 64 {dtype}, style known")),
            )
            for dtype in DTYPES
        ),
        *((f"time per pixel from 64² to 4096², {space}", 1.5, True, growth(space, 64)) for space in GROWN),
        *((f"time per pixel from 256² to 4096², {space}", 1.5, True, growth(space, 256)) for space in GROWN),
    ]
    return [Goal(*entry) for entry in entries]


def _memory_dtypes(method: str) -> tuple[str, ...]:
    """Return the types whose memory is measured: the methods that rank need it for their ranks, whatever the type."""
    return ("uint8", "float32") if method in AFFINE else ("uint8",)


def _memory_goal(method: str, peaks: Sequence[Peak]) -> Goal:
    worst = max(peaks, key=lambda peak: peak.beyond_output)
    return Goal(
        f"MiB beyond the output at {worst.size}², {method}, worst: {worst.call}, {worst.dtype}",
        MEMORY_LIMIT,
        True,
        worst.beyond_output / MIB,
    )


def goal_table(found: Sequence[Goal]) -> list[str]:
    """Return the targets as lines of Markdown; what is missed stands beside what is met."""
    lines = ["| target | limit | measured | |", "|---|---|---|---|"]
    for goal in found:
        state = {True: "met", False: "**missed**", None: "not measured"}[goal.is_met]
        value = "–" if goal.value is None else _short(goal.value)
        lines.append(f"| {goal.text} | {'≤' if goal.at_most else '≥'} {goal.limit:g} | {value} | {state} |")
    return lines


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
