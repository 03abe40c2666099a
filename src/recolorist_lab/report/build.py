"""Write a report: every table in four formats, every figure as PNG and PDF, and one HTML page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from recolorist._version import __version__
from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist.report.page import chart, page
from recolorist_lab.report import figures
from recolorist_lab.report.sections import Section, section_of
from recolorist_lab.report.table import Table
from recolorist_lab.report.writers import FORMS, html, write
from recolorist_lab.runs.environment import describe
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study

__all__ = ["PAGE", "WrittenReport", "build"]

PAGE: Final = "index.html"
_TITLE: Final = "Report of the studies"
_FIGURES: Final = ("png", "pdf")
_STYLE: Final = """
section { display: grid; gap: 0.9rem; padding-top: 1rem; min-width: 0; }
section > h2 { font-size: 1.2rem; }
main { max-width: 1440px; }
.wide { overflow-x: auto; }
@supports (animation-timeline: scroll()) { .wide { animation: more linear; animation-timeline: scroll(self inline); } }
.wide table { width: auto; }
.wide td, .wide th { font-size: 0.86rem; padding: 0.2rem 0.55rem; }
.wide thead th { white-space: normal; vertical-align: bottom; }
.wide td.words { white-space: nowrap; }
figure.card { margin: 0; }
figure.card img { max-width: min(100%, 900px); height: auto; background: #ffffff; border-radius: 6px; }
@media (max-width: 640px) { figure.card img { max-width: 640px; } }
.files { font-weight: 400; white-space: nowrap; }
ul.plain li { margin-bottom: 0.45rem; }
"""


@dataclass(frozen=True)
class WrittenReport:
    """What a report contains: tables, figures, gaps and the page."""

    page: Path
    tables: int
    figures: int
    gaps: int = 0  #: cells without a result


def build(
    studies: Sequence[Study], ledger: Ledger, out: Path, *, partial: bool = False, tick: Callable[[str], None] = lambda _: None
) -> WrittenReport:
    """Write the report of some studies.

    Every study is collected first, so that a missing cell is named before anything is written.

    Args:
        studies: The studies.
        ledger: Where their results are.
        out: Folder to write into.
        partial: Allow cells without a result; the gaps are marked.
        tick: Called with the title of every table and figure that is written.

    Returns:
        The page, and how many tables, figures and gaps there are.

    Raises:
        OptionError: No study is named, or two have one name.
        IncompleteError: A cell has no result, and gaps are not allowed.
    """
    if not studies:
        raise OptionError("no study was named; give at least one TOML file")
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise OptionError(f"two studies have one name ({', '.join(names)}); their files would overwrite each other")
    sections = [section_of(study, ledger, partial=partial) for study in studies]
    out.mkdir(parents=True, exist_ok=True)
    parts = [_section(section, out, tick) for section in sections]
    body = "\n".join([_head(sections), *parts, _foot()])
    written = atomic_write(out / PAGE, page(_TITLE, body, _STYLE).encode())
    tables, pictures = sum(len(part.tables) for part in sections), sum(len(part.figures) for part in sections)
    return WrittenReport(written, tables, pictures, sum(part.gaps for part in sections))


def _section(section: Section, out: Path, tick: Callable[[str], None]) -> str:
    parts = [f'<section id="{escape(section.name)}">', f"<h2>{escape(section.title)}</h2>"]
    parts += [f'<p class="muted small">{escape(words)}</p>' for words in section.basis]
    for name, table in section.tables.items():
        tick(f"{section.name}: {table.title}")
        parts.append(_table(table, f"{section.name}-{name}", out))
    for name, (title, draw) in section.figures.items():
        tick(f"{section.name}: {title}")
        parts.append(_figure(draw(), title, f"{section.name}-{name}", out))
    return "\n".join([*parts, "</section>"])


def _table(table: Table, name: str, out: Path) -> str:
    for form in FORMS:
        _write(out / "tables" / f"{name}{form}", write(table, form).encode())
    links = " · ".join(f'<a href="tables/{name}{form}">{form[1:]}</a>' for form in FORMS)
    note = f'<p class="muted small">{escape(table.note)}</p>' if table.note else ""
    head = f'<h3>{escape(table.title)} <span class="muted small files">{links}</span></h3>'
    return f'<div class="card" id="table-{name}">{head}\n<div class="wide" tabindex="0">{html(table)}</div>{note}</div>'


def _figure(figure: Any, title: str, name: str, out: Path) -> str:
    pictures = {suffix: figures.render(figure, suffix) for suffix in _FIGURES}
    for suffix, data in pictures.items():
        _write(out / "figures" / f"{name}.{suffix}", data)
    inside, words = base64.b64encode(pictures["png"]).decode(), escape(title)
    links = " · ".join(f'<a href="figures/{name}.{suffix}">{suffix}</a>' for suffix in _FIGURES)
    has_photographs = any(axes.images for axes in figure.axes)  # their colours must stay; charts follow the dark theme
    style = "" if has_photographs else 'class="chart-image" '
    image = chart(f'<img {style}alt="{words}" src="data:image/png;base64,{inside}">')
    caption = f'<figcaption class="muted small">{words} <span class="files">{links}</span></figcaption>'
    return f'<figure class="card" id="figure-{name}">{image}{caption}</figure>'


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, data)


def _head(sections: Sequence[Section]) -> str:
    lines = []
    for section in sections:
        tables = [_link(f"table-{section.name}-{name}", name) for name in section.tables]
        pictures = [_link(f"figure-{section.name}-{name}", name) for name in section.figures]
        parts = [f"{words}: {' · '.join(links)}" for words, links in (("Tables", tables), ("Figures", pictures)) if links]
        lines.append(f'<li><a href="#{escape(section.name)}">{escape(section.title)}</a><br>{". ".join(parts)}.</li>')
    return f'<header><h1>{_TITLE}</h1><ul class="plain small">{"".join(lines)}</ul></header>'


def _link(target: str, name: str) -> str:
    return f'<a href="#{escape(target)}">{escape(name.replace("-", " "))}</a>'


def _foot() -> str:
    environment = describe()
    return (
        f'<footer><p class="muted small">recolorist {escape(__version__)}, reported with Python '
        f"{escape(str(environment['python']))} on {escape(str(environment['cpu']))}. Where a number was measured is "
        "kept with it in the ledger. Numbers in brackets, or marked as the paper's, are as printed by its authors.</p></footer>"
    )
