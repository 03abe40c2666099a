"""Show matched pairs: clipped pixels as a picture, channels as an SVG chart, all pairs on one HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Final

import numpy as np
from PIL import Image

from recolorist.core.plan import Plan
from recolorist.demo.pairs import Bytes, Mask, Pair
from recolorist.report.page import page
from recolorist.report.svg import Drawing, Panel, density

__all__ = ["channels_chart", "clipped_picture", "contact_sheet", "png"]

_BELOW, _ABOVE = "#0072b2", "#d81b8c"  # pixels that fell below 0, and above 255
_LEVELS: Final = np.linspace(0.0, 255.0, 256)
_WIDTH, _HEIGHT = 1092, 236
_STYLE: Final = f"""
main {{ max-width: 1180px; }}
h1 {{ font-size: 2.2rem; }}
h2 .muted {{ font-weight: normal; margin-left: 0.6rem; }}
.sheet {{ display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; margin: 0; }}
.sheet figure {{ margin: 0; }}
.sheet img {{ width: 100%; display: block; border-radius: 4px; }}
.sheet figcaption {{ padding-top: 0.4rem; line-height: 1.35; }}
.formula {{ font-size: 1.05rem; }}
.mark {{ display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.3em; }}
.below {{ background: {_BELOW}; }}
.above {{ background: {_ABOVE}; }}
@media (min-width: 1900px) {{ main {{ max-width: 2300px; grid-template-columns: 1fr 1fr; }}
  header, footer {{ grid-column: 1 / -1; }} }}
@media (max-width: 700px) {{ .sheet {{ grid-template-columns: repeat(2, 1fr); }} }}
"""
_HEAD: Final = """<header><h1>Recolorist</h1>
<p class="lead">The content takes on the colours of the style, by one gain and one offset per channel.
Every shape stays where it is.</p>
<p class="formula">output = gain × content + offset
<span class="muted small">gain = SD of style / SD of content; offset = mean of style − gain × mean of content</span></p>
</header>"""
_FOOT: Final = """<footer class="muted small"><p><span class="mark above"></span>clipped, above 255
&ensp;<span class="mark below"></span>clipped, below 0</p>
<p>Error: mean absolute difference from the same scene as the style's scanner or camera shows it. SD: standard deviation.</p>
</footer>"""


def clipped_picture(output: Bytes, below: Mask, above: Mask, mask: Mask | None = None) -> Bytes:
    """Show an output in pale grey with its clipped pixels marked.

    Args:
        output: The matched image.
        below: Pixels that fell below the range; they become blue.
        above: Pixels that rose above the range; they become magenta.
        mask: Pixels that took part; the others become white.

    Returns:
        The picture as 8-bit RGB.

    Example:
        >>> off, on = np.zeros((1, 2), bool), np.array([[False, True]])
        >>> clipped_picture(np.full((1, 2, 3), 100, np.uint8), off, on).tolist()
        [[[190, 190, 190], [216, 27, 140]]]
    """
    grey = np.rint(150.0 + 0.40 * (output @ np.array([0.299, 0.587, 0.114])))
    picture = np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)
    if mask is not None:
        picture[~mask] = 255
    for touched, colour in ((below, _BELOW), (above, _ABOVE)):
        picture[touched] = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return picture


def channels_chart(pair: Pair) -> str:
    """Draw the histograms of content, style and output, one panel per channel under its equation.

    Returns:
        The chart as SVG.
    """
    case, plan = pair.case, pair.plan
    drawing = Drawing(_WIDTH, _HEIGHT, f"Channels of {case.title}")
    images = [(case.style, case.style_mask, "before"), (case.content, case.mask, "line dashed"), (pair.output, case.mask, "")]
    for channel in range(3):
        curves = [density(_values(image, mask, channel), _LEVELS) for image, mask, _ in images]
        top = 1.05 * max(float(curve.max()) for curve in curves)
        panel = Panel(drawing, 6 + 370 * channel, 40, 340, 120, (0.0, 255.0), (0.0, top))
        mean = f"mean {plan.content_mean[channel]:.0f} → {plan.style_mean[channel]:.0f}"
        deviation = f"SD {plan.content_std[channel]:.0f} → {plan.style_std[channel]:.0f}"
        panel.frame(_equation(plan, channel), f"{mean}, {deviation}", "", numbers_up=False)
        for curve, (_, _, kind) in zip(curves, images, strict=True):
            panel.curve(_LEVELS, curve, kind or f"line c{channel}", closed=kind == "before")
    drawing.text(6, _HEIGHT - 10, "grey: style; dashed: content; coloured: output (levels 0 to 255)", "muted small")
    return drawing.render()


def contact_sheet(pairs: Sequence[Pair]) -> str:
    """Show all pairs on one HTML page that needs no other file.

    Returns:
        The page as HTML.
    """
    return page("Recolorist", "\n".join([_HEAD, *map(_section, pairs), _FOOT]), _STYLE)


def png(picture: Bytes) -> bytes:
    """Encode a picture as PNG.

    Example:
        >>> png(np.zeros((2, 2, 3), np.uint8))[1:4]
        b'PNG'
    """
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()


def _section(pair: Pair) -> str:
    """Show one pair: a title, four pictures with captions, the channels."""
    case, error = pair.case, pair.error
    marked = clipped_picture(pair.output, pair.below, pair.above, case.mask)
    figures = (
        _figure("Content", case.content_label, case.content),
        _figure("Style", case.style_label, case.style),
        _figure("Output", f"error {error[0]:.1f} → {error[1]:.1f} levels" if error else "true scan unknown", pair.output),
        _figure("Clipped", f"{100 * pair.clipped:.2f} % of pixels", marked),
    )
    title = f'<h2>{escape(case.title)}<span class="muted small">{escape(case.note)}</span></h2>'
    return f'<section class="card">{title}<div class="sheet">{"".join(figures)}</div>{channels_chart(pair)}</section>'


def _figure(name: str, words: str, picture: Bytes) -> str:
    data = base64.b64encode(png(picture)).decode("ascii")
    caption = f'<figcaption>{name}<br><span class="muted small">{escape(words)}</span></figcaption>'
    return f'<figure><img src="data:image/png;base64,{data}" alt="{name}: {escape(words)}">{caption}</figure>'


def _values(image: Bytes, mask: Mask | None, channel: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the levels of one channel, of the masked pixels only."""
    chosen = image[..., channel] if mask is None else image[mask][..., channel]
    return chosen.ravel().astype(np.float64)


def _equation(plan: Plan, channel: int) -> str:
    """Write one channel of a plan as an equation; the sign of the offset becomes the operator."""
    name, offset = "RGB"[channel], round(float(plan.offset[channel]), 1)
    return f"{name}′ = {plan.gain[channel]:.2f} {name} {'−' if offset < 0 else '+'} {abs(offset):.1f}"
