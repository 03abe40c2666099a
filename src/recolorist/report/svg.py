"""Draw small charts as SVG: axes, ticks, points, curves.

Inside a page a chart takes the colours of the page, light or dark. As a file of its own it follows the system's theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.io.reading import display_path

__all__ = ["ACCENT", "BAD", "INK", "NEUTRAL", "PALE", "Drawing", "Panel", "density", "equal_scale", "span", "ticks"]

Array = NDArray[np.float64]

#: Colours of points that follow the theme; each has its light form as a fallback.
INK: Final = "var(--ink,#1b1b1b)"
ACCENT: Final = "var(--accent,#0b5f86)"
BAD: Final = "var(--bad,#a1201a)"
NEUTRAL: Final = "var(--line-strong,#8a8a8a)"
PALE: Final = "var(--pale,#bdbdbd)"

_DARK: Final = (
    "@media (prefers-color-scheme:dark){svg:root{--ink:#ececec;--muted:#a8a8a8;--card:#202020;--line:#353535;"
    "--line-strong:#7c7c7c;--accent:#6cc3ea;--bad:#ff9d97;--red:#ff7b74;--green:#6fcf76;--blue:#85a9ff;--pale:#5a5a5a}}"
)
_STYLE: Final = (
    "text{font:13px system-ui,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;fill:var(--ink,#1b1b1b)}"
    ".muted{fill:var(--muted,#5c5c5c)}.small{font-size:12px}.title{font-weight:600;font-size:14px}.paper{fill:var(--card,#fff)}"
    ".axis{stroke:var(--line-strong,#8a8a8a);fill:none}.grid{stroke:var(--line,#dcdcdc);fill:none}"
    ".edge{stroke:var(--ink,#1b1b1b);stroke-dasharray:5 4;fill:none;stroke-width:1.5}"
    ".before{fill:var(--muted,#5c5c5c);fill-opacity:.28;stroke:var(--muted,#5c5c5c);stroke-width:1}"
    ".c0{stroke:var(--red,#c8322b)}.c1{stroke:var(--green,#2c7d32)}.c2{stroke:var(--blue,#2b5bc8)}.grey{stroke:var(--ink,#1b1b1b)}"
    ".line{fill:none;stroke-width:2}.dashed{stroke:var(--muted,#5c5c5c);stroke-dasharray:4 3;stroke-width:1.5}"
    ".bar{fill:var(--accent,#0b5f86)}" + _DARK
)


@dataclass
class Drawing:
    """A picture of a given size; all lengths are in pixels.

    Example:
        >>> drawing = Drawing(40, 20, "A title")
        >>> drawing.text(4, 12, "a < b")
        >>> "a &lt; b" in drawing.render()
        True
    """

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def add(self, *parts: str) -> None:
        """Add SVG elements on top of the present ones.

        Args:
            *parts: The elements.
        """
        self.parts.extend(parts)

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start", *, turn: bool = False) -> None:
        """Write words.

        Args:
            x: Where they begin, or end, as the anchor says.
            y: Their base line.
            text: The words.
            kind: Classes of the style sheet.
            anchor: ``"start"``, ``"middle"`` or ``"end"``.
            turn: Whether they are written upwards.
        """
        rotated = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        clean = escape(display_path(text), quote=False)
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{rotated}>{clean}</text>')

    def key(self, x: float, y: float, text: str, fill: str, line: str) -> None:
        """Draw an entry of a legend: a point and its words.

        Args:
            x: The middle of the point.
            y: The base line of the words.
            text: The words.
            fill: The colour of the point.
            line: The colour of its outline.
        """
        self.add(f'<circle cx="{x:.1f}" cy="{y - 4:.1f}" r="4.5" fill="{fill}" stroke="{line}" stroke-width="1.4"/>')
        self.text(x + 10, y, text, "small")

    def render(self) -> str:
        """Return the whole picture as SVG.

        Returns:
            The text of the file.
        """
        title = escape(display_path(self.title), quote=False)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img"><title>{title}</title><style>{_STYLE}</style>'
        )
        paper = f'<rect class="paper" width="{self.width}" height="{self.height}"/>'
        return "\n".join([head, paper, *self.parts, "</svg>", ""])


@dataclass
class Panel:
    """A rectangle of a drawing with axes; points are given in the units of the data.

    Example:
        >>> panel = Panel(Drawing(120, 60, "A title"), 10, 10, 100, 40, (0.0, 1.0), (0.0, 2.0))
        >>> panel.x(0.5), panel.y(2.0)
        (60.0, 10.0)
    """

    drawing: Drawing
    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Return the horizontal place of a value.

        Args:
            value: In the units of the data.

        Returns:
            Pixels from the left.
        """
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * self.width

    def y(self, value: float) -> float:
        """Return the vertical place of a value.

        Args:
            value: In the units of the data.

        Returns:
            Pixels from the top.
        """
        low, high = self.y_range
        return self.top + self.height - (value - low) / (high - low) * self.height

    def frame(self, title: str, across: str, up: str, *, numbers_up: bool = True, numbers_across: bool = True) -> None:
        """Draw the grid, the ticks, the title and the names of the axes.

        Args:
            title: The title.
            across: Name of the horizontal axis.
            up: Name of the vertical axis; empty for none.
            numbers_up: Whether the vertical axis has numbers.
            numbers_across: Whether the horizontal axis has numbers.
        """
        bottom, right = self.top + self.height, self.left + self.width
        for value in ticks(*self.x_range) if numbers_across else []:
            at = self.x(value)
            self.drawing.add(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{self.top:.1f}" y2="{bottom:.1f}"/>')
            self.drawing.text(at, bottom + 18, f"{value:g}", "muted small", "middle")
        for value in ticks(*self.y_range) if numbers_up else []:
            at = self.y(value)
            self.drawing.add(f'<line class="grid" y1="{at:.1f}" y2="{at:.1f}" x1="{self.left:.1f}" x2="{right:.1f}"/>')
            self.drawing.text(self.left - 8, at + 4, f"{value:g}", "muted small", "end")
        self.drawing.add(f'<path class="axis" d="M{self.left:.1f} {self.top:.1f}V{bottom:.1f}H{right:.1f}"/>')
        self.drawing.text(self.left, self.top - 12, title, "title")
        self.drawing.text(self.left + self.width / 2, bottom + 38, across, "muted", "middle")
        if up:
            self.drawing.text(self.left - 44, self.top + self.height / 2, up, "muted", "middle", turn=True)

    def dots(self, points: Array, fills: Sequence[str], outlines: Sequence[str], radius: float = 3.2) -> None:
        """Draw points, each with its colour and outline.

        Args:
            points: Places (N, 2) in the units of the data.
            fills: The colour of each.
            outlines: The colour of each outline.
            radius: In pixels.
        """
        self.drawing.add(
            *(
                f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{radius:g}" fill="{fill}" stroke="{line}" '
                'stroke-width="1.1"/>'
                for (x, y), fill, line in zip(points.tolist(), fills, outlines, strict=True)
            )
        )

    def bar(self, left: float, right: float, height: float) -> None:
        """Draw a bar from the axis up to a value.

        Args:
            left: Where it begins.
            right: Where it ends.
            height: The value.
        """
        x, y = self.x(left), self.y(height)
        wide, tall = self.x(right) - x - 1, self.y(0.0) - y
        self.drawing.add(f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"/>')

    def curve(self, xs: Array, ys: Array, kind: str, *, closed: bool = False) -> None:
        """Draw a line through points.

        Args:
            xs: Horizontal places.
            ys: Vertical places.
            kind: Classes of the style sheet.
            closed: Whether the area down to the axis is filled.
        """
        steps = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        if closed:
            bottom = self.top + self.height
            steps = f"{self.x(float(xs[0])):.1f},{bottom:.1f} {steps} {self.x(float(xs[-1])):.1f},{bottom:.1f}"
            self.drawing.add(f'<polygon class="{kind}" points="{steps}"/>')
        else:
            self.drawing.add(f'<polyline class="{kind}" points="{steps}"/>')


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers inside an interval.

    Args:
        low: Start of the interval.
        high: End of the interval; larger than ``low``.
        about: How many numbers there should be, roughly.

    Example:
        >>> ticks(0, 255)
        [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]
    """
    step = 10.0 ** math.floor(math.log10((high - low) / about))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= about + 1)
    return [round(step * k, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def span(values: Iterable[Array], margin: float = 0.08, least: float = 1e-9) -> tuple[float, float]:
    """Return an interval that holds all values and a margin.

    Args:
        values: Arrays; empty ones are left out.
        margin: The margin on each side, as a share of the interval.
        least: The smallest margin, in the units of the values.

    Example:
        >>> span([np.array([0.0, 10.0])], margin=0.1)
        (-1.0, 11.0)
    """
    low = min(float(array.min()) for array in values if array.size)
    high = max(float(array.max()) for array in values if array.size)
    gap = max((high - low) * margin, least)
    return low - gap, high + gap


def equal_scale(
    xs: tuple[float, float], ys: tuple[float, float], shape: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return two intervals, one of them widened, so that a unit has the same length in both directions.

    Args:
        xs: The horizontal interval.
        ys: The vertical interval.
        shape: Width of the panel divided by its height.

    Example:
        >>> equal_scale((0.0, 4.0), (0.0, 2.0), shape=1.0)
        ((0.0, 4.0), (-1.0, 3.0))
    """
    wide, high = xs[1] - xs[0], ys[1] - ys[0]
    if wide < high * shape:
        middle, half = sum(xs) / 2, high * shape / 2
        return (middle - half, middle + half), ys
    middle, half = sum(ys) / 2, wide / shape / 2
    return xs, (middle - half, middle + half)


def density(values: Array, at: Array) -> Array:
    """Estimate the density of values by a Gaussian kernel.

    Args:
        values: The sample.
        at: Increasing places at which the density is wanted.

    Returns:
        The density at each place; over the whole axis it sums to one.

    Example:
        >>> at = np.linspace(-5.0, 5.0, 201)
        >>> float(density(np.zeros(100), at).argmax())
        100.0
    """
    spread = float(values.std()) if values.size > 1 else 0.0
    width = max(1.06 * spread * max(values.size, 1) ** -0.2, (at[-1] - at[0]) / 150)
    counts, edges = np.histogram(values, bins=512, range=(float(at[0]) - 4 * width, float(at[-1]) + 4 * width))
    centres = (edges[:-1] + edges[1:]) / 2
    bell = np.exp(-0.5 * ((at[:, None] - centres) / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return np.asarray(bell @ counts / max(values.size, 1))
