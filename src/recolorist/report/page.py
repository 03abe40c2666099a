"""The frame of every HTML page: one file, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Final

__all__ = ["chart", "page"]

_STYLE: Final = """
main { max-width: 1100px; margin: 0 auto; padding: 1.6rem 1.2rem 3rem; display: grid; gap: 1.1rem; }
header { display: grid; gap: 0.3rem; }
.lead { font-size: 1.05rem; }
.card { display: grid; gap: 0.8rem; overflow-x: auto; }
.chart { overflow-x: auto; min-width: 0; }
.chart svg { display: block; width: 100%; height: auto; }
@media (max-width: 640px) { .chart svg { min-width: 34rem; } } /* scrolls instead of becoming too small to read */
@keyframes more { from, 90% { mask-image: linear-gradient(to right, #000 calc(100% - 2.5rem), transparent); } }
@supports (animation-timeline: scroll()) { /* charts fade while there is more to the right */
  .chart { animation: more linear; animation-timeline: scroll(self inline); }
}
td.words, th.words { text-align: left; white-space: normal; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 0.9rem; padding: 0; margin: 0; }
.gallery li { list-style: none; display: grid; gap: 0.25rem; align-content: start; }
.gallery img { width: 100%; aspect-ratio: 1; object-fit: contain; background: var(--well); border-radius: 6px; }
.gallery .name { overflow-wrap: break-word; min-width: 0; }
ul.plain { margin: 0; padding-left: 1.1rem; overflow-wrap: anywhere; }
"""


def chart(svg: str) -> str:
    """Wrap a chart or table so that it scrolls sideways on a narrow screen, also by keyboard.

    Args:
        svg: The chart or table.

    Returns:
        HTML.

    Example:
        >>> chart("<svg/>")
        '<div class="chart" tabindex="0"><svg/></div>'
    """
    return f'<div class="chart" tabindex="0">{svg}</div>'


def page(title: str, body: str, style: str = "") -> str:
    """Make an HTML page: one file, no scripts, nothing loaded from elsewhere.

    Args:
        title: The title, as plain text.
        body: The content, as HTML.
        style: CSS rules in addition to the common ones.

    Returns:
        The whole page.

    Example:
        >>> page("a < b", "<p>text</p>").count("<title>a &lt; b</title>")
        1
    """
    common = files("recolorist.report").joinpath("common.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>\n{common}{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
