"""How often samplers draw a mean or variance that no image can have, what such styles clip, and the gap that `gaussian` fills.

The cap at m (1 - m) is switched off for the row "as drawn", which is what the samplers did without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import recolorist as rc
from benchmarks.claims.images import ImageSet, load_set, run
from recolorist.augment import new_styles
from recolorist.augment.samplers import SAMPLERS, Content
from recolorist.augment.streams import stream
from recolorist.bank.drift import region_of
from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.core.moments import Moments
from recolorist.core.style_change import StyleChange

__all__ = ["measure"]

DRAWS: Final = 1000
PAIRS: Final = 120
SHOWN: Final = ("gaussian", "extrapolate", "beyond", "own_style")
NAMES: Final = ("acevedo20", "tecom", "DeepDRiD", "IDRiD", "BreakHis")


def measure(folder: Path) -> dict[str, Any]:
    """Return rates of capped draws and clipped values, and how many draws of a bank of two laboratories lie between them."""
    sets = {name: load_set(folder, name) for name in NAMES}
    rows = [row for images in sets.values() for name in SHOWN for row in [_caps(images, name)]]
    return {"draws": DRAWS, "pairs": PAIRS, "caps": rows, "gap": _gap(sets["acevedo20"], sets["tecom"])}


def _caps(images: ImageSet, name: str) -> dict[str, Any]:
    bank = images.bank()
    contents = [rc.measure(image).rescaled(1.0) for image in images.images]
    drawn = [_drawn(bank, name, place, contents[place % len(contents)]) for place in range(DRAWS)]
    capped = [place for place in range(DRAWS) if drawn[place].is_capped]
    clipped: dict[str, list[float]] = {
        "clipped": [],
        "clipped_as_drawn": [],
        "clipped_capped_draws": [],
        "clipped_capped_as_drawn": [],
    }
    for number in range(PAIRS):
        for key, place in (("clipped", number), ("clipped_capped_draws", capped[number % len(capped)] if capped else None)):
            if place is not None:  # a change of an image's own style is capped for that image
                image = (place if name == "own_style" else number) % len(contents)
                pixels, content = images.images[image], contents[image]
                clipped[key].append(rc.audit(pixels, rc.plan(content, drawn[place].style)).clipped_overall)
                free = rc.plan(content, drawn[place].free)
                clipped[f"{key.replace('_draws', '')}_as_drawn"].append(rc.audit(pixels, free).clipped_overall)
    means = {key: round(float(np.mean(values)), 4) if values else None for key, values in clipped.items()}
    row = {"set": images.name, "sampler": name, "capped": round(len(capped) / DRAWS, 4), **means}
    print(row, flush=True)
    return row


class Drawn(NamedTuple):
    """A style for one image: as it is used, without the cap, and whether the two differ."""

    style: Moments
    free: Moments
    is_capped: bool


def _drawn(bank: StyleBank, name: str, place: int, content: Moments) -> Drawn:
    """Return the style of a draw; without the cap, variances stay below a quarter, as they did before it."""
    kept: list[tuple[Any, Any]] = []
    usual = new_styles._capped

    def keep(mean: Any, cov: Any, count: int, bank: StyleBank) -> tuple[Moments, bool]:
        kept.append((mean, cov))
        return usual(mean, cov, count, bank)

    try:
        new_styles._capped = keep
        style = SAMPLERS[name](bank, stream(0, 0, place), Content())
    finally:
        new_styles._capped = usual
    if isinstance(style.goal, StyleChange):
        changed = style.goal.change(content, 1.0, "mean_std")
        assert isinstance(changed.style, Moments)
        gains = style.goal.gains
        free = content.mean + style.goal.step, content.cov * np.multiply.outer(gains, gains)
        return Drawn(changed.style, _as_drawn(*free), changed.is_capped)
    return Drawn(style.moments, _as_drawn(*kept[0]), style.is_capped)


def _as_drawn(mean: Any, cov: Any) -> Moments:
    return Moments(1, np.clip(mean, 0, 1), (cov + cov.T) / 2 * min(1.0, 0.25 / float(cov.diagonal().max())), 1.0)


def _gap(first: ImageSet, second: ImageSet) -> dict[str, Any]:
    """Return the share of Gaussian draws that lie inside the region of neither laboratory, from one fit and from one for each."""
    banks = [first.bank(), second.bank()]
    regions = [region_of(bank) for bank in banks]

    def outside(styles: list[Any]) -> float:
        mean, cov = np.stack([s.moments.mean for s in styles]), np.stack([s.moments.cov for s in styles])
        inside = [region.distance(mean, cov) <= region.threshold for region in regions]
        return round(float(1 - np.logical_or(*inside).mean()), 4)

    both = banks[0].merge(banks[1].subset(rows=np.arange(len(banks[1]))))
    draw = SAMPLERS["gaussian"]
    single = [draw(both, stream(1, 0, i), Content()) for i in range(DRAWS)]
    each = [draw(banks[i % 2], stream(2, 0, i), Content()) for i in range(DRAWS)]
    features = style_features(both.mean, both.cov)
    row = {"banks": [first.name, second.name], "styles": len(features), "one fit": outside(single), "one for each": outside(each)}
    print(row, flush=True)
    return row


if __name__ == "__main__":
    run(measure, "samplers")
