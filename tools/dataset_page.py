"""Write the part of docs/datasets.md that comes from the cards. Run as `python -m tools.dataset_page`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from recolorist_lab.data.cards import Card, File, Source
from recolorist_lab.data.registry import CARDS

PAGE: Final = Path(__file__).parents[1] / "docs" / "datasets.md"
MARK: Final = "<!-- cards -->\n"
_PINS: Final = ("### Which downloads are pinned, and by whom", "")


def page(text: str) -> str:
    """The page with everything after the mark written anew."""
    head, mark, _ = text.partition(MARK)
    sections = (line for card in CARDS.values() for line in section(card))
    return head + mark + "\n" + "\n".join([*overview(), "", *_PINS, *pin_table(), "", *sections])


def overview() -> list[str]:
    """The paper's table."""
    lines = ["| dataset | classes | train / val / test | IR | H | access |", "|---|---|---|---|---|---|"]
    for card in CARDS.values():
        want = card.expected
        sizes = " / ".join(f"{size:,}" for size in want.sizes.values())
        access = ", ".join(dict.fromkeys(source.access for source in card.sources))
        lines.append(
            f"| {card.title} (`{card.key}`) | {len(card.classes)} | {sizes} | {want.ir:.2f} | {want.entropy:.4f} | {access} |"
        )
    return lines


def section(card: Card) -> list[str]:
    """One dataset."""
    lines = [f"### {card.title}", "", f"- Splits: {card.split_rule}.", f"- Domains: {', '.join(card.domains)}."]
    lines += [f"- Counts: {card.expected.status}."]
    lines += [f"- {note}" for note in card.notes]
    for source in card.sources:
        lines += ["", *described(source)]
    return [*lines, ""]


def described(source: Source) -> list[str]:
    """One source of a dataset."""
    lines = [f"**{source.title}**, <{source.page}> ({source.record}). Licence: {source.licence}. Access: {source.access}.", ""]
    lines += [f"{number}. {step}" for number, step in enumerate(source.request, 1)]
    lines += [""] if source.request else []
    lines += ["```text", *source.layout, "```"]
    lines += ["", *files(source.files)] if source.files else []
    return lines + [line for note in source.notes for line in ("", note)]


def files(given: tuple[File, ...]) -> list[str]:
    """What `fetch` downloads; many files of one kind are one line."""
    shown = given if len(given) < 4 else given[:1]
    lines = [f"Downloads `{file.name}`: {pins(file)}." for file in shown]
    return [*lines, *([f"And {len(given) - 1} more of its kind."] if len(shown) < len(given) else [])]


def pins(file: File) -> str:
    """What is checked."""
    size = "size as the server declares it" if file.bytes is None else f"{file.bytes:,} bytes"
    return f"{size}, {file.checksum or 'no published checksum, so that of the first download holds'}"


def pin_table() -> list[str]:
    """Who vouches for the content of each file."""
    lines = ["| files | of | size | checksum | content is vouched for by |", "|---|---|---|---|---|"]
    for card in CARDS.values():
        for source in card.sources:
            kinds = Counter((file.bytes is not None, (file.checksum or "").partition(":")[0]) for file in source.files)
            for (has_size, checksum), count in kinds.items():
                size = "card" if has_size else "server"
                by = "the publisher, by its checksum" if checksum else _first_checks(card, source.files[0])
                lines.append(f"| {count} | {source.title} (`{card.key}`) | {size} | {checksum or 'none'} | {by} |")
    return lines


def _first_checks(card: Card, file: File) -> str:
    counts = "per class" if card.expected.per_class else "per split and imbalance"
    inside = f"its {'size' if file.unpack is None else 'own checksums'}"
    return f"whoever downloads it first: {inside}, counts {counts}, then its SHA-256"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    print(f"{PAGE.name}: {len(CARDS)} datasets")


if __name__ == "__main__":
    main()
