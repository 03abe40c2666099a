"""Daily use of the drift tests: false alarms a year, and days until a change is found, by rule and by images a day.

The bank is a random half of a set's patients (slides, images). A day is a random choice of whole patients of the other half, with
their images unchanged or changed. Every row is of several banks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.drift import CHANGES, SETS, measured
from benchmarks.claims.halves import halves
from benchmarks.claims.images import load_set, run
from recolorist.bank import shift
from recolorist.bank.drift import Group, Region, group_of, region_of
from recolorist.bank.style_bank import StyleBank

__all__ = ["measure"]

A_DAY: Final = (5, 20, 100)
BANKS: Final = 5
DAYS: Final = 73  # of each bank: a year together
SEARCHES: Final = 2
LONGEST: Final = 10
REFERENCE: Final = 1.0
LIMIT: Final = 3.0


def measure(folder: Path) -> dict[str, Any]:
    """Return alarms a year without a change, and days until an alarm with one."""
    quiet: list[dict[str, Any]] = []
    delays: list[dict[str, Any]] = []
    for name in SETS:
        images = load_set(folder, name)
        versions = {change: measured(images, function) for change, function in CHANGES.items()}
        for size in A_DAY:
            quiet.append({"set": name, "images_a_day": size, **_unchanged(images.units, versions["none"], size)})
            print(quiet[-1], flush=True)
            for change in list(versions)[1:]:
                found = _changed(images.units, versions["none"], versions[change], size)
                delays.append({"set": name, "change": change, "images_a_day": size, **found})
                print(delays[-1], flush=True)
    settings = {"banks": BANKS, "days": DAYS, "searches": BANKS * SEARCHES, "longest": LONGEST, "resamples": shift.RESAMPLES}
    return settings | {"reference": REFERENCE, "limit": LIMIT, "alarms_a_year": quiet, "delays": delays}


def _unchanged(units: NDArray[np.str_], usual: StyleBank, size: int) -> dict[str, int]:
    """Return alarms in a year of unchanged days, by rule."""
    counts: Counter[str] = Counter()
    for seed in range(BANKS):
        for rule, alarms in _alarms(_days(units, usual, usual, size, seed, DAYS), size).items():
            counts[rule] += int(alarms.sum())
    return dict(counts)


def _changed(units: NDArray[np.str_], usual: StyleBank, new: StyleBank, size: int) -> dict[str, float | None]:
    """Return the median number of days until an alarm, by rule; None if most searches end without one."""
    delays: dict[str, list[float]] = {}
    for seed in range(BANKS):
        groups = _days(units, usual, new, size, seed, SEARCHES * LONGEST)
        for start in range(0, len(groups), LONGEST):
            for rule, alarms in _alarms(groups[start : start + LONGEST], size).items():
                delays.setdefault(rule, []).append(float(alarms.argmax()) + 1 if alarms.any() else np.inf)
    medians = {rule: float(np.median(each)) for rule, each in delays.items()}
    return {rule: median if np.isfinite(median) else None for rule, median in medians.items()}


def _days(units: NDArray[np.str_], usual: StyleBank, new: StyleBank, size: int, seed: int, count: int) -> list[Group]:
    """Judge days that are drawn from the half which the bank was not built of."""
    first, second = halves(units, seed)
    region = region_of(usual.subset(rows=first), units=units[first])
    rng = np.random.default_rng([seed, size])
    return [_judge(region, new, units, _draw_day(rng, units, second, size)) for _ in range(count)]


def _judge(region: Region, bank: StyleBank, units: NDArray[np.str_], day: NDArray[np.intp]) -> Group:
    return group_of("", region, bank.mean[day], bank.cov[day], units[day])


def _draw_day(rng: np.random.Generator, units: NDArray[np.str_], rows: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Draw patients, with all their images, until the day is full."""
    place = {unit: number for number, unit in enumerate(rng.permutation(np.unique(units[rows])))}
    return rows[np.argsort([place[unit] for unit in units[rows]], kind="stable")][:size]


def _alarms(groups: list[Group], size: int) -> dict[str, NDArray[np.bool_]]:
    """Return on which days each rule alarms."""
    chances = np.array([group.shift.chance for group in groups])
    over = np.array([group.share > 0.05 for group in groups])
    tested = over & np.array([group.has_images_outside for group in groups]) & (size >= 20)
    twice = np.concatenate([[False], (chances[1:] < 0.01) & (chances[:-1] < 0.01)])
    return {
        "share outside > 5 %": over,
        "--fail-over 0.05": tested,
        "group shifted, 0.001": chances < 0.001,
        "group shifted, 0.01 on two days in a row": twice,
        "sum over days": cumulative_alarms(chances),
    }


def cumulative_alarms(chances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the days on which a one-sided CUSUM of normal scores reaches its limit; it then begins again."""
    total, alarms = 0.0, []
    for chance in chances:
        total = max(0.0, total - NormalDist().inv_cdf(min(float(chance), 0.9999)) - REFERENCE)
        alarms.append(total >= LIMIT)
        total = 0.0 if alarms[-1] else total
    return np.array(alarms)


if __name__ == "__main__":
    run(measure, "drift_days")
