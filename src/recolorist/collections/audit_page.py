"""The audit of a collection as an HTML page, with pictures of the images it flagged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recolorist._version import __version__
from recolorist.collections.flags import FLAGS, flags_of_summary
from recolorist.collections.items import Item, Source, open_collection
from recolorist.collections.load import load
from recolorist.collections.options import SourceOptions
from recolorist.errors import RecoloristError
from recolorist.io.images import Reading
from recolorist.io.reading import display_path
from recolorist.report.charts import clip_chart, spread_chart
from recolorist.report.page import chart, page
from recolorist.report.thumbnails import data_uri

if TYPE_CHECKING:
    from recolorist.collections.tasks import AuditResult

__all__ = ["audit_page"]

_EVERYTHING: Final = SourceOptions()
_SHOWN: Final = 12  # pictures per flag
_FEW: Final = 3  # so many pictures fill half of the page's width
_SIDE: Final = 176
_LISTED: Final = 200  # failures in the page
_STYLE: Final = """
.gallery .name span { display: inline-block; max-width: 100%; }
.option { white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1.1rem; }
.charts:empty { display: none; }
.charts .card { align-content: start; }
.charts .many { grid-column: 1 / -1; }
@media (max-width: 640px) {
  .flags thead { display: none; }
  .flags tr { display: grid; grid-template-columns: 1fr auto; padding: 0.4rem 0; }
  .flags td.words { grid-column: 1 / -1; padding-left: 0; }
  .flags td.words + td.words::before { content: "What to do: "; font-weight: 600; }
}
"""


def audit_page(result: AuditResult, source: Source, reading: Reading, select: SourceOptions = _EVERYTHING) -> str:
    """Make the page of an audit.

    Args:
        result: The audit.
        source: The collection that was audited; its flagged images are read again for their pictures.
        reading: How its images are read.
        select: Which images of the source were audited.

    Returns:
        The page as HTML, with all pictures inside.
    """
    summary = result.summary
    flagged = summary["images"] - summary["unflagged"]
    with open_collection(source, select) as images:
        items = {item.key: item for item in images.items}
        name = display_path(images.name)
        galleries = [_gallery(flag, result.lines, items, reading) for flag in FLAGS if summary["flags"].get(flag)]
    lead = f"{summary['images']:,} images read, {flagged:,} flagged, {summary['failed']:,} could not be read."
    note = f'<p class="muted small">recolorist {__version__}. An image may carry several flags.</p>'
    body = [
        f'<header><h1>Audit of {escape(name)}</h1><p class="lead">{lead}</p>{note}</header>',
        _table(summary),
        f'<div class="charts">{"".join(_charts(result))}</div>',
        f'<div class="charts">{"".join(galleries)}</div>',
        *_failures(result),
    ]
    title = f"Audit of {name}"
    return page(title, "\n".join(part for part in body if part), _STYLE)


def _table(summary: dict[str, Any]) -> str:
    rows = [
        f'<tr><th scope="row">{name.replace("_", " ")}</th><td>{summary["flags"][name]:,}</td>'
        f'<td class="words">{_sentence(flag.meaning)}</td><td class="words">{_sentence(flag.remedy)}</td></tr>'
        for name, flag in flags_of_summary(summary).items()
    ]
    columns = '<th scope="col" class="words">meaning</th><th scope="col" class="words">what to do</th>'
    head = f'<thead><tr><th scope="col">flag</th><th scope="col">images</th>{columns}</tr></thead>'
    return f'<section class="card"><h2>Flags</h2><table class="flags">{head}<tbody>{"".join(rows)}</tbody></table></section>'


def _charts(result: AuditResult) -> list[str]:
    parts = []
    shares = [line["clip_median"] for line in result.lines if "clip_median" in line]
    if shares:
        middle = 100 * float(np.median(shares))
        text = f"Half of the images would lose {middle:.2f} % of their values or less to clipping."
        parts.append(f'<section class="card"><h2>Clipping</h2><p>{text}</p>{chart(clip_chart(shares))}</section>')
    same = [line for line in result.lines if len(line["mean"]) == len(result.lines[0]["mean"])] if result.lines else []
    if same:
        spread = spread_chart(
            np.array([line["mean"] for line in same]),
            np.array([line["std"] for line in same]),
            np.array([bool(line["flags"]) for line in same]),
        )
        parts.append(f'<section class="card"><h2>The collection at a glance</h2>{chart(spread)}</section>')
    return parts


def _gallery(flag: str, lines: Sequence[dict[str, Any]], items: dict[str, Item], reading: Reading) -> str:
    matches = [line for line in lines if flag in line["flags"]]
    worst = sorted(matches, key=lambda line: _severity(flag, line), reverse=True)[:_SHOWN]
    figures = "".join(_figure(line, flag, items, reading) for line in worst)
    noun = "image" if len(matches) == 1 else "images"
    count = f"{len(matches):,} {noun}" if len(matches) <= _SHOWN else f"the worst {_SHOWN} of {len(matches):,} images"
    name = flag.replace("_", " ")
    meaning = f"{_sentence(FLAGS[flag].meaning)} <strong>What to do:</strong> {_sentence(FLAGS[flag].remedy)}"
    text = f'<h2>{name} <span class="muted small">{count}</span></h2><p class="small">{meaning}</p>'
    width = "" if len(worst) <= _FEW else " many"
    return f'<section class="card{width}">{text}<ul class="gallery">{figures}</ul></section>'


def _figure(line: dict[str, Any], flag: str, items: dict[str, Item], reading: Reading) -> str:
    key = display_path(line["source"])
    try:
        loaded = load(items[line["source"]], reading)
        marks = line.get("loss_map", ()) if flag == "detail_lost" else ()
        picture = "" if loaded.pixels is None else data_uri(loaded.pixels, _SIDE, loaded.data_range, marks)
    except (RecoloristError, KeyError):  # it was there a moment ago
        picture = ""
    image = f'<img src="{picture}" alt="{escape(key)}" loading="lazy">' if picture else ""
    text = f'<span class="small name">{_breakable(key)}</span><span class="muted small">{_caption(line, flag)}</span>'
    return f"<li>{image}{text}</li>"


def _caption(line: dict[str, Any], flag: str) -> str:
    if flag == "clips":
        return (
            f"{100 * line['clip_new_median']:.1f}&nbsp;% newly clipped, {100 * line['clip_worst']:.0f}&nbsp;% in the worst style"
        )
    if flag == "detail_lost":
        return f"{100 * line['loss_share']:.0f} % of the patches in the style of {_breakable(display_path(line['loss_style']))}"
    if flag == "saturated":
        return f"{100 * min(line['at_white']):.1f} % white in every channel"
    levels = [f"{255 * value:.0f}" for value in line["mean"]]
    return f"mean {' '.join(levels)}, SD {' '.join(f'{255 * value:.1f}' for value in line['std'])}"


def _severity(flag: str, line: dict[str, Any]) -> float:
    if flag == "clips":
        return float(line["clip_new_median"])
    if flag == "detail_lost":
        return float(line["loss_share"])
    if flag == "saturated":
        return float(min(line["at_white"]))
    return float(line["outlier_distance"]) if flag == "outlier" else -float(max(line["std"]))


def _sentence(text: str) -> str:
    """Return words as a sentence of HTML; options of the command are not broken at their hyphens."""
    return re.sub(r"(\(?--[a-z-]+\)?)", r'<span class="option">\1</span>', escape(text[:1].upper() + text[1:])) + "."


def _breakable(name: str) -> str:
    """Return a path as HTML that breaks before the file's name, else after separators or before a dot, and not inside words."""
    parts = (re.sub(r"([/_-]+)", r"\1<wbr>", escape(part, quote=False)) for part in name.rpartition("/"))
    folder, slash, last = (part.replace(".", "<wbr>.") for part in parts)
    return f"{folder}{slash}<span>{last}</span>"


def _failures(result: AuditResult) -> list[str]:
    if not result.failures:
        return []
    rows = "".join(
        f"<li><code>{escape(display_path(failure.key))}</code>: {escape(failure.message)}</li>"
        for failure in result.failures[:_LISTED]
    )
    more = len(result.failures) - _LISTED
    note = f'<p class="muted small">and {more:,} more</p>' if more > 0 else ""
    return [f'<section class="card"><h2>Could not be read</h2><ul class="plain small">{rows}</ul>{note}</section>']
