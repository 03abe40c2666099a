"""The paper's table of datasets: sizes, imbalance and entropy, ours beside the paper's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from recolorist_lab.data.cards import SPLITS, Card
from recolorist_lab.data.manifest import Manifest

__all__ = ["Summary", "differences", "entropy", "imbalance", "summary"]


def imbalance(counts: Sequence[int]) -> float:
    """Divide the largest class by the smallest.

    Args:
        counts: Images of each class.

    Returns:
        The ratio; infinite if a class has no image.

    Example:
        >>> imbalance([30, 10, 20])
        3.0
    """
    return max(counts) / min(counts) if min(counts) else math.inf


def entropy(counts: Sequence[int]) -> float:
    """Return the Shannon entropy of the classes as a share of its largest value, the logarithm of their number.

    Args:
        counts: Images of each class.

    Returns:
        A number from 0 to 1.

    Example:
        >>> entropy([5, 5]), round(entropy([159, 49]), 4)
        (1.0, 0.7876)
    """
    total = sum(counts)
    if len(counts) < 2 or total == 0:
        return 0.0
    return -sum(count / total * math.log(count / total) for count in counts if count) / math.log(len(counts))


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table; ``paper`` is what is printed there, None for data that are not in it."""

    dataset: str
    classes: int
    sizes: tuple[int, int, int]
    ir: float
    entropy: float
    complete: bool
    paper: tuple[tuple[int, int, int], float, float] | None

    @property
    def agrees(self) -> bool | None:
        """Whether every printed digit equals the paper's and nothing differs from the card; None without a card."""
        return None if self.paper is None else self.complete and self.prints_alike

    @property
    def prints_alike(self) -> bool:
        """Whether sizes, imbalance and entropy equal the paper's, whatever else differs from the card."""
        if self.paper is None:
            return False
        sizes, ir, h = self.paper
        return self.sizes == sizes and abs(self.ir - ir) <= 0.005 + 1e-9 and abs(self.entropy - h) <= 0.00005 + 1e-9


def summary(manifest: Manifest, card: Card | None = None) -> Summary:
    """Summarise a manifest. IR and H are those of the training split, or of the first split where there is none.

    Args:
        manifest: The images.
        card: The dataset, where the paper has it.

    Returns:
        One line of the table.
    """
    sizes = manifest.sizes()
    counts = manifest.class_counts("train" if "train" in sizes else next(iter(sizes), "train"))
    paper = None
    if card is not None:
        want = card.expected
        paper = ((want.train, want.val, want.test), want.ir, want.entropy)
    three = (sizes.get("train", 0), sizes.get("val", 0), sizes.get("test", 0))
    facts = manifest.facts
    return Summary(facts.title, len(facts.classes), three, imbalance(counts), entropy(counts), facts.complete, paper)


def differences(manifest: Manifest, card: Card) -> tuple[str, ...]:
    """List how counts and sizes of images differ from the card.

    Args:
        manifest: The images.
        card: What they should be.

    Returns:
        Half a sentence for each difference; none if they agree.
    """
    faults = _size_differences(manifest, card)
    sizes = manifest.sizes()
    for split in SPLITS:
        have, want = sizes.get(split, 0), card.expected.sizes[split]
        if have != want:
            faults.append(f"{split} has {have:,} images instead of {want:,}")
        faults += _class_differences(manifest, card, split)
    line = summary(manifest, card)
    if not faults and not line.prints_alike:
        faults.append(
            f"IR is {line.ir:.2f} and H {line.entropy:.4f} instead of {card.expected.ir:.2f} and {card.expected.entropy:.4f}"
        )
    return tuple(faults)


def _size_differences(manifest: Manifest, card: Card) -> list[str]:
    """Compare the stored images with the side and the channels that the card gives, where it gives them."""
    if not card.pixels:
        return []
    shape_due = f"{card.pixels}x{card.pixels}x{3 if card.colour == 'RGB' else 1}"
    shapes = Counter(manifest.column("shape"))
    return [f"{count:,} images are {shape} instead of {shape_due}" for shape, count in shapes.items() if shape != shape_due]


def _class_differences(manifest: Manifest, card: Card, split: str) -> list[str]:
    want = card.expected.classes(split)
    if want is None:
        return []
    triples = zip(card.classes, manifest.class_counts(split), want, strict=True)
    return [f"{split} has {have:,} of {name!r} instead of {due:,}" for name, have, due in triples if have != due]
