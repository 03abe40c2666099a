"""What is timed: an arm bound to its pair and to the kernels it is about, with its output checked once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.arms import Arm
from benchmarks.cases import Case, Pixels, levels
from benchmarks.measure import Sample, time_calls
from recolorist.core import kernels

__all__ = ["Bound", "Check", "check", "reason"]


class Check(NamedTuple):
    """Whether the output is what the arm promises; None where it promises nothing."""

    mean_error: float | None  # worst channel, in levels of 255, against the style's mean
    different_bytes: float | None  # share of values that differ from the formula in float64 (uint8, same formula only)
    digest: str | None  # of the output, to compare the kernels


class Bound:
    """An arm bound to its pair. The switch to the NumPy fallback stands outside the timed loop."""

    def __init__(self, arm: Arm, case: Case) -> None:
        if arm.group == "ours" and kernels.active() == "numpy":
            raise RuntimeError("no compiled kernels here; the rows of the NumPy fallback are what this installation runs")
        self.kernel: kernels.KernelName = "numpy" if arm.is_fallback else kernels.active()
        with kernels.using(self.kernel):
            self.call: Callable[[], object] = arm.factory(case)
            self.checked = check(arm, case, self.call)

    def time(self, calls: int) -> Sample:
        """Call `calls` times in a row."""
        with kernels.using(self.kernel):
            return time_calls(self.call, calls)


def check(arm: Arm, case: Case, call: Callable[[], object]) -> Check:
    """Call once and hold the output against the arm's promise."""
    output = call()
    if arm.promise == "none":
        return Check(None, None, None)
    pixels = _pixels(output)
    error = np.abs(pixels.mean((0, 1), dtype=np.float64) - case.style_mean).max() * levels(case.dtype)
    comparable = arm.promise == "formula" and case.dtype == "uint8" and pixels.shape == case.expected.shape
    different = float(np.mean(pixels != case.expected)) if comparable else None
    return Check(float(error), different, hashlib.sha256(pixels.tobytes()).hexdigest()[:16])


def _pixels(output: Any) -> Pixels:
    """Return any arm's output as an HWC array; tensors are CHW."""
    if hasattr(output, "permute"):
        output = output.permute(1, 2, 0)
    return np.asarray(output)


def reason(error: BaseException) -> str:
    """Say in one line why an arm was skipped, without the paths of the machine."""
    lines = str(error).strip().splitlines()
    text = re.sub(r"(?:/[\w.+-]+){2,}", "…", lines[0] if lines else "")
    return f"{type(error).__name__}: {text}"[:200]
