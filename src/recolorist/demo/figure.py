"""Show the demonstration: clipped pixels as a picture, charts as SVG, everything on one HTML page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Final

import numpy as np
from PIL import Image

from recolorist.core.plan import Plan
from recolorist.demo.hospitals import KINDS, TRAININGS, Score, make_hospitals
from recolorist.demo.pairs import Bytes, Mask, Pair
from recolorist.report.page import chart, page
from recolorist.report.svg import ACCENT, NEUTRAL, Drawing, Panel, density

__all__ = ["accuracy_chart", "channels_chart", "index_page", "mark_clipped", "png"]

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
th {{ white-space: normal; }}
thead th:not(:first-child) {{ width: 9rem; }}
@media (max-width: 700px) {{ thead th:not(:first-child) {{ width: 5.5rem; }} }}
.mark {{ display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.3em; }}
.below {{ background: {_BELOW}; }}
.above {{ background: {_ABOVE}; }}
@media (min-width: 1900px) {{ main {{ max-width: 2300px; grid-template-columns: 1fr 1fr; }}
  header, footer {{ grid-column: 1 / -1; }} }}
@media (max-width: 700px) {{ .sheet {{ grid-template-columns: repeat(2, 1fr); }} }}
.hospitals {{ display: grid; grid-template-columns: repeat(3, 1fr); gap: 1rem; margin: 0; }}
.hospitals figure {{ margin: 0; }}
th[scope="row"] {{ white-space: normal; }}
.hospitals img {{ width: 100%; display: block; border-radius: 4px; image-rendering: auto; }}
"""
_HEAD: Final = """<header><h1>Recolorist</h1>
<p class="lead">A classifier that was trained in one laboratory often fails on the stains, scanners and cameras of another.
Recolorist gives a training image (the content) the colours of another one (the style), by one gain and one offset per channel.
Every shape stays where it is. Below: four pairs, and <a href="#unseen">a test on a hospital that was not trained on</a>.</p>
<p class="formula">output = gain × content + offset
<span class="muted small">gain = SD of style / SD of content; offset = mean of style − gain × mean of content</span></p>
{link}</header>"""
_LINK: Final = '<p>Try it with your own images: <a href="{path}">open the Studio</a>, a page that works without a server.</p>'
_FOOT: Final = """<footer class="muted small"><p><span class="mark above"></span>clipped, above 255
&ensp;<span class="mark below"></span>clipped, below 0</p>
<p>Error: mean absolute difference from the same scene as the style's scanner or camera shows it. SD: standard deviation.</p>
</footer>"""


def mark_clipped(output: Bytes, below: Mask, above: Mask, mask: Mask | None = None) -> Bytes:
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
        >>> mark_clipped(np.full((1, 2, 3), 100, np.uint8), off, on).tolist()
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


def accuracy_chart(scores: Sequence[Score]) -> str:
    """Draw the accuracy on the unseen hospital for every hospital and training.

    Returns:
        The chart as SVG.
    """
    unseen = list(dict.fromkeys(score.unseen for score in scores))
    drawing = Drawing(_WIDTH, 330, "Accuracy on the unseen hospital")
    panel = Panel(drawing, 70, 60, 980, 190, (-0.5, len(unseen) - 0.5), (30.0, 100.0))
    panel.frame("Accuracy on the unseen hospital, per cent", "", "", numbers_across=False)
    panel.curve(np.array([-0.5, len(unseen) - 0.5]), np.array([50.0, 50.0]), "line dashed")
    colours = dict(zip(TRAININGS, ((NEUTRAL, NEUTRAL), ("none", ACCENT), (ACCENT, ACCENT)), strict=True))
    for score in scores:
        place = unseen.index(score.unseen) + 0.22 * (list(TRAININGS).index(score.training) - 1)
        panel.dots(np.array([[place, 100 * score.target]]), [colours[score.training][0]], [colours[score.training][1]], 6.0)
        drawing.text(panel.x(place) + 10, panel.y(100 * score.target) + 4, f"{100 * score.target:.0f}", "small")
    for place, name in enumerate(unseen):
        drawing.text(panel.x(place), 276, f"{name} unseen", "muted", "middle")
    for place, training in enumerate(TRAININGS):
        drawing.key(80 + 190 * place, 312, training, *colours[training])
    drawing.text(80 + 190 * len(TRAININGS), 312, "dashed: guessing", "muted small")
    return drawing.render()


def index_page(pairs: Sequence[Pair], scores: Sequence[Score], studio: str | None = None) -> str:
    """Show everything that the demonstration made on one HTML page that needs no other file.

    Args:
        pairs: The matched pairs.
        scores: The accuracies of the classifier.
        studio: Path of the Studio, for a link.

    Returns:
        The page as HTML.
    """
    head = _HEAD.format(link=_LINK.format(path=escape(studio)) if studio else "")
    return page("Recolorist", "\n".join([head, *map(_section, pairs), _classifier(scores), _FOOT]), _STYLE)


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
    marked = mark_clipped(pair.output, pair.below, pair.above, case.mask)
    figures = (
        _figure("Content", case.content_label, case.content),
        _figure("Style", case.style_label, case.style),
        _figure("Output", f"error {error[0]:.1f} → {error[1]:.1f} levels" if error else "true scan unknown", pair.output),
        _figure("Clipped", f"{100 * pair.clipped:.2f} % of pixels", marked),
    )
    title = f'<h2>{escape(case.title)}<span class="muted small">{escape(case.note)}</span></h2>'
    return f'<section class="card">{title}<div class="sheet">{"".join(figures)}</div>{chart(channels_chart(pair))}</section>'


def _classifier(scores: Sequence[Score]) -> str:
    """Show the hospitals, what was trained, and how accurate it was."""
    tiles = [
        _figure(f"Hospital {hospital.name}", " and ".join(KINDS), _side_by_side(hospital.tiles[:: len(hospital.tiles) // 2]))
        for hospital in make_hospitals()
    ]
    words = (
        f"Three synthetic hospitals with {scores[0].images} tiles each. A logistic regression on 15 features (colour, "
        f"contrast, texture) learns to tell {' from '.join(KINDS)} tissue in two of them and is tested on the third. These "
        "are drawings, one seed and a setting chosen to show the mechanism: not how much Colorist helps on your images."
    )
    rows = "".join(
        f'<tr><th scope="row">{score.unseen} unseen, {score.training}</th><td>{100 * score.source:.1f} %</td>'
        f"<td>{100 * score.target:.1f} %</td></tr>"
        for score in scores
    )
    columns = ("training", "accuracy, the two trained on", "accuracy, the unseen one")
    cells = "".join(f'<th scope="col">{column}</th>' for column in columns)
    head = f"<thead><tr>{cells}</tr></thead>"
    return (
        f'<section class="card" id="unseen"><h2>What it is for: an unseen hospital</h2><p>{words}</p>'
        f'<div class="hospitals">{"".join(tiles)}</div>'
        f"{chart(accuracy_chart(scores))}{chart(f'<table>{head}<tbody>{rows}</tbody></table>')}</section>"
    )


def _side_by_side(tiles: Bytes) -> Bytes:
    """Join two tiles with a white line between them."""
    return np.hstack([tiles[0], np.full((len(tiles[0]), 2, 3), 255, np.uint8), tiles[1]])


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
