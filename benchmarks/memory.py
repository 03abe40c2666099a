"""Peak extra memory of the public calls, each in a fresh process.

Two figures, because each is blind somewhere: `tracemalloc` sees every NumPy buffer but not what C code asks the system for;
the growth of the resident peak sees everything but only in whole pages and only what was touched. The worse one counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import recolorist as rc
from benchmarks import ours
from benchmarks.cases import Case, DType, Pixels
from benchmarks.environment import ROOT
from recolorist.core import kernels

__all__ = ["CALLS", "Peak", "peaks", "space_peaks"]

MIB: Final = 1 << 20
_STATUS: Final = Path("/proc/self/status")


class Peak(NamedTuple):
    """Bytes above what existed before the call, the output included."""

    call: str
    dtype: str
    size: int
    kernel: str
    output: int
    traced: int
    resident: int | None

    @property
    def beyond_output(self) -> int:
        """The worse of both figures, less the output."""
        return max(self.traced, self.resident or 0) - self.output


CALLS: Final[dict[str, Callable[[Case], Callable[[], object]]]] = {
    "match, style known": ours.match_known,
    "match, style image": ours.match_pair,
    "match, YCbCr": ours.linear_space,
    "match, covariance": ours.covariance,
    "measure": ours.measure_only,
}
_SPACES: Final = {
    f"match, {space}, {method}": partial(ours.match_in, space=space, method=method)
    for method in rc.MATCHERS
    for space in rc.SPACES
}


def peaks(
    size: int = 2048, dtypes: tuple[str, ...] = ("uint8", "float32"), forced: tuple[str, ...] = ("", "numpy")
) -> list[Peak]:
    """Measure every call of `CALLS`; an empty kernel name means the one active by default."""
    return [_in_fresh_process(call, dtype, size, kernel) for kernel in forced for dtype in dtypes for call in CALLS]


def space_peaks(method: str, size: int = 2048, dtypes: tuple[str, ...] = ("uint8", "float32")) -> list[Peak]:
    """Measure one method with both images in every colour space, with the loops that are active by default."""
    calls = [f"match, {space}, {method}" for space in rc.SPACES]
    return [_in_fresh_process(call, dtype, size, "") for dtype in dtypes for call in calls]


def _in_fresh_process(call: str, dtype: str, size: int, kernel: str) -> Peak:
    # The steady-allocator settings of the timing runs are left out: memory is to be judged as users get it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    environment |= {"RECOLORIST_KERNEL": kernel} if kernel else {}
    command = [sys.executable, "-m", "benchmarks.memory", call, dtype, str(size)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"memory of {call} on {dtype} could not be measured: {done.stderr.strip().splitlines()[-1:]}")
    return Peak(*json.loads(done.stdout))


def _measure_here(call: str, dtype: DType, size: int) -> Peak:
    """Measure in this process, which must be a fresh one."""
    content, style = (_image(seed, dtype, size) for seed in (1, 2))
    factory = (CALLS | _SPACES)[call]
    factory(Case(dtype, 16, content[:16, :16], style[:16, :16]))()  # imports and first-use tables are not the call's
    run = factory(Case(dtype, size, content, style))
    resident = _resident_growth(run)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    output = run()
    traced = tracemalloc.get_traced_memory()[1] - before
    return Peak(call, dtype, size, kernels.active(), output.nbytes if isinstance(output, np.ndarray) else 0, traced, resident)


def _resident_growth(run: Callable[[], object]) -> int | None:
    """Return how far the resident peak rises above the present; None where the system does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # set the peak back to the present
        before = _status("VmRSS")
        output = run()
        after = _status("VmHWM")
    except OSError:
        return None
    del output
    return after - before


def _status(name: str) -> int:
    line = next(line for line in _STATUS.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _image(seed: int, dtype: str, size: int) -> Pixels:
    """Return bright noise: cheap to draw at any size, and the sums of squares are large."""
    values = np.random.default_rng(seed).integers(150, 256, (size, size, 3), dtype=np.uint8)
    return values if dtype == "uint8" else values.astype(np.float32) / np.float32(255)


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], "uint8" if sys.argv[2] == "uint8" else "float32", int(sys.argv[3]))))
