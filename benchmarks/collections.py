"""Throughput of `bank build`, `audit` and `augment` on folders of JPEG files, beside a loop that only decodes (and encodes).

`python -m benchmarks.collections FOLDER [FOLDER ...] [--jobs 2] [--rounds 5] [--repeat 2]`

The contract is that of `README.md`: all arms in one run, shuffled rounds, medians, ratios only. The plain loop uses Pillow as
anyone would, in as many processes, started the same way and fed in the same chunks; starting them is part of every arm. Encoding
writes JPEG of the same quality and sampling. `--repeat` lists every file so many times, so that starting up weighs less. The CPU
ratio is of one process that does everything: on a busy machine it is the steadier figure, and where files are slow to make, put
TMPDIR on a file system in memory.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from benchmarks import environment
from recolorist import StyleBank, batch

__all__ = ["main"]

TARGETS: Final = {"bank": ("decode", 0.9), "audit": ("decode", 0.9), "augment": ("decode and encode", 0.85)}
_CHUNK: Final = 32
Arm = Callable[[Path, Path], object]


def main() -> None:
    """Run all arms on every folder and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    found = [_measured(folder, options.jobs, options.rounds, options.repeat) for folder in options.folders]
    print(json.dumps({"cpu": environment.cpu_name(), "versions": environment.versions(), "folders": found}, indent=2))
    for one in found:
        _print(one)


def _measured(folder: Path, jobs: int, rounds: int, repeat: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        count = _copied(folder, source, repeat)
        styles = batch.build_bank(source, split="train").bank
        wall = _medians(_arms(styles, jobs), rounds, source, Path(scratch) / "out", time.perf_counter)
        cpu = _medians(_arms(styles, 1), rounds, source, Path(scratch) / "out", time.process_time)
    return {
        "folder": folder.name,
        "images": count,
        "jobs": jobs,
        "images_per_second": {name: round(count / seconds, 1) for name, seconds in wall.items()},
        "wall_ratio": {name: round(wall[yard] / wall[name], 3) for name, (yard, _) in TARGETS.items()},
        "cpu_ratio": {name: round(cpu[yard] / cpu[name], 3) for name, (yard, _) in TARGETS.items()},
        "target": {name: least for name, (_, least) in TARGETS.items()},
    }


def _arms(styles: StyleBank, jobs: int) -> dict[str, Arm]:
    where = batch.Where(jobs=jobs)
    return {
        "decode": lambda source, _: _plain(_decode, source, jobs),
        "decode and encode": lambda source, out: _plain(_recode, source, jobs, out),
        "bank": lambda source, _: batch.build_bank(source, where=where),
        "audit": lambda source, _: batch.audit(source, styles, where=where),
        "augment": lambda source, out: batch.augment(source, out, styles, where=where),
    }


def _plain(work: Callable[[tuple[str, str]], int], source: Path, jobs: int, out: Path | None = None) -> int:
    """List, decode, forget (or encode): what no tool that reads images can do without."""
    names = sorted(path.name for path in source.iterdir())
    pairs = [(str(source / name), str(out / name) if out else "") for name in names]
    if out:
        out.mkdir()
    if jobs == 1:
        return sum(map(work, pairs))
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        return sum(pool.imap_unordered(work, pairs, _CHUNK))


def _decode(pair: tuple[str, str]) -> int:
    return np.asarray(Image.open(pair[0])).size


def _recode(pair: tuple[str, str]) -> int:
    pixels = np.asarray(Image.open(pair[0]))
    Image.fromarray(pixels).save(pair[1], quality=95, subsampling=0)
    return pixels.size


def _medians(arms: dict[str, Arm], rounds: int, source: Path, out: Path, clock: Callable[[], float]) -> dict[str, float]:
    """Seconds of every arm; the first round warms up and does not count."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds + 1):
        for name in random.sample(list(arms), len(arms)):
            start = clock()
            arms[name](source, out)
            times[name].append(clock() - start)
            shutil.rmtree(out, ignore_errors=True)
    return {name: statistics.median(several[1:]) for name, several in times.items()}


def _copied(folder: Path, source: Path, repeat: int) -> int:
    """The folder's JPEG files side by side, so often as asked."""
    source.mkdir()
    files: Sequence[Path] = sorted(folder.rglob("*.jpg"))
    for number in range(repeat):
        for i, path in enumerate(files):
            shutil.copy(path, source / f"{number}-{i:06d}.jpg")
    return repeat * len(files)


def _print(found: dict[str, object]) -> None:
    wall, cpu, target = (found[name] for name in ("wall_ratio", "cpu_ratio", "target"))
    print(f"\n{found['folder']}: {found['images']} images, {found['jobs']} processes")
    for name in TARGETS:
        print(f"  {name:8} wall {wall[name]:.2f}  CPU {cpu[name]:.2f}  target {target[name]:.2f}")  # type: ignore[index]


if __name__ == "__main__":
    main()
