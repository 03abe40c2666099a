"""The conditions of a run: one thread, one core, a steady allocator, and a record of machine, versions and commit."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final, NoReturn

from recolorist._torchvision_ops import declare_missing_ops

# Read by the libraries (and, for MALLOC_*, by the C library) when the process starts: setting them later has no effect. The
# allocator settings keep freed buffers for the next call, which is where a long-running loader ends up anyway; without them the
# allocator flips between heap and fresh pages and medians move by tens of per cent between runs.
START_SETTINGS: Final = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 31),
    "MALLOC_ARENA_MAX": "1",
    "NO_ALBUMENTATIONS_UPDATE": "1",  # no network access from a benchmark
}
PACKAGES: Final = (
    "recolorist",
    "numpy",
    "pillow",
    "opencv-python-headless",
    "scikit-image",
    "albumentations",
    "albucore",
    "torch",
    "torchvision",
    "colorist-aug",
    "torchstain",
    "torch-staintools",
    "tiatoolbox",
    "histomicstk",
)
ROOT: Final = Path(__file__).resolve().parent.parent


def missing_settings() -> dict[str, str]:
    """Return the start settings that the present process was not started with."""
    return {name: value for name, value in START_SETTINGS.items() if os.environ.get(name) != value}


def restart_with_settings(module: str, arguments: list[str]) -> NoReturn:
    """Become `python -m module` once more, with the start settings; replaced and not nested, so that signals still arrive."""
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, **START_SETTINGS})  # noqa: S606


def load(name: str) -> ModuleType:
    """Import a peer held to one thread; the ImportError of an absent one is the reason its arm is skipped for."""
    if name.split(".", maxsplit=1)[0] in {"torchvision", "colorist", "torch_staintools", "tiatoolbox"}:
        declare_missing_ops()
    elif name == "albumentations":
        os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # importing it must not ask the network
    module = importlib.import_module(name)
    if name == "cv2":
        module.setNumThreads(1)
    elif name == "torch":
        module.set_num_threads(1)
    return module


@contextlib.contextmanager
def one_core() -> Iterator[bool]:
    """Pin the process to its last allowed core (the first one takes most interrupts); yield whether that was possible."""
    if not hasattr(os, "sched_setaffinity"):
        yield False
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)


def cpu_name() -> str:
    """Return the processor's name as the system tells it."""
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def simd_level() -> str:
    """Name the widest vector instructions the processor offers, as far as the system tells."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return next((name for name in ("avx512bw", "avx2", "asimd") if re.search(rf"\b{name}\b", flags)), "baseline")


def versions() -> dict[str, str]:
    """Return the version of every package that takes part; absent ones are named as such."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """Return the commit measured, with `+changes` when the source tree differs from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    return head + ("+changes" if _git("status", "--porcelain", "--", "src", "benchmarks/*.py") else "")


def _git(*arguments: str) -> str:
    """Run git quietly; an empty answer when there is no git or no repository."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
