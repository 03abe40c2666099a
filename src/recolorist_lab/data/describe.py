"""Cards and tables as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recolorist_lab.data.cards import SPLITS, Card, File, Source
from recolorist_lab.data.statistics import Summary

__all__ = ["describe_card", "stats_rows"]


def describe_card(card: Card) -> str:
    """Write a card as a page of text.

    Args:
        card: The card.

    Returns:
        Lines for people.

    Example:
        >>> from recolorist_lab.data.registry import card_of
        >>> print(describe_card(card_of("ddi")).splitlines()[0])
        DDI (ddi): binary, 2 classes, Dermatoscopy, RGB
    """
    kind = f"{card.task}, {len(card.classes)} {'labels' if card.multilabel else 'classes'}, {card.modality}, {card.colour}"
    want = card.expected
    lines = [f"{card.title} ({card.key}): {kind}"]
    lines += [f"  Images: train {want.train:,}, val {want.val:,}, test {want.test:,}"]
    lines += [f"  Training split: IR {want.ir:.2f}, H {want.entropy:.4f} ({want.status})"]
    lines += [f"  Splits: {card.split_rule}", f"  Domains: {', '.join(card.domains)}", "  Classes:"]
    lines += [f"    {line}" for line in _classes(card)]
    for source in card.sources:
        lines += _source(source)
    lines += [f"  Note: {note}" for note in card.notes]
    return "\n".join(lines)


def stats_rows(lines: Sequence[Summary]) -> list[list[str]]:
    """Lay out the paper's table of datasets: our values, and beside each what the paper prints.

    Args:
        lines: One summary for each dataset.

    Returns:
        Rows of cells, the head first.
    """
    rows = [["dataset", "classes", "train / val / test", "paper", "IR", "paper", "H", "paper", ""]]
    for line in lines:
        paper = ("", "", "") if line.paper is None else (_sizes(line.paper[0]), f"{line.paper[1]:.2f}", f"{line.paper[2]:.4f}")
        verdict = {None: "not in the paper", True: "agrees", False: "differs"}[line.agrees]
        ours = (_sizes(line.sizes), f"{line.ir:.2f}", f"{line.entropy:.4f}")
        beside = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
        rows.append([line.dataset, str(line.classes), *beside, verdict])
    return rows


def _sizes(sizes: tuple[int, int, int]) -> str:
    return " / ".join(f"{size:,}" for size in sizes)


def _classes(card: Card) -> Iterator[str]:
    counts = {split: numbers for split in SPLITS if (numbers := card.expected.classes(split)) is not None}
    for number, name in enumerate(card.classes):
        text = ", ".join(f"{split} {numbers[number]:,}" for split, numbers in counts.items())
        yield f"{number} {name}" + (f" ({text})" if text else "")


def _source(source: Source) -> list[str]:
    lines = [f"  Source {source.key}: {source.title}", f"    {source.page}  ({source.record})"]
    lines += [f"    Licence: {source.licence}. Access: {source.access}."]
    lines += [f"    File: {_file(file)}" for file in source.files]
    lines += [f"    To do: {step}" for step in source.request]
    lines += [f"    Layout: {line}" for line in source.layout]
    return lines + [f"    Note: {note}" for note in source.notes]


def _file(file: File) -> str:
    size = "size not pinned" if file.bytes is None else f"{file.bytes:,} bytes"
    return f"{file.name}, {size}, {file.checksum or 'checksum recorded at the first download'}, {file.url}"
