"""Write a comparison: a table for the terminal, a page in Markdown and HTML, the picture, and all numbers as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from recolorist._version import __version__
from recolorist.io.files import atomic_write
from recolorist.report.page import chart, page
from recolorist_lab.compare.figure import draw
from recolorist_lab.compare.results import Comparison
from recolorist_lab.compare.words import can_conclude, cannot_conclude
from recolorist_lab.report import figures, writers
from recolorist_lab.report.paired import Difference
from recolorist_lab.report.table import Cell, Column, Digits, Number, Table, label

__all__ = ["plain_text", "write_report"]

_PICTURE: Final = "compare.png"
_STYLE: Final = """
.card img { width: 100%; min-width: 640px; }
thead th { white-space: normal; vertical-align: bottom; }
tr > :first-child { text-align: left; padding-left: 0; }
"""


def write_report(comparison: Comparison, folder: Path) -> list[Path]:
    """Write all files of a report.

    Args:
        comparison: The results.
        folder: Where to write; files of an earlier report are replaced.

    Returns:
        The files: `report.md`, `report.html`, `compare.png` and `results.json`.
    """
    picture = figures.render(draw(comparison), "png")
    numbers = json.dumps({**comparison.to_json(), **_sentences(comparison)}, indent=1, ensure_ascii=False, allow_nan=False)
    files = {
        "report.md": _markdown(comparison).encode(),
        "report.html": _html(comparison, picture).encode(),
        _PICTURE: picture,
        "results.json": f"{numbers}\n".encode(),
    }
    return [atomic_write(folder / name, content) for name, content in files.items()]


def plain_text(comparison: Comparison) -> str:
    """Write the table and the sentences for a terminal.

    Args:
        comparison: The results.

    Returns:
        The text.
    """
    table = _table(comparison)
    rows = [table.head, *table.texts()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for heading, sentences in _sections(comparison):
        lines += ["", heading, *(f"- {sentence}" for sentence in sentences)]
    return "\n".join(lines)


def _table(comparison: Comparison) -> Table:
    """Make the table: a row for each method."""
    digits = Digits(3)
    where = "held-out images" if comparison.is_one_hospital else "unseen hospital"
    columns = [
        label("method"),
        Column(where, digits=digits),
        Column("difference, points (95\N{NO-BREAK SPACE}%)"),
        Column("better on"),
    ]
    rows: list[list[Cell]] = []
    for method in comparison.methods:
        gain = method.difference
        means = [Number(float(scores.mean())) for scores in (method.harmonised, *method.unseen)]
        better = "" if gain is None else f"{gain.better} of {gain.targets}"
        rows.append([method.title, Number(float(method.unseen.mean())), _interval(gain), better, *means])
    return Table([*columns, *(Column(name, digits=digits) for name in ("harmonised", *comparison.targets))], rows)


def _interval(gain: Difference | None) -> str:
    if gain is None:
        return ""
    ends = f" ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})" if gain.is_enough else ""
    return f"{100 * gain.mean:+.1f}{ends}"


def _sections(comparison: Comparison) -> list[tuple[str, Sequence[str]]]:
    sections = [("What can be concluded", can_conclude(comparison)), ("What cannot be concluded", cannot_conclude(comparison))]
    return [*sections, *([("About the images", comparison.notes)] if comparison.notes else [])]


def _sentences(comparison: Comparison) -> dict[str, list[str]]:
    return {"can_conclude": can_conclude(comparison), "cannot_conclude": cannot_conclude(comparison)}


def _describe_measurement(comparison: Comparison) -> str:
    training = comparison.training
    images = ", ".join(f"{target} {count:,}" for target, count in comparison.images.items())
    how = (
        f"{_format_count(comparison.seeds, 'seed')}, each with test images of its own"
        if comparison.is_one_hospital
        else f"each hospital left out of training in turn, {_format_count(comparison.seeds, 'seed')}"
    )
    return (
        f"Images tested on: {images}. Classes: {', '.join(comparison.classes)}. {training.model}, {training.size} pixels, "
        f"{_format_count(training.epochs, 'epoch')}, {how}. The weights of the last epoch are tested. A fifth of the training "
        "images is held out for the accuracy at the hospitals trained on. Harmonised: every test image is matched to the average "
        "style of the training images first. Differences are between trainings with the same target and seed; intervals come "
        "from a bootstrap over targets, then seeds."
    )


def _format_count(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _markdown(comparison: Comparison) -> str:
    (first, conclusions), *others = _sections(comparison)
    lines = ["# Does it help?", "", f"## {first}", "", *(f"- {sentence}" for sentence in conclusions), ""]
    lines += [f"![Methods against balanced accuracy]({_PICTURE})", ""]
    lines += [writers.markdown(_table(comparison)).rstrip()]
    for heading, sentences in others:
        lines += ["", f"## {heading}", "", *(f"- {sentence}" for sentence in sentences)]
    return "\n".join([*lines, "", "## How it was measured", "", _describe_measurement(comparison), ""])


def _html(comparison: Comparison, picture: bytes) -> str:
    encoded = base64.b64encode(picture).decode()
    image = f'<img class="chart-image" alt="Methods against balanced accuracy" src="data:image/png;base64,{encoded}">'
    conclusions, *others = [_card(heading, _list(sentences)) for heading, sentences in _sections(comparison)]
    body = [
        f'<header><h1>Does it help?</h1><p class="muted small">recolorist {__version__}</p></header>',
        conclusions,
        f'<section class="card">{chart(image)}</section>',
        _card("Balanced accuracy", chart(writers.html(_table(comparison)))),
        *others,
        _card("How it was measured", f"<p>{escape(_describe_measurement(comparison))}</p>"),
    ]
    return page("Does it help?", "\n".join(body), _STYLE)


def _card(heading: str, content: str) -> str:
    return f'<section class="card"><h2>{escape(heading)}</h2>{content}</section>'


def _list(sentences: Sequence[str]) -> str:
    return f'<ul class="plain">{"".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)}</ul>'
