"""Small costs with a limit of their own: the import, the help page, one synthetic tile. `python -m benchmarks.startup`.

Each is the best of several rounds, in processor time, so that a busy machine changes it little. The exit code is 1 where a limit
is passed. No test asserts on these figures; the tests check what is imported instead (`tests/test_import.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["CASES", "Case", "main"]

_TIMED: Final = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
_SHOW: Final = (
    "import time, contextlib, io, sys\nstart = time.process_time()\nsys.argv[1:] = ['--help']\n"
    "from recolorist.cli.main import main\n"
    "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main()\nprint(time.process_time() - start)"
)
_TILES: Final = 17


@dataclass(frozen=True)
class Case:
    """One cost: what it is, how it is timed, and how many seconds it may take."""

    name: str
    timed: Callable[[], float]
    limit: float


def _fresh(code: str) -> Callable[[], float]:
    """Time code by its own clock in a new interpreter."""
    return lambda: float(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))


def _tile() -> float:
    """Time one tile of a synthetic hospital, averaged over a few."""
    from recolorist_lab.data.synthetic import Recipe, tile

    tile(Recipe(), 0, 0)  # draws the background, which all tiles share
    start = time.process_time()
    for index in range(_TILES):
        tile(Recipe(), 0, index)
    return (time.process_time() - start) / _TILES


CASES: Final = (
    Case("import recolorist, NumPy included", _fresh(_TIMED.format("import recolorist")), 0.150),
    Case("import recolorist, after NumPy", _fresh("import numpy; " + _TIMED.format("import recolorist")), 0.050),
    Case("recolorist --help", _fresh(_SHOW), 1.0),
    Case("one synthetic tile of 64 pixels", _tile, 0.020),
)


def main(rounds: int = 5) -> int:
    """Print the best of some rounds of each case beside its limit; return the number of limits passed."""
    passed = 0
    for case in CASES:
        best = min(case.timed() for _ in range(rounds))
        passed += best > case.limit
        verdict = "met" if best <= case.limit else "missed"
        print(f"{case.name:36} {1e3 * best:8.1f} ms   limit {1e3 * case.limit:6.0f} ms   {verdict}")
    return passed


if __name__ == "__main__":
    sys.exit(min(1, main()))
