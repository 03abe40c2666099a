"""False alarms and power of the two drift tests on real images, beside textbook tests on the same nine features.

The bank is a random half of a set's patients (slides, images); the group is drawn from the other half, unchanged or changed. The
features of every trial are also written to `drift_features.npz` in the temporary folder, for `drift_peers.py`, which runs in an
environment of its own.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import f as f_distribution
from scipy.stats import ks_2samp

from benchmarks.claims.halves import halves
from benchmarks.claims.images import ImageSet, Pixels, load_set, run
from recolorist.bank import shift
from recolorist.bank.drift import group_of, region_of
from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank

__all__ = ["CHANGES", "SETS", "hotelling", "kolmogorov", "measure", "measured"]

Array = NDArray[np.float64]
SETS: Final = ("acevedo20", "DeepDRiD", "BreakHis")
SIZES: Final = (20, 200)
TRIALS: Final = 30
NULL_TRIALS: Final = 100
ALPHA: Final = 0.001


def measure(folder: Path) -> dict[str, Any]:
    """Return rates of alarms by set, change, size and test, and those of small banks."""
    rows, small = [], []
    kept: dict[str, Any] = {}
    other = load_set(folder, "IDRiD").bank(with_blank=True)
    for name in SETS:
        images = load_set(folder, name)
        versions = {change: measured(images, function) for change, function in CHANGES.items()}
        if name == "DeepDRiD":
            versions["another clinic (IDRiD)"] = other
        for change, bank in versions.items():
            kept[f"{name}|{change}"] = style_features(bank.mean, bank.cov)
        kept[f"{name}|units"] = images.units
        rows += _tests(name, images.units, versions)
        small += _small_banks(name, images.units, versions["none"])
    np.savez(Path(tempfile.gettempdir()) / "drift_features.npz", **kept)
    return {
        "alpha": ALPHA,
        "resamples": shift.RESAMPLES,
        "trials": TRIALS,
        "null_trials": NULL_TRIALS,
        "power": rows,
        "small_banks": small,
    }


def _jpeg(image: Pixels) -> Pixels:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=20)
    return np.asarray(Image.open(file))


def _scaled(*factors: float) -> Callable[[Pixels], Pixels]:
    return lambda image: np.clip(np.rint(image * np.array(factors)), 0, 255).astype(np.uint8)


CHANGES: Final[dict[str, Callable[[Pixels], Pixels]]] = {
    "none": lambda image: image,
    "JPEG quality 20": _jpeg,
    "brightness + 3 %": _scaled(1.03, 1.03, 1.03),
    "white balance ± 5 %": _scaled(1.05, 1.0, 0.95),
}


def measured(images: ImageSet, change: Callable[[Pixels], Pixels]) -> StyleBank:
    """Measure all images of a set after a change."""
    return StyleBank.build(
        [change(image) for image in images.images], keys=[str(i) for i in range(len(images.images))], with_blank=True
    )


def _tests(name: str, units: NDArray[np.str_], versions: dict[str, StyleBank]) -> list[dict[str, Any]]:
    rows = []
    for change, new in versions.items():
        for size in SIZES:
            alarms: dict[str, list[bool]] = {}
            shifts = []
            for seed in range(NULL_TRIALS if change == "none" else TRIALS):
                first, second = halves(units, seed)
                if len(new) != len(units):  # another set
                    second = np.random.default_rng(seed).permutation(len(new))
                    group_units = None
                else:
                    group_units = units[second[:size]]
                group = second[:size]
                bank = versions["none"].subset(rows=first)
                found = group_of("", region_of(bank, units=units[first]), new.mean[group], new.cov[group], group_units, ALPHA)
                features = style_features(bank.mean, bank.cov), style_features(new.mean[group], new.cov[group])
                shifts.append(found.shift.size)
                for test, alarm in (
                    ("images outside", found.has_images_outside),
                    ("group shifted", found.is_shifted),
                    ("Hotelling T²", hotelling(*features) < ALPHA),
                    ("Kolmogorov-Smirnov, Bonferroni", kolmogorov(*features) < ALPHA),
                ):
                    alarms.setdefault(test, []).append(bool(alarm))
            rates = {test: round(float(np.mean(each)), 4) for test, each in alarms.items()}
            rows.append(
                {"set": name, "change": change, "images": len(group), "shift_sds": round(float(np.median(shifts)), 2), **rates}
            )
            print(rows[-1], flush=True)
    return rows


def hotelling(bank: Array, group: Array) -> float:
    """Return the probability of Hotelling's two-sample test; images are taken to be independent."""
    n, m, p = len(bank), len(group), bank.shape[1]
    pooled = ((n - 1) * np.cov(bank.T) + (m - 1) * np.cov(group.T)) / (n + m - 2)
    away = group.mean(axis=0) - bank.mean(axis=0)
    value = n * m / (n + m) * float(away @ np.linalg.pinv(pooled) @ away)
    return float(f_distribution.sf(value * (n + m - p - 1) / (p * (n + m - 2)), p, n + m - p - 1))


def kolmogorov(bank: Array, group: Array) -> float:
    """Return the smallest probability of a Kolmogorov-Smirnov test of each feature, times their number."""
    chances = [ks_2samp(bank[:, i], group[:, i], method="asymp").pvalue for i in range(bank.shape[1])]
    return float(min(chances) * len(chances))


def _small_banks(name: str, units: NDArray[np.str_], bank: StyleBank) -> list[dict[str, Any]]:
    """Count images of the other half outside the region of small banks, and groups of 200 that are called drifted by them."""
    rows = []
    for size in (30, 60, 99, 200):
        shares, drifted = [], []
        for seed in range(30):
            first, second = halves(units, seed)
            chosen = np.random.default_rng(seed).permutation(first)[:size]
            region = region_of(bank.subset(rows=chosen), units=units[chosen])
            group = group_of("", region, bank.mean[second[:200]], bank.cov[second[:200]], units[second[:200]])
            shares.append(group.share)
            drifted.append((group.has_images_outside, group.is_shifted))
        outside, shifted = np.mean(drifted, axis=0).round(4).tolist()
        share = round(float(np.mean(shares)), 4)
        rows.append({"set": name, "bank": size, "share_outside": share, "images outside": outside, "group shifted": shifted})
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    run(measure, "drift")
