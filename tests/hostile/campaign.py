"""Fuzz the readers for a long time, with limits: `python -m tests.hostile.campaign --seconds 3600`.

Every kind of file gets its share of the time in a process of its own, with 1 GiB of memory beyond what it starts with and five
seconds for one file. A file that breaks a promise, exceeds a limit or ends the process is written to ``--keep``, so that it can
become a test.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.hostile.files import SEEDS, FaultError, mutate, seed_of, try_file

MEMORY = 1 << 30
SECONDS_A_FILE = 5


class _Late(BaseException):
    """A file takes too long. A reader would take an Exception for a fault of the file, and refuse it."""


def main() -> None:
    """Run the campaign, or one kind of it in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where faults are kept")
    parser.add_argument("--kinds", nargs="*", default=list(SEEDS))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.here:
        _tell(_fuzz(given))
        return
    tallies: list[dict[str, Any]] = []
    for kind in given.kinds:
        words = ["--here", "--kinds", kind, "--seconds", str(given.seconds / len(given.kinds)), "--seed", str(given.seed)]
        words += ["--keep", str(given.keep)]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tests.hostile.campaign", *words], capture_output=True, text=True, check=False
        )
        last = done.stdout.strip().splitlines()[-1:] or [""]
        tally = json.loads(last[0]) if last[0].startswith("{") else {"kind": kind, "tries": 0, "crashes": 1}
        tallies.append(tally)
        _tell(tally)
        sys.stderr.write(done.stderr[-4000:])  # what the faults were
    total = {name: sum(tally.get(name, 0) for tally in tallies) for name in ("tries", "read", "refused", "faults", "crashes")}
    _tell({"all": len(tallies), **total, "slowest_ms": max(tally.get("slowest_ms", 0) for tally in tallies)})
    sys.exit(bool(total["faults"] or total["crashes"]))


def _tell(tally: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(tally) + "\n")
    sys.stdout.flush()


def _limit() -> None:
    """Refuse memory beyond what is mapped now and `MEMORY`, and raise after `SECONDS_A_FILE`."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, resource.RLIM_INFINITY))

    def expire(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGALRM, expire)
    warnings.simplefilter("ignore")


def _try(kind: str, data: bytes, folder: Path) -> tuple[str, float]:
    start = time.perf_counter()
    signal.alarm(SECONDS_A_FILE)
    try:
        return try_file(kind, data, folder), time.perf_counter() - start
    except _Late:
        raise FaultError(f"it took more than {SECONDS_A_FILE} seconds") from None
    finally:
        signal.alarm(0)


def _fuzz(given: argparse.Namespace) -> dict[str, Any]:
    (kind,) = given.kinds
    outcomes: Counter[str] = Counter()
    slowest, number = 0.0, given.seed
    with tempfile.TemporaryDirectory() as name:
        try_file(kind, seed_of(kind), Path(name))  # imports what the reader needs, before memory is limited
        _limit()
        until = time.monotonic() + given.seconds
        while time.monotonic() < until:
            data = mutate(seed_of(kind), random.Random(f"{kind}{number}"))
            last = given.keep / f"last-{kind}".replace(" ", "-")
            last.write_bytes(data)  # stays if the process is killed by this file
            try:
                outcome, seconds = _try(kind, data, Path(name))
                slowest = max(slowest, seconds)
            except FaultError as fault:
                outcome = "faults"
                (given.keep / f"{kind}-{number}".replace(" ", "-")).write_bytes(data)
                sys.stderr.write(f"{kind} {number}: {fault}\n")
            outcomes[outcome] += 1
            number += 1
        last.unlink()
    return {"kind": kind, "tries": number - given.seed, **outcomes, "slowest_ms": round(1000 * slowest)}


if __name__ == "__main__":
    main()
