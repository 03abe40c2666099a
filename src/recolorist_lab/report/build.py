"""Write a report: every table in four forms, every figure as PNG and PDF, and one page in the house look."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from recolorist._version import __version__
from recolorist.errors import OptionError
from recolorist.files import atomic_write
from recolorist.report import page
from recolorist_lab import figures
from recolorist_lab.environment import describe
from recolorist_lab.ledger import Ledger
from recolorist_lab.report.sections import Section, section_of
from recolorist_lab.report.tables import FORMS
from recolorist_lab.study import Study

__all__ = ["PAGE", "Written", "build"]

PAGE: Final = "index.html"
_FIGURES: Final = ("png", "pdf")


@dataclass(frozen=True)
class Written:
    """What a report came to."""

    page: Path
    tables: int
    figures: int


def build(
    studies: Sequence[Study], ledger: Ledger, out: Path, *, partial: bool = False, tick: Callable[[str], None] = lambda _: None
) -> Written:
    """Collect every study first, so that a missing cell is named before anything is written; then write."""
    if not studies:
        raise OptionError("no study was named; give at least one TOML file")
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise OptionError(f"two studies have one name ({', '.join(names)}); their files would overwrite each other")
    sections = [section_of(study, ledger, partial=partial) for study in studies]
    out.mkdir(parents=True, exist_ok=True)
    parts = [_section(section, out, tick) for section in sections]
    body = "\n".join([_head(sections), *parts, _foot()])
    written = atomic_write(out / PAGE, page("The study, reported", body).encode())
    return Written(written, sum(len(one.tables) for one in sections), sum(len(one.figures) for one in sections))


def _section(section: Section, out: Path, tick: Callable[[str], None]) -> str:
    parts = [f'<section id="{escape(section.name)}">', f"<h2>{escape(section.title)}</h2>"]
    parts += [f'<p class="muted small">{escape(words)}</p>' for words in section.basis]
    for name, (title, table) in section.tables.items():
        tick(f"{section.name}: {title}")
        for form in FORMS:
            _write(out / "tables" / f"{section.name}-{name}{form}", table.rendered(form).encode())
        parts.append(f"<h3>{escape(title)}</h3>\n{table.html()}")
    for name, (title, draw) in section.figures.items():
        tick(f"{section.name}: {title}")
        drawn = draw()
        pictures = {suffix: figures.render(drawn, suffix) for suffix in _FIGURES}
        for suffix, data in pictures.items():
            _write(out / "figures" / f"{section.name}-{name}.{suffix}", data)
        inside, words = base64.b64encode(pictures["png"]).decode(), escape(title)
        parts.append(f'<figure><img alt="{words}" src="data:image/png;base64,{inside}"><figcaption>{words}</figcaption></figure>')
    return "\n".join([*parts, "</section>"])


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, data)


def _head(sections: Sequence[Section]) -> str:
    links = " · ".join(f'<a href="#{escape(one.name)}">{escape(one.title)}</a>' for one in sections)
    return f'<header><h1>The study, reported</h1><p class="lead">{links}</p></header>'


def _foot() -> str:
    told = describe()
    return (
        f'<footer><p class="muted small">recolorist {escape(__version__)}, reported with Python {escape(str(told["python"]))} on '
        f"{escape(str(told['cpu']))}. Where a number was measured is kept with it in the ledger. Numbers in brackets, or marked "
        "as the paper's, are as printed by its authors.</p></footer>"
    )
