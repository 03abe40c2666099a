"""Draw the charts of banks, drift and audits."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.drift import Group, Region
from recolorist.bank.style_bank import StyleBank
from recolorist.report.svg import BAD, INK, NEUTRAL, PALE, Drawing, Panel, density, equal_scale, span

__all__ = ["OUTLINES", "bank_chart", "clip_chart", "drift_chart", "hex_colour", "spread_chart"]

Array = NDArray[np.float64]

#: The palette of Okabe and Ito, for every common colour vision; without black and yellow, which are hard to see here.
OUTLINES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6a3d9a", "#8c564b")
_MOST_POINTS: Final = 3000


def bank_chart(bank: StyleBank) -> str:
    """Draw every style of a bank as a point in its mean colour.

    The left panel shows the colour cast, the right one brightness and contrast. Outlines show the domain.

    Args:
        bank: The bank.

    Returns:
        The chart as SVG.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), np.uint8)
        >>> bank_chart(StyleBank.build(images, split="train", name="mine")).count("mine: 4 styles")
        1
    """
    rows = _rows_to_draw(len(bank))
    mean, std = 255 * bank.mean[rows], 255 * bank.std[rows]
    drawing = Drawing(1080, 560, f"Styles of {bank.name or 'a bank'}")
    _heading(drawing, f"{bank.name or 'Style bank'}: {len(bank)} styles", len(rows), len(bank))
    fills = [hex_colour(colour) for colour in bank.mean[rows]]
    codes = bank.domain_codes[rows]
    lines = [_outline(code) for code in codes.tolist()]
    if bank.channels == 3:
        cast = np.stack([mean[:, 0] - mean[:, 2], mean[:, 1] - (mean[:, 0] + mean[:, 2]) / 2], axis=1)
        ranges = equal_scale(span([cast[:, 0]], least=2), span([cast[:, 1]], least=2), 1.0)
        left = Panel(drawing, 70, 100, 400, 400, *ranges)
        left.frame("Colour cast", "blue ←  mean red − blue  → red", "magenta ← mean green − (red + blue)/2 → green")
        left.dots(cast, fills, lines)
    light = np.stack([mean.mean(axis=1), std.mean(axis=1)], axis=1)
    start = 560 if bank.channels == 3 else 70
    right = Panel(drawing, start, 100, 400, 400, span([light[:, 0]], least=2), span([light[:, 1]], least=2))
    right.frame("Brightness and contrast", "mean level", "standard deviation")
    right.dots(light, fills, lines)
    _legend(drawing, bank)
    return drawing.render()


def drift_chart(trained: StyleBank, now: StyleBank, region: Region, group: Group) -> str:
    """Draw the training data and today's images, whitened by the training data, and the densities of each channel.

    Args:
        trained: The bank of the training data.
        now: The bank of today's images.
        region: The region of the training data, as `recolorist.bank.drift` fits it.
        group: What the tests say of all of today's images.

    Returns:
        The chart as SVG.
    """
    drawing = Drawing(1080, 650, "Today's images and the training data")
    distance = region.distance(now.mean, now.cov)
    figures = f"{group.outside} of {group.images} images lie outside, their mean moved by {group.shift.size:.2f} SD"
    drawing.text(70, 34, f"{group.verdict[0].upper()}{group.verdict[1:]}: {figures}", "title")
    text = f"dashed: {region.threshold:.2f} deviations, the edge of the region; points in the images' own mean colour"
    drawing.text(70, 56, text, "muted small")
    _clouds(drawing, trained, now, region, distance)
    _channels(drawing, trained, now)
    return drawing.render()


def _clouds(drawing: Drawing, trained: StyleBank, now: StyleBank, region: Region, distance: Array) -> None:
    old, new = _rows_to_draw(len(trained)), _rows_to_draw(len(now))
    before, after = region.whiten_styles(trained.mean[old], trained.cov[old]), region.whiten_styles(now.mean[new], now.cov[new])
    axes = _plane(after)
    before, after = before @ axes, after @ axes
    edge = region.threshold
    ranges = equal_scale(
        span([before[:, 0], after[:, 0], np.array([-edge, edge])]),
        span([before[:, 1], after[:, 1], np.array([-edge, edge])]),
        1.0,
    )
    panel = Panel(drawing, 70, 138, 450, 450, *ranges)
    panel.frame("Distance from the training data", "along the shift, in deviations", "across it")
    panel.dots(before, [PALE] * len(before), [NEUTRAL] * len(before), 2.4)
    lines = [BAD if far > region.threshold else INK for far in distance[new].tolist()]
    panel.dots(after, [hex_colour(colour) for colour in now.mean[new]], lines, 3.4)
    radius = edge / (ranges[0][1] - ranges[0][0]) * panel.width
    drawing.add(f'<circle class="edge" cx="{panel.x(0):.1f}" cy="{panel.y(0):.1f}" r="{radius:.1f}"/>')
    keys = (("training data", PALE, NEUTRAL), ("today, inside", "none", INK), ("today, outside", "none", BAD))
    for place, (text, fill, line) in enumerate(keys):
        drawing.key(76 + 130 * place, 92, text, fill, line)


def _plane(points: Array) -> Array:
    """Return two directions: the shift of today's images, and their widest spread across it."""
    shift = points.mean(axis=0)
    length = float(np.linalg.norm(shift))
    first = shift / length if length > 1e-6 else np.eye(len(shift))[0]
    residual = points - np.outer(points @ first, first)
    residual = residual - residual.mean(axis=0)
    second = np.linalg.svd(residual, full_matrices=True)[2][0]
    second = second - first * (second @ first)
    size = float(np.linalg.norm(second))
    if size < 1e-6:  # one image, or all on a line
        second = np.eye(len(shift))[int(np.abs(first).argmin())]
        second = second - first * (second @ first)
        size = float(np.linalg.norm(second))
    return np.stack([first, second / size], axis=1)


def _channels(drawing: Drawing, trained: StyleBank, now: StyleBank) -> None:
    """Draw the densities of the means and deviations of each channel, of both banks."""
    names = ("red", "green", "blue") if trained.channels == 3 else ("level",) * trained.channels
    shown = min(3, trained.channels)
    height = (450 - 58 * (shown - 1)) / shown
    pairs = (("mean", 255 * trained.mean, 255 * now.mean), ("standard deviation", 255 * trained.std, 255 * now.std))
    for column, (title, old, new) in enumerate(pairs):
        across = span([old[:, :shown], new[:, :shown]], 0.12, 2.0)
        at = np.linspace(*across, 160)
        for channel in range(shown):
            before, after = density(old[:, channel], at), density(new[:, channel], at)
            top = 138 + channel * (height + 58)
            high = max(float(before.max()), float(after.max())) * 1.08
            panel = Panel(drawing, 590 + 250 * column, top, 220, height, across, (0.0, high))
            last = channel == shown - 1
            panel.frame(f"{names[channel]}, {title}", "level" if last else "", "", numbers_up=False)
            panel.curve(at, before, "before", closed=True)
            panel.curve(at, after, f"line {f'c{channel}' if shown == 3 else 'grey'}")
    drawing.text(590, 92, "grey: training data; line: today", "small")


def clip_chart(shares: list[float]) -> str:
    """Draw a histogram of the share of values that the median style of a bank would clip.

    Args:
        shares: The share of each image.

    Returns:
        The chart as SVG.

    Example:
        >>> clip_chart([0.0, 0.0, 0.01]).count('class="bar"')
        2
    """
    values = 100 * np.array(shares)
    top = max(2.0, float(values.max()) * 1.02)
    counts, edges = np.histogram(values, bins=40, range=(0.0, top))
    drawing = Drawing(720, 320, "Predicted clipping")
    panel = Panel(drawing, 70, 50, 620, 200, (0.0, top), (0.0, float(counts.max()) * 1.08))
    panel.frame("Values the median style would clip", "per cent of an image's values", "images")
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            panel.bar(low, high, count)
    return drawing.render()


def spread_chart(mean: Array, std: Array, flagged: NDArray[np.bool_]) -> str:
    """Draw brightness and contrast of every image; flagged images have a red outline.

    Args:
        mean: Means of the channels in unit range, one row per image.
        std: Standard deviations of the channels, alike.
        flagged: Whether each image is flagged.

    Returns:
        The chart as SVG.

    Example:
        >>> values = np.array([[0.2, 0.3, 0.4], [0.5, 0.5, 0.5]])
        >>> spread_chart(values, values / 4, np.array([True, False])).count("<circle")
        2
    """
    rows = _rows_to_draw(len(mean))
    light = 255 * np.stack([mean[rows].mean(axis=1), std[rows].mean(axis=1)], axis=1)
    drawing = Drawing(720, 384, "Brightness and contrast")
    panel = Panel(drawing, 70, 50, 620, 260, span([light[:, 0]], least=2), span([light[:, 1]], least=2))
    panel.frame("Brightness and contrast of every image", "mean level", "standard deviation")
    lines = [BAD if flag else NEUTRAL for flag in flagged[rows].tolist()]
    panel.dots(light, [hex_colour(colour) for colour in mean[rows]], lines)
    drawing.text(70, 372, "each point in its image's mean colour; red outline: flagged", "muted small")
    return drawing.render()


def hex_colour(colour: Array) -> str:
    """Return a colour as CSS writes it.

    Args:
        colour: Its channels in unit range; one channel gives a grey.

    Example:
        >>> hex_colour(np.array([1.0, 0.5, 0.0]))
        '#ff8000'
    """
    parts = np.rint(255 * np.clip(np.resize(colour[:3] if len(colour) >= 3 else colour[:1], 3), 0, 1)).astype(int)
    return "#" + "".join(f"{value:02x}" for value in parts)


def _outline(code: int) -> str:
    return NEUTRAL if code < 0 else OUTLINES[code % len(OUTLINES)]


def _rows_to_draw(count: int) -> NDArray[np.int64]:
    """Return all rows, or evenly spread ones where there are too many to draw."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).round().astype(np.int64))


def _heading(drawing: Drawing, text: str, shown: int, count: int) -> None:
    drawing.text(70, 36, text, "title")
    note = "each point in its image's mean colour" + ("" if shown == count else f"; {shown} of {count} drawn")
    drawing.text(70, 58, note, "muted small")


def _legend(drawing: Drawing, bank: StyleBank) -> None:
    """Draw the domains in up to three rows above the panels; of a long name the beginning and the end."""
    start = 560.0 if bank.channels == 3 else 330.0
    x, y = start, 22.0
    for code, name in enumerate(bank.domains[: len(OUTLINES)]):
        text = name if len(name) <= 20 else f"{name[:11]}…{name[-8:]}"
        drawing.key(x, y, text, "none", _outline(code))
        x += 26 + 7.2 * len(text)
        if x > 910:
            x, y = start, y + 18
    if len(bank.domains) > len(OUTLINES):
        drawing.text(x, y, f"and {len(bank.domains) - len(OUTLINES)} more", "muted small")
