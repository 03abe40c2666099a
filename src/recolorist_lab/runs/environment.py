"""Where a result was made: versions, processor, graphics cards, commit. Recorded with it, and no part of its identity."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from recolorist.core import kernels
from recolorist_lab.runs.config import Json

__all__ = ["CHANGED", "LIBRARIES", "describe"]

#: Added to the name of a commit if the sources were changed since.
CHANGED: Final = "+changes"
_ROOT: Final = Path(__file__).resolve().parents[3]

#: The distributions whose version can change a result; a test compares them with what is imported.
LIBRARIES: Final = (
    "recolorist",
    "albumentations",
    "colorist-aug",
    "imagecodecs",
    "lightning-fabric",
    "lpips",
    "monai",
    "numpy",
    "opencv-python",
    "opencv-python-headless",
    "openslide-python",
    "pillow",
    "pyarrow",
    "pydicom",
    "ray",
    "safetensors",
    "scikit-image",
    "scikit-learn",
    "scipy",
    "tifffile",
    "timm",
    "torch",
    "torch-fidelity",
    "torchmetrics",
    "torchvision",
    "zarr",
)


def describe() -> dict[str, Json]:
    """Describe the environment of this process. It names no user, host or path.

    Returns:
        Commit, machine, versions of libraries, kernel and GPUs, ready for JSON.

    Example:
        >>> sorted(describe())
        ['commit', 'cores', 'cpu', 'gpus', 'kernel', 'platform', 'python', 'versions']
    """
    return {**_lasting(), "kernel": kernels.active(), "gpus": _gpus()}


@lru_cache
def _lasting() -> dict[str, Json]:
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "versions": {name: version for name in LIBRARIES if (version := _version(name))},
        "commit": _commit(),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def _gpus() -> list[Json]:
    """The cards torch uses, which a process that did not import it or did not start CUDA does not.

    Only asking whether there are any would start CUDA, and no process forked from this one, such as a cell, could use it then.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return []
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]


def _commit(root: Path = _ROOT) -> str | None:
    """The commit of the sources, marked if one of them differs from it or is not in it; None for an installed package."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    try:
        commit, changes = (_git(git, root, *words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "src")))
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}{CHANGED}" if changes else commit


def _git(git: str, root: Path, *words: str) -> str:
    command = [git, "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()  # noqa: S603 - our own words
