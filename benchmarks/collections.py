"""Throughput of `bank build`, `audit` and `augment` on folders of JPEG files, beside loops that only decode (and encode).

`python -m benchmarks.collections FOLDER [FOLDER ...] [--jobs 2] [--rounds 7] [--images 256] [--repeat 4] [--out FILE]`

The contract is that of `README.md`, but for what files bring with them:

* Every round of an arm has a process of its own, which goes through the files once before it counts. Where a decoder's buffers
  happen to lie in memory changes its speed by a third (libjpeg-turbo writes past the cache if a row is aligned to 32 bytes), and
  stays so for the life of a process; each process therefore starts with another heap, by a variable of random length in its
  environment.
* Of the rounds the lower quartile counts: luck and neighbours on the machine only add.
* *CPU* is user and system time of one process that does everything, *wall* the time of `--jobs` processes with `--repeat` times
  as many files; they are started anew from a warm fork server, and that is part of it. What it takes to start that server, the
  first time, is printed beside it.
* The plain loop is `numpy.asarray(Image.open(path))`, followed by `Image.fromarray(pixels).save(path, quality=95, subsampling=0)`
  where it encodes: what `augment` writes. Loops that never make an array are timed as well.

Where files are slow to make, put TMPDIR on a file system in memory. Ctrl-C ends the rounds of a folder, and whole ones count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks import collections_report, environment, plain_loop

__all__ = ["main", "timed"]

OURS: Final = ("bank", "audit", "augment")
_CHILD: Final = "import sys; from benchmarks.collections import timed; print(timed(*sys.argv[1:]))"
_MOST_SHIFT: Final = 4096  # bytes that the heap of a process is moved by, at most


def main() -> None:
    """Run all arms on every folder, print the ratios, and keep them if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=256, help="at most so many files of each folder, evenly spread")
    parser.add_argument("--repeat", type=int, default=4, help="list every file so many times where several processes work")
    parser.add_argument("--allocator", choices=("steady", "default"), default="steady", help="see point 11 of the contract")
    parser.add_argument("--out", type=Path, help="write FILE.json and FILE.md")
    options = parser.parse_args()
    found = [_measured(folder, options) for folder in options.folders]
    result = collections_report.stamp() | {"allocator": options.allocator, "folders": found}
    page = collections_report.markdown(result)
    if options.out:
        options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        options.out.with_suffix(".md").write_text(page, encoding="utf-8")
    print(page)


def timed(arm: str, jobs: str, folder: str) -> str:
    """What one process finds: CPU seconds alone, wall seconds with others, and how much longer the first start of those took."""
    few, many = (_arm(arm, Path(folder) / name, int(n)) for name, n in (("few", "1"), ("many", jobs)))
    _, cpu = (_seconds(few, time.process_time, folder) for _ in range(2))
    first, wall = (_seconds(many, time.perf_counter, folder) for _ in range(2))
    return json.dumps({"cpu": round(cpu, 5), "wall": round(wall, 5), "start": round(first - wall, 5)})


def _seconds(work: Callable[[Path], object], clock: Callable[[], float], folder: str) -> float:
    out = Path(folder) / "out"
    shutil.rmtree(out, ignore_errors=True)
    start = clock()
    work(out)
    return clock() - start


def _arm(name: str, source: Path, jobs: int) -> Callable[[Path], object]:
    if name in plain_loop.LOOPS:
        return lambda out: plain_loop.run(name, source, out, jobs)
    from recolorist import StyleBank
    from recolorist import collections as batch  # a plain loop has none of it in its processes

    where, styles = batch.Where(jobs=jobs), StyleBank.open(source.with_name("styles.rcb"))
    works: dict[str, Callable[[Path], object]] = {
        "bank": lambda _: batch.build_bank(source, where=where),
        "audit": lambda _: batch.audit(source, styles, where=where),
        "augment": lambda out: batch.augment(source, out, styles, where=where),
    }
    return works[name]


def _measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        count = _copied(folder, Path(scratch) / "few", options.images, 1)
        _copied(folder, Path(scratch) / "many", options.images, options.repeat)
        _bank_of(Path(scratch) / "few")
        arms = [*plain_loop.LOOPS, *OURS]
        rounds: list[dict[str, dict[str, float]]] = []
        with contextlib.suppress(KeyboardInterrupt):  # what is whole by then counts
            for _ in range(options.rounds):
                order = random.sample(arms, len(arms))
                rounds.append({arm: _in_a_process(arm, options.jobs, scratch, options.allocator) for arm in order})
    facts = {"folder": folder.name, "images": count, "repeat": options.repeat, "jobs": options.jobs, "rounds": len(rounds)}
    return facts | {clock: {arm: [one[arm][clock] for one in rounds] for arm in arms} for clock in ("cpu", "wall", "start")}


def _in_a_process(arm: str, jobs: int, folder: str, allocator: str) -> dict[str, float]:
    shift = {"BENCHMARK_SHIFT": "x" * random.randrange(_MOST_SHIFT)}
    kept = allocator == "steady"
    settings = {name: value for name, value in environment.START_SETTINGS.items() if kept or not name.startswith("MALLOC")}
    command = [sys.executable, "-c", _CHILD, arm, str(jobs), folder]
    done = subprocess.run(
        command, env=os.environ | settings | shift, cwd=environment.ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _copied(folder: Path, source: Path, most: int, repeat: int) -> int:
    """JPEG files of a folder, evenly chosen, side by side and so often as asked; returns how many were chosen."""
    source.mkdir()
    files = sorted(folder.rglob("*.jpg"))
    chosen = [files[i * len(files) // min(most, len(files))] for i in range(min(most, len(files)))]
    for number in range(repeat):
        for i, path in enumerate(chosen):
            shutil.copy(path, source / f"{number}-{i:06d}.jpg")
    return len(chosen)


def _bank_of(source: Path) -> None:
    from recolorist import collections as batch

    batch.build_bank(source, split="train").bank.save(source.with_name("styles.rcb"))


if __name__ == "__main__":
    main()
