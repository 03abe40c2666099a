"""Compare the Reinhard normalisers of other packages with `match(space="lab")`: `python -m benchmarks.claims.reinhard FOLDER`.

Pairs of BreakHis tiles, each matched by every package, and one flat tile. Packages that cannot be imported are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import recolorist
from benchmarks.cases import Case
from benchmarks.claims.images import Pixels, load_set, run
from benchmarks.environment import load
from benchmarks.stains import STAINS

__all__ = ["measure"]

_PAIRS: Final = 24
_SIDE: Final = 224


def _staintools_all_pixels(case: Case) -> Callable[[], Any]:
    """torch-staintools without its tissue mask, which is on by default."""
    torch = load("torch")
    normalizer = load("torch_staintools.normalizer").NormalizerBuilder.build("reinhard", luminosity_threshold=None)
    content, style = (torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255 for image in (case.content, case.style))
    normalizer.fit(style)
    return lambda: normalizer(content)


_PACKAGES: Final[dict[str, Callable[[Case], Callable[[], Any]]]] = {
    **{name: STAINS[name] for name in STAINS if "Reinhard" in name and "HistomicsTK" not in name},
    "torch-staintools Reinhard, all pixels": _staintools_all_pixels,
}


def measure(folder: Path) -> dict[str, Any]:
    """Compare every package with the library."""
    images = load_set(folder, "BreakHis", _SIDE).images
    chosen = [images[row].copy() for row in np.linspace(0, len(images) - 1, 2 * _PAIRS).astype(int)]
    pairs = [Case("uint8", _SIDE, chosen[row], chosen[row + _PAIRS]) for row in range(_PAIRS)]
    ours = [recolorist.match(pair.content, pair.style, space="lab") for pair in pairs]
    return {
        "pairs": _PAIRS,
        "side": _SIDE,
        "packages": {name: _compare(package, pairs, ours) for name, package in _PACKAGES.items()},
    }


def _compare(package: Callable[[Case], Callable[[], Any]], pairs: list[Case], ours: list[Pixels]) -> dict[str, Any]:
    try:
        outputs = [_levels(package(pair)()) for pair in pairs]
    except ImportError as error:
        return {"missing": str(error)}
    differences = [np.abs(output - match) for output, match in zip(outputs, ours, strict=True)]
    return {
        "mean_difference": float(np.mean(differences)),
        "mean_offset": float(np.mean([np.mean(output - match) for output, match in zip(outputs, ours, strict=True)])),
        "largest_mean_of_a_pair": float(np.max([difference.mean() for difference in differences])),
        "flat": _flat(package, pairs[0].style),
    }


def _flat(package: Callable[[Case], Callable[[], Any]], style: Pixels) -> str:
    content = np.full_like(style, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            output = _levels(package(Case("uint8", _SIDE, content, style))())
        except ZeroDivisionError as error:
            return repr(error)
    return " ".join(f"{value:.1f}" for value in output.mean((0, 1)))


def _levels(output: Any) -> Any:
    """Return an output as levels of 255, (H, W, 3)."""
    array = np.asarray(output)
    if array.ndim == 4:  # torch-staintools: a batch of floats in 0 to 1
        array = array[0].transpose(1, 2, 0) * 255
    return array.astype(np.float64)


if __name__ == "__main__":
    run(measure, "reinhard")
