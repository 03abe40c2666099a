"""The result file as Markdown: verdicts first, then losses, then every figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from benchmarks.arms import MEMCPY, PUBLIC_CALL

__all__ = ["losses", "markdown", "state"]

_REFERENCE_SIZE: Final = 256
_STATES: Final = {True: "met", False: "**missed**", None: "not measured"}
Plain = Mapping[str, Any]


def state(verdict: Plain) -> str:
    """Name a verdict's outcome."""
    return _STATES[verdict["met"]]


def markdown(plain: Plain) -> str:
    """Return the whole report of a result file."""
    parts = [_head(plain), "## Targets", _verdicts(plain), "## Where we lose", _losses(plain)]
    for dtype in plain["settings"]["dtypes"]:
        parts += [f"## {dtype}: µs per image", _times(plain, dtype)]
    parts += ["## Skipped", _skipped(plain), "## Memory", _memory(plain), "## Arms", _arms(plain)]
    return "\n\n".join(parts) + "\n"


def losses(plain: Plain) -> list[tuple[str, str, int, float]]:
    """Return each place where somebody else's arm is faster than our public call, with the ratio; yardsticks are not compared."""
    groups = {arm["name"]: arm["group"] for arm in plain["arms"]}
    ours = _medians(plain, PUBLIC_CALL)
    found = []
    for row in plain["results"]:
        mine = ours.get((row["dtype"], row["size"]))
        is_other = groups[row["arm"]] != "yardstick" and not groups[row["arm"]].startswith("ours")
        if is_other and mine is not None and row["cpu_us"][1] < mine:
            found.append((row["arm"], row["dtype"], row["size"], row["cpu_us"][1] / mine))
    return found


def _head(plain: Plain) -> str:
    settings = plain["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in plain["versions"].items())
    quick = " **Quick run: too short to quote.**" if settings["quick"] else ""
    return (
        f"# Benchmark of {plain['date']}\n\n"
        f"{plain['cpu']} ({plain['simd']}), {plain['system']}, commit {plain['commit']}, {plain['kernel']} kernel.{quick} "
        f"Medians of thread CPU time; one thread{', one core' if settings['pinned'] else ', not pinned'}; "
        f"wall time over CPU time {plain['wall_over_cpu']:.2f} (median over all figures; near 1 means a quiet machine). "
        f"The rules are in `benchmarks/README.md`.\n\n{versions}."
    )


def _verdicts(plain: Plain) -> str:
    rows = [
        (v["target"], v["limit"], "–" if v["value"] is None else _short(v["value"]), state(v), v["detail"])
        for v in plain["verdicts"]
    ]
    return _table(("target", "limit", "measured", "", "note"), rows)


def _losses(plain: Plain) -> str:
    found = losses(plain)
    missed = [v["target"] for v in plain["verdicts"] if v["met"] is False]
    lines = [f"- {arm}, {dtype}, {size}²: {ratio:.2f} × our time" for arm, dtype, size, ratio in found]
    lines += [f"- target missed: {target}" for target in missed]
    return "\n".join(lines) or "Nowhere in this run."


def _times(plain: Plain, dtype: str) -> str:
    sizes = plain["settings"]["sizes"]
    at = _REFERENCE_SIZE if _REFERENCE_SIZE in sizes else sizes[-1]
    heads = ("arm", *map(str, sizes), f"IQR at {at}", "× memcpy", "× ours", "mean error", "bytes off")
    rows: list[Sequence[str]] = []
    group = ""
    for arm in plain["arms"]:
        found = {row["size"]: row for row in plain["results"] if (row["arm"], row["dtype"]) == (arm["name"], dtype)}
        if not found:
            continue
        if arm["group"] != group:
            group = arm["group"]
            rows.append((f"**{group}**", *[""] * (len(heads) - 1)))
        times = [_short(found[size]["cpu_us"][1]) if size in found else "–" for size in sizes]
        rows.append((arm["name"], *times, *_details(plain, found.get(at), dtype, at)))
    return _table(heads, rows) + (
        f"\n\nRatios, mean error and bytes are those at {at}². Mean error: worst channel of output mean minus style mean, in"
        " levels of 255 (clipping alone moves it a little). Bytes off: share of values that differ from the formula in float64."
    )


def _details(plain: Plain, row: Plain | None, dtype: str, at: int) -> tuple[str, ...]:
    if row is None:
        return ("–",) * 5
    low, median, high = row["cpu_us"]
    ratios = [_medians(plain, name).get((dtype, at)) for name in (MEMCPY, PUBLIC_CALL)]
    error, off = row["mean_error"], row["different_bytes"]
    return (
        f"{_short(low)}–{_short(high)}",
        *(_short(median / base) if base else "–" for base in ratios),
        "–" if error is None else f"{error:.2f}",
        "–" if off is None else ("none" if off == 0 else f"{off:.2%}"),
    )


def _skipped(plain: Plain) -> str:
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in plain["skipped"]:
        reasons.setdefault((row["arm"], row["reason"]), []).append(f"{row['dtype']} {row['size']}")
    if not reasons:
        return "Nothing."
    return "\n".join(f"- {arm} ({', '.join(places)}): {reason}" for (arm, reason), places in reasons.items())


def _memory(plain: Plain) -> str:
    rows = []
    for peak in plain["memory"]:
        resident = "–" if peak["resident"] is None else _mib(peak["resident"])
        rows.append(
            (
                peak["call"],
                peak["dtype"],
                f"{peak['size']}²",
                peak["kernel"],
                _mib(peak["output"]),
                _mib(peak["traced"]),
                resident,
            )
        )
    if not rows:
        return "Not measured in this run."
    return _table(("call", "dtype", "size", "kernel", "output, MiB", "traced peak, MiB", "resident peak, MiB"), rows)


def _arms(plain: Plain) -> str:
    rows = [(a["name"], a["package"], a["includes"], ", ".join(a["dtypes"]), f"{a['max_size']}²") for a in plain["arms"]]
    return _table(("arm", "package", "what is timed", "dtypes", "up to"), rows)


def _medians(plain: Plain, arm: str) -> dict[tuple[str, int], float]:
    return {(row["dtype"], row["size"]): row["cpu_us"][1] for row in plain["results"] if row["arm"] == arm}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _short(value: float) -> str:
    """Print three significant digits, and no more than the integer part of large numbers."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _mib(value: int) -> str:
    return f"{value / (1 << 20):.2f}"
