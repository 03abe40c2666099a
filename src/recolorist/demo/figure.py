"""The demonstration's pictures, drawn with Pillow alone: triplets, clipped pixels, histograms, equations, contact sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from recolorist.core.plan import Plan
from recolorist.demo.pairs import SIDE, Bytes, Mask, Pair

__all__ = ["channels_picture", "clipped_picture", "contact_sheet"]

Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = NDArray[np.float64]

INK, MUTED, HAIR, PAPER, GREY = "#1c2530", "#66717e", "#d5dbe1", "#ffffff", "#8b95a1"
# Vermilion, bluish green and blue of Okabe and Ito: told apart with every common colour vision.
CHANNELS: Final = (("R", "#d55e00"), ("G", "#009e73"), ("B", "#0072b2"))
DARK, BRIGHT = "#0072b2", "#d81b8c"  # pixels that fell below 0, and above 255

WIDTH: Final = 1860  # shown at half that, or on a fine screen
MARGIN, GAP, ROW, HEAD, FOOT = 52, 18, 404, 232, 92
BLOCK: Final = WIDTH - 2 * MARGIN - 4 * SIDE - 3 * GAP - 50  # room for the three channels
PLOT, PLOT_GAP, LINE = 88, 14, 28
FINE: Final = 4  # curves are drawn this much larger and reduced, which smooths their edges


_SIGNS: Final = {"→": 0.92, "−": 0.60, "×": 0.62}  # width of each, as a share of the size of the text


@dataclass(frozen=True)
class _Pen:
    """Text on a picture. The font inside Pillow has no arrow, minus or times sign, so those are drawn."""

    draw: ImageDraw.ImageDraw

    def text(self, at: Point, words: str, size: int, colour: str = INK, *, bold: bool = False, right: bool = False) -> float:
        """Write on the baseline from a point (or up to it); returns where the text ends."""
        font, parts = ImageFont.load_default(size=size), re.split("([→−×])", words)
        x, y = at[0] - (sum(self._wide(part, font, size) for part in parts) if right else 0.0), at[1]
        for part in parts:
            if part in _SIGNS:
                self._sign(x, y, part, size, colour)
            else:
                self.draw.text((x, y), part, colour, font, anchor="ls", stroke_width=int(bold), stroke_fill=colour)
            x += self._wide(part, font, size)
        return x

    def _wide(self, part: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, size: int) -> float:
        return _SIGNS[part] * size if part in _SIGNS else float(font.getlength(part))

    def _sign(self, x: float, y: float, sign: str, size: int, colour: str) -> None:
        pad, arm, middle = (0.13 if sign == "×" else 0.08) * size, 0.18 * size, y - 0.33 * size
        start, end = x + pad, x + _SIGNS[sign] * size - pad
        lines = {
            "−": [[(start, middle), (end, middle)]],
            "→": [[(start, middle), (end, middle)], [(end - arm, middle - arm), (end, middle), (end - arm, middle + arm)]],
            "×": [[(start, middle - arm), (end, middle + arm)], [(start, middle + arm), (end, middle - arm)]],
        }[sign]
        for line in lines:
            self.draw.line(line, colour, max(2, round(size / 15)), "curve")


# ------------------------------------------------------------------------------------------------------------------ one pair


def clipped_picture(output: Bytes, below: Mask, above: Mask, mask: Mask | None = None) -> Bytes:
    """The output in pale grey, pixels that fell below the range in blue, those above it in magenta, outside the mask white.

    >>> import numpy as np
    >>> off, on = np.zeros((1, 2), bool), np.array([[False, True]])
    >>> clipped_picture(np.full((1, 2, 3), 100, np.uint8), off, on).tolist()
    [[[190, 190, 190], [216, 27, 140]]]
    """
    grey = np.rint(150.0 + 0.40 * (output @ np.array([0.299, 0.587, 0.114])))
    picture = np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)
    if mask is not None:
        picture[~mask] = 255
    for touched, colour in ((below, DARK), (above, BRIGHT)):
        picture[touched] = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return picture


def _curves(image: Bytes, mask: Mask | None) -> Curve:
    """Histogram of each channel, `(3, 256)`, as shares, smoothed a little: an integer map leaves gaps between levels."""
    pixels = image.reshape(-1, 3) if mask is None else image[mask]
    reach = np.arange(-10, 11)
    bell = np.exp(-0.5 * (reach / 3.2) ** 2)
    counts = [np.bincount(pixels[:, channel], minlength=256) / len(pixels) for channel in range(3)]
    return np.stack([np.convolve(share, bell / bell.sum(), mode="same") for share in counts])


def _plot(size: tuple[int, int], curve: Curve, style: Curve, top: float, colour: str) -> Image.Image:
    """A channel's histogram as a thin line with a light fill, over the style's in grey."""
    wide, high = size[0] * FINE, size[1] * FINE
    picture = Image.new("RGB", (wide, high), PAPER)
    for values, line, fill, alpha in ((style, GREY, "#aab3bd", 0.38), (curve, colour, colour, 0.16)):
        x = np.linspace(0.0, wide - 1.0, 256)
        y = (high - 1.0 - FINE) * (1.0 - np.minimum(values / top, 1.0)) + FINE
        points = list(zip(x.tolist(), y.tolist(), strict=True))
        layer = picture.copy()
        ImageDraw.Draw(layer).polygon([(0.0, float(high)), *points, (float(wide), float(high))], fill)
        picture = Image.blend(picture, layer, alpha)
        ImageDraw.Draw(picture).line(points, line, 2 * FINE, "curve")
    return picture.resize(size, Image.Resampling.BOX)


def _equation(plan: Plan, channel: int) -> str:
    """One channel of the plan as an equation in image units.

    The sign of the offset becomes the operator, so that the equation reads as one would write it.
    """
    name, offset = CHANNELS[channel][0], round(float(plan.offset[channel]), 1)
    return f"{name}' = {plan.gain[channel]:.2f} {name} {'−' if offset < 0 else '+'} {abs(offset):.1f}"


def _draw_channels(sheet: Image.Image, at: tuple[int, int], wide: int, pair: Pair) -> None:
    """Histograms before and after, and the equation, one column for each channel."""
    case, pen = pair.case, _Pen(ImageDraw.Draw(sheet))
    before, after = _curves(case.content, case.mask), _curves(pair.output, case.mask)
    style = _curves(case.style, case.style_mask)
    column = (wide - 2 * 26) // 3
    for channel, (_, colour) in enumerate(CHANNELS):
        left, top = at[0] + channel * (column + 26), float(max(c[channel].max() for c in (before, after, style)))
        for row, curve in enumerate((before, after)):
            y = at[1] + row * (PLOT + PLOT_GAP)
            sheet.paste(_plot((column, PLOT), curve[channel], style[channel], top, colour), (left, y))
            pen.draw.line([(left, y + PLOT), (left + column - 1, y + PLOT)], HAIR, 2)
            if channel == 0:
                pen.text((left, y + 16), ("before", "after")[row], 20, MUTED)
        _draw_numbers(pen, (left, at[1] + 2 * PLOT + PLOT_GAP + 34), pair.plan, channel)


def _draw_numbers(pen: _Pen, at: Point, plan: Plan, channel: int) -> None:
    """The equation of a channel, and the means and spreads it comes from."""
    pen.text(at, _equation(plan, channel), 22, CHANNELS[channel][1])
    for line, (name, start, end) in enumerate(
        (("mean", plan.content_mean, plan.style_mean), ("SD", plan.content_std, plan.style_std)), start=1
    ):
        pen.text((at[0], at[1] + line * LINE), f"{name} {start[channel]:.0f} → {end[channel]:.0f}", 21, MUTED)


def channels_picture(pair: Pair) -> Image.Image:
    """Histograms and equations of one pair as a picture of their own."""
    sheet = Image.new("RGB", (BLOCK + 2 * GAP, 2 * PLOT + PLOT_GAP + 3 * LINE + 2 * GAP + 8), PAPER)
    _draw_channels(sheet, (GAP, GAP), BLOCK, pair)
    return sheet


# --------------------------------------------------------------------------------------------------------------- the sheet


def contact_sheet(pairs: Sequence[Pair]) -> Image.Image:
    """All pairs on one page: four pictures and three channels a row."""
    sheet = Image.new("RGB", (WIDTH, HEAD + ROW * len(pairs) + FOOT), PAPER)
    pen = _Pen(ImageDraw.Draw(sheet))
    _draw_head(pen)
    for number, pair in enumerate(pairs):
        _draw_row(sheet, pen, HEAD + number * ROW, pair)
    _draw_foot(pen, sheet.height)
    return sheet


def _draw_head(pen: _Pen) -> None:
    """Name, promise, and the formula above the column of numbers."""
    pen.text((MARGIN, 96), "Recolorist", 60, bold=True)
    pen.text((MARGIN, 146), "The content takes on the colours of the style, by one gain and one", 28, MUTED)
    pen.text((MARGIN, 182), "offset per channel. Every shape stays where it is.", 28, MUTED)
    left = WIDTH - MARGIN - BLOCK
    pen.text((left, 96), "output = gain × content + offset", 25)
    pen.text((left, 146), "gain = SD of style / SD of content", 22, MUTED)
    pen.text((left, 180), "offset = mean of style − gain × mean of content", 22, MUTED)


def _draw_foot(pen: _Pen, height: int) -> None:
    """What the lines, the marks and the error mean."""
    x, y = float(MARGIN), height - 66
    for colour, words in ((BRIGHT, "clipped, above 255"), (DARK, "clipped, below 0"), (GREY, "histogram of the style")):
        pen.draw.rectangle((x, y - 16, x + 16, y), fill=colour)
        x = pen.text((x + 26, y), words, 22, MUTED) + 34
    pen.text((x, y), "Coloured histograms: content before, output after (0 to 255, lightly smoothed).", 22, MUTED)
    words = (
        "Error: mean absolute difference from the same scene as the style's scanner or camera shows it. SD: standard deviation."
    )
    pen.text((MARGIN, y + 36), words, 22, MUTED)


def _draw_row(sheet: Image.Image, pen: _Pen, top: int, pair: Pair) -> None:
    """One pair: a line of title, four pictures with captions, three channels."""
    case = pair.case
    end = pen.text((MARGIN, top + 28), case.title, 31)
    pen.text((end + 20, top + 28), case.note, 24, MUTED)
    pictures = (case.content, case.style, pair.output, clipped_picture(pair.output, pair.below, pair.above, case.mask))
    for column, picture in enumerate(pictures):
        left = MARGIN + column * (SIDE + GAP)
        sheet.paste(Image.fromarray(picture), (left, top + 52))
        pen.draw.rectangle((left, top + 52, left + SIDE - 1, top + 51 + SIDE), outline=HAIR)
        _draw_caption(pen, (left, top + 52 + SIDE + 30), column, pair)
    _draw_channels(sheet, (WIDTH - MARGIN - BLOCK, top + 52), BLOCK, pair)


def _draw_caption(pen: _Pen, at: Point, column: int, pair: Pair) -> None:
    """Name of a picture, and under it what it is."""
    error = pair.error
    gap = f"error {error[0]:.1f} → {error[1]:.1f} levels" if error else "true scan unknown"
    name, words = (
        ("Content", pair.case.content_label),
        ("Style", pair.case.style_label),
        ("Output", gap),
        ("Clipped", f"{100 * pair.clipped:.2f} % of pixels"),
    )[column]
    pen.text(at, name, 23)
    pen.text((at[0], at[1] + LINE), words, 21, MUTED)
