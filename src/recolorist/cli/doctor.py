"""`recolorist doctor`: what is installed, which loops are active, what the limits are, and whether they agree with each other."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
import sys
from typing import Any, Final

import typer

from recolorist.cli import common

__all__ = ["doctor"]

_NEEDED: Final = ("numpy", "pillow", "scikit-image", "tifffile", "typer", "rich")
_EXTRAS: Final = {
    "imagecodecs": "TIFF compressed with LZW or JPEG, PNG with 16-bit colour",
    "pydicom": "DICOM",
    "openslide-python": "whole slides",
    "zarr": "Zarr",
    "pyarrow": "Parquet manifests",
    "ray": "clusters",
    "torch": "tensors",
    "torchvision": "its transforms",
    "albumentations": "its transforms",
    "monai": "its transforms",
}


def doctor(*, as_json: common.Json = False) -> None:
    """Print what is installed, and test it on a small image."""
    facts = _examine()
    if as_json:
        common.echo(json.dumps(facts, indent=2))
    else:
        _print(facts)
    if not facts["self_test"]["passed"]:
        raise typer.Exit(1)


def _examine() -> dict[str, Any]:
    """Collect everything that the command prints."""
    from recolorist._version import __version__
    from recolorist.collections.run import usable_cores
    from recolorist.core import kernels
    from recolorist.io.images import FORMATS, MAX_PIXELS

    return {
        "recolorist": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "loops": kernels.active(),
        "cores": usable_cores(),
        "packages": {name: _version(name) for name in _NEEDED},
        "extras": {name: _version(name) for name in _EXTRAS},
        "formats": sorted(set(FORMATS.values())),
        "max_pixels": MAX_PIXELS,
        "gpu": _gpu(),
        "cache": None,
        "self_test": _self_test(),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _gpu() -> str | None:
    """Describe the GPU that torch finds, where torch is installed."""
    if _version("torch") is None:
        return None
    try:
        torch = importlib.import_module("torch")
        return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else None
    except (ImportError, RuntimeError, OSError):
        return None


def _self_test() -> dict[str, Any]:
    """Match a small image with the active loops and with their NumPy fallback; both must give the same bits."""
    import numpy as np

    import recolorist as rc
    from recolorist.core import kernels

    rng = np.random.default_rng(0)
    content, style = rng.integers(0, 256, (2, 61, 67, 3), dtype=np.uint8)
    matched = rc.match(content, style)
    with kernels.using("numpy"):
        fallback = rc.match(content, style)
    return {"passed": bool(np.array_equal(matched, fallback)), "what": "active loops and NumPy fallback give the same bits"}


def _print(facts: dict[str, Any]) -> None:
    loops = {"c": "compiled (C)", "numpy": "NumPy fallback: same bits, more slowly (was there a C compiler at installation?)"}
    common.echo(f"recolorist       {facts['recolorist']}, Python {facts['python']}")
    common.echo(f"hot loops        {loops[facts['loops']]}")
    common.echo(f"cores            {facts['cores']}")
    for name, version in facts["packages"].items():
        common.echo(f"{name:<16} {version or 'MISSING'}")
    for name, version in facts["extras"].items():
        common.echo(f"{name:<16} {version or 'not installed'} (for {_EXTRAS[name]})")
    common.echo(
        f"image limit      {facts['max_pixels']:,} pixels at once; larger TIFF, NPY, Zarr and slides go through in strips"
    )
    common.echo(f"GPU              {facts['gpu'] or 'none seen'}")
    common.echo("cache            none: nothing is kept outside the files you name")
    passed = facts["self_test"]["passed"]
    common.echo(f"self-test        {'passed' if passed else 'FAILED'}: {facts['self_test']['what']}")
    if not passed:
        common.echo("recolorist: the compiled loops give other results; set RECOLORIST_KERNEL=numpy and report this", err=True)
    sys.stdout.flush()
