"""The loader benchmark's record of machine and versions, its verdicts, and its Markdown."""

from __future__ import annotations

import datetime as dt
import os
import platform
from typing import Any

from benchmarks import environment
from recolorist.core import kernels

__all__ = ["markdown", "stamp", "verdicts"]


def stamp() -> dict[str, Any]:
    """When, where and with what."""
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": environment.commit(),
        "cpu": environment.cpu_name(),
        "simd": environment.simd_level(),
        "system": platform.platform(),
        "kernel": kernels.active(),
        "versions": environment.versions(),
        "load_average": list(os.getloadavg()),
        "command": "python -m benchmarks.loader",
    }


def verdicts(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What was hoped for, what was found, and whether that is enough."""
    pipelines = {row["arm"]: row for row in result["pipelines"]}
    batches = {row["arm"]: row for row in result["batches"]}
    rows = [
        _verdict("throughput with Colorist at p = 0.3, unfused", 0.95, 1 / _ratio(pipelines, "with recolorist.Colorist")),
        _verdict("the same by ColoristDataset, in batches", 0.95, 1 / _ratio(pipelines, "with recolorist.torch.ColoristDataset")),
        _verdict("throughput with Colorist, fused, to the usual pipeline without", 1.15, 1 / _ratio(pipelines, "with Colorist")),
        _verdict("ColorMatch on batches to the naive loop in torch", 20.0, _ratio(batches, "the formula in torch")),
    ]
    theirs = [row for name, row in pipelines.items() if "colorist-aug" in name]
    ours = next(row for name, row in pipelines.items() if name.startswith("with recolorist.Colorist"))
    if theirs:
        share = ours["added_us"] / theirs[0]["added_us"]
        rows.append(
            (
                "added time per sample as a share of colorist-aug's",
                f"{share:.3f}",
                "met" if share <= 0.1 else "missed (at most 0.1)",
            )
        )
    return rows


def markdown(result: dict[str, Any]) -> str:
    """The result as a page."""
    machine = f"{result['cpu']} ({result['simd']}), kernel {result['kernel']}, load average {result['load_average'][0]:.2f}"
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    method = f"Thread CPU time, medians over {result['rounds']} shuffled rounds; ratios and differences are of paired rounds."
    lines = [
        "# What a loader pays",
        "",
        f"{result['date']}, commit {result['commit']}, {machine}, `{result['command']}`.",
        f"Source: {result['source']}. {method} Versions: {versions}.",
        "",
        "| hoped for | found | verdict |",
        "|---|---|---|",
        *(f"| {what} | {found} | {verdict} |" for what, found, verdict in verdicts(result)),
    ]
    for section in ("pipelines", "adapters", "batches"):
        lines += [
            "",
            f"## {section}",
            "",
            "| arm | µs per sample | quartiles | time, first row = 1 | added µs |",
            "|---|---|---|---|---|",
        ]
        for row in result[section]:
            low, median, high = row["us_per_sample"]
            lines.append(
                f"| {row['arm']} | {median:.1f} | {low:.1f}–{high:.1f} | {row['time_ratio']:.2f} | {row['added_us']:+.1f} |"
            )
    return "\n".join(lines) + "\n"


def _ratio(rows: dict[str, Any], part: str) -> float:
    return float(next(row["time_ratio"] for name, row in rows.items() if part in name))


def _verdict(what: str, least: float, found: float) -> tuple[str, str, str]:
    return what, f"{found:.3g}", "met" if found >= least else f"missed (at least {least:g})"
