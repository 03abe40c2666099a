"""The targets, each computed from the figures of one run: met, missed, or not measured. None is ever left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.arms import ARMS, AUDIT, MEMCPY, PUBLIC_CALL, STYLE_IMAGE, THREE_STEPS
from benchmarks.memory import MIB, Peak

__all__ = ["TARGETS", "Figures", "Target", "Verdict", "judge", "judge_memory", "judge_same_bytes", "key"]

Key = tuple[str, str, int]
Figures = Mapping[Key, float]  # median CPU microseconds

FALLBACK: Final = "NumPy fallback: match, style known"
PLACE: Final = ("uint8", 256)


@dataclass(frozen=True)
class Verdict:
    """One target beside what was measured; `met` is None where something was not measured."""

    target: str
    limit: str
    value: float | None
    met: bool | None
    detail: str = ""


@dataclass(frozen=True)
class Target:
    """A number that must not exceed, or not fall below, a limit."""

    text: str
    sense: Literal["≤", "≥"]
    limit: float
    value: Callable[[Figures], float]
    unit: str = "×"


def key(arm: str, dtype: str = PLACE[0], size: int = PLACE[1]) -> Key:
    """Return where a figure stands; the targets speak of 256 × 256 × 3 uint8 unless they say otherwise."""
    return (arm, dtype, size)


def _fastest(figures: Figures, prefix: str) -> float:
    """Return the fastest arm whose name begins so: a target against "the best route" must not pick a slow one."""
    names = [arm.name for arm in ARMS if arm.name.startswith(prefix)]
    return min(figures[key(name)] for name in names if key(name) in figures)


def _ours(figures: Figures) -> float:
    return figures[key(PUBLIC_CALL)]


def _growth(figures: Figures) -> float:
    small, large = 224, 4096
    per_pixel = [figures[key(PUBLIC_CALL, size=size)] / size**2 for size in (small, large)]
    return per_pixel[1] / per_pixel[0]


def _beside_opencv(figures: Figures, dtype: str) -> float:
    names = ("OpenCV meanStdDev + transform, style known", PUBLIC_CALL)
    peer, ours = (figures[key(name, dtype, 64)] for name in names)
    return peer / ours


TARGETS: Final = (
    Target("public call, 256² uint8, style known, against memcpy", "≤", 12, lambda f: _ours(f) / f[key(MEMCPY)]),
    Target("faster than textbook NumPy, style known", "≥", 100, lambda f: f[key("NumPy float64, style known")] / _ours(f)),
    Target("faster than the best OpenCV route", "≥", 2.5, lambda f: _fastest(f, "OpenCV meanStdDev") / _ours(f)),
    Target("faster than colorist-aug, its fastest input", "≥", 30, lambda f: _fastest(f, "colorist-aug") / _ours(f)),
    Target("share of a Pillow JPEG decode", "≤", 12, lambda f: 100 * _ours(f) / f[key("JPEG decode, Pillow")], "%"),
    Target("growth of time per pixel, 224² to 4096²", "≤", 1.5, _growth),
    Target("measure, plan and apply by hand, against the public call", "≤", 1.4, lambda f: f[key(THREE_STEPS)] / _ours(f)),
    Target("audit by a known plan, against a match of two images", "≤", 3, lambda f: f[key(AUDIT)] / f[key(STYLE_IMAGE)]),
    Target("faster than OpenCV on 64² tiles, uint8", "≥", 1, lambda f: _beside_opencv(f, "uint8")),
    Target("faster than OpenCV on 64² tiles, float32", "≥", 1, lambda f: _beside_opencv(f, "float32")),
    Target("fallback without a compiled module, 256²", "≤", 1000, lambda f: f[key(FALLBACK)], "µs"),
)


def judge(figures: Figures) -> list[Verdict]:
    """Hold the figures against every target of the table."""
    return [_judge(target, figures) for target in TARGETS]


def _judge(target: Target, figures: Figures) -> Verdict:
    limit = f"{target.sense} {target.limit:g} {target.unit}"
    try:
        value = target.value(figures)
    except KeyError as error:
        return Verdict(target.text, limit, None, None, f"{error.args[0][0]} was not measured at that size")
    except ValueError:
        return Verdict(target.text, limit, None, None, "no arm of that peer was measured")
    met = value <= target.limit if target.sense == "≤" else value >= target.limit
    return Verdict(target.text, limit, value, met)


def judge_same_bytes(digests: Mapping[Key, str | None]) -> Verdict:
    """Compare the outputs of the NumPy fallback with those of the compiled kernels, wherever both ran on uint8."""
    text, limit = "fallback gives the same bytes", "0 sizes differ"
    pairs = [
        (digests.get(key(PUBLIC_CALL, place[1], place[2])), value, place)
        for place, value in digests.items()
        if place[0] == FALLBACK
    ]
    compared = [(mine, theirs, place[2]) for mine, theirs, place in pairs if mine and theirs and place[1] == "uint8"]
    if not compared:
        return Verdict(text, limit, None, None, "the compiled kernels and the fallback did not both run")
    different = [str(size) for mine, theirs, size in compared if mine != theirs]
    detail = f"different at {', '.join(different)}" if different else f"{len(compared)} sizes compared"
    return Verdict(text, limit, float(len(different)), not different, detail)


def judge_memory(peaks: Sequence[Peak]) -> list[Verdict]:
    """Hold the peak of each kernel, over all calls and dtypes, against the output plus 1 MiB."""
    found = []
    for kernel in sorted({peak.kernel for peak in peaks}):
        worst = max((peak for peak in peaks if peak.kernel == kernel), key=lambda peak: peak.beyond_output)
        value = worst.beyond_output / MIB
        detail = f"worst: {worst.call}, {worst.dtype}, {worst.size}²"
        found.append(Verdict(f"peak memory beyond the output, {kernel} kernel", "≤ 1 MiB", value, value <= 1, detail))
    return found or [Verdict("peak memory beyond the output", "≤ 1 MiB", None, None, "not measured in this run")]
