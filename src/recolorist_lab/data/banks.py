"""Style banks of a split: the library's own, with the dataset, its fingerprint and how the images were resized written in."""

from __future__ import annotations

from recolorist.bank import StyleBank
from recolorist_lab.data.loader import Samples


def style_bank(samples: Samples) -> StyleBank:
    """Measure every image of a split as a network would see it, without the borders of letterboxing.

    The bank carries the split, so `recolorist.Colorist` refuses any but the training one. Images with several labels or none get
    their class names joined.

    >>> from recolorist_lab.data.synthetic import Recipe, make
    >>> bank = style_bank(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
    >>> bank.split, len(bank), bank.name.partition("@")[0]
    ('train', 4, 'synthetic')
    """
    facts = samples.manifest.facts
    entries = [samples.manifest[int(row)] for row in samples.rows]
    size = "native size" if samples.size is None else f"{samples.resize} to {samples.size} pixels, bilinear"
    return StyleBank.build(
        (sample.picture for sample in samples),
        labels=["|".join(facts.classes[label] for label in entry.labels) for entry in entries],
        domains=[entry.domain for entry in entries],
        keys=[entry.key for entry in entries],
        name=f"{facts.dataset}@{samples.manifest.fingerprint()[:16]}",
        split=samples.split,
        preprocessing=size,
    )
