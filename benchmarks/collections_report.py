"""The collections benchmark's record of machine and versions, its verdicts, and its Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final

from benchmarks import loader_report

__all__ = ["TARGETS", "markdown", "ratio", "stamp"]

#: What each arm is held against, and at least which share of its throughput is hoped for.
TARGETS: Final = {"bank": ("decode", 0.9), "audit": ("decode", 0.9), "augment": ("decode and encode", 0.85)}


def stamp() -> dict[str, Any]:
    """When, where and with what."""
    return loader_report.stamp() | {"command": "python -m benchmarks.collections"}


def quartile(seconds: Sequence[float]) -> float:
    """The lower quartile of the rounds; of one or two rounds the fastest.

    >>> quartile([5.0, 1.0, 2.0, 3.0, 4.0])
    2.0
    """
    return statistics.quantiles(seconds, n=4, method="inclusive")[0] if len(seconds) > 1 else seconds[0]


def ratio(seconds: dict[str, list[float]], arm: str, yardstick: str) -> float:
    """Throughput of an arm as a share of a loop's."""
    return quartile(seconds[yardstick]) / quartile(seconds[arm])


def markdown(result: dict[str, Any]) -> str:
    """The result as a page."""
    machine = f"{result['cpu']} ({result['simd']}), kernel {result['kernel']}, load average {result['load_average'][0]:.2f}"
    shown = {name: version for name, version in result["versions"].items() if name in ("python", "recolorist", "numpy", "pillow")}
    lines = [
        "# Collections beside a plain loop",
        "",
        f"{result['date']}, commit {result['commit']}, {machine}, `{result['command']}`, allocator {result['allocator']}.",
        "Lower quartiles over shuffled rounds, each in a process of its own.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in shown.items())}.",
    ]
    for found in result["folders"]:
        lines += _section(found)
    return "\n".join(lines) + "\n"


def _section(found: dict[str, Any]) -> list[str]:
    jobs = found["jobs"]
    lines = [
        "",
        f"## {found['folder']}",
        "",
        f"{found['images']} images, {found['repeat']} times as many for {jobs} processes, {found['rounds']} rounds.",
        "",
        f"| arm | share of | CPU, one process | wall, {jobs} processes | at least | verdict | without arrays: CPU, wall |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm, (yardstick, least) in TARGETS.items():
        cpu, wall = (ratio(found[clock], arm, yardstick) for clock in ("cpu", "wall"))
        bare = ", ".join(f"{ratio(found[clock], arm, f'{yardstick}, no array'):.2f}" for clock in ("cpu", "wall"))
        lines.append(f"| {arm} | {yardstick} | {cpu:.2f} | {wall:.2f} | {least:.2f} | {_verdict(cpu, wall, least)} | {bare} |")
    lines += [
        "",
        f"| arm | CPU µs an image, quartiles | images a second, {jobs} processes, quartiles | first start, seconds more |",
        "|---|---|---|---|",
    ]
    for arm, seconds in found["cpu"].items():
        micro = [f"{one / found['images'] * 1e6:.0f}" for one in _quartiles(seconds)]
        rate = [f"{found['images'] * found['repeat'] / one:.0f}" for one in reversed(_quartiles(found["wall"][arm]))]
        lines.append(f"| {arm} | {'–'.join(micro)} | {'–'.join(rate)} | {statistics.median(found['start'][arm]):.2f} |")
    return lines


def _quartiles(seconds: list[float]) -> list[float]:
    return statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3


def _verdict(cpu: float, wall: float, least: float) -> str:
    missed = [name for name, found in (("CPU", cpu), ("wall", wall)) if round(found, 2) < least]
    return f"missed by {' and '.join(missed)}" if missed else "met"
