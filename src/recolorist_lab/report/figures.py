"""The common style of the lab's figures: one palette, one type size, and files whose bytes depend on the data alone.

Figures are made without pyplot, so there is no window system and no state between them. Make one with :func:`figure`, draw on it
inside :func:`house`, and write it with :func:`save`.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from recolorist import optional
from recolorist.core.image import option
from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist.report.charts import OUTLINES

if TYPE_CHECKING:
    from recolorist_lab.report.stats import CriticalDifference

__all__ = ["CHANNELS", "FORMATS", "INK", "LINE", "MUTED", "PALETTE", "critical_difference", "figure", "house", "render", "save"]

#: Colours of series, in this order; distinct with every common colour vision.
PALETTE: Final = OUTLINES
#: Red, green and blue channels, from the same palette.
CHANNELS: Final = ("#d55e00", "#009e73", "#0072b2")
INK, MUTED, LINE = "#1b1b1b", "#5c5c5c", "#dcdcdc"
FORMATS: Final = ("png", "pdf", "svg")

_WHY: Final = "draw figures"
_DOTS: Final = 160  # per inch, in PNG
_LOOK: Final = MappingProxyType(
    {
        "axes.axisbelow": True,
        "axes.edgecolor": MUTED,
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": 9.0,
        "axes.linewidth": 0.8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlepad": 8.0,
        "axes.titlesize": 10.0,
        "axes.titleweight": "bold",
        "figure.facecolor": "white",
        "figure.titlesize": 11.0,
        "figure.titleweight": "bold",
        "font.family": "DejaVu Sans",  # comes with Matplotlib, so the same everywhere
        "font.size": 9.0,
        "grid.color": LINE,
        "grid.linewidth": 0.6,
        "legend.fontsize": 8.5,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 4.0,
        "patch.linewidth": 0.0,
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "recolorist",  # else names inside the file are drawn at random
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "xtick.labelsize": 8.5,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "ytick.labelsize": 8.5,
    }
)
_UNDATED: Final = MappingProxyType(
    {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
    }
)


@contextmanager
def house() -> Iterator[None]:
    """Draw with the lab's settings of Matplotlib; the user's own configuration is ignored.

    Yields:
        While the block runs.
    """
    matplotlib: Any = optional.load("matplotlib", _WHY)
    cycler: Any = importlib.import_module("cycler")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(dict(_LOOK))
        matplotlib.rcParams["axes.prop_cycle"] = cycler.cycler(color=list(PALETTE))
        yield


def figure(width: float = 7.2, height: float = 4.0, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Make a figure with constrained layout, so that nothing overlaps.

    Args:
        width: In inches.
        height: In inches.
        rows: Rows of axes.
        columns: Columns of axes.
        options: Passed to ``Figure.subplots``.

    Returns:
        The figure and its axes, as ``Figure.subplots`` gives them.

    Example:
        >>> picture, axes = figure(3, 2)
        >>> _ = axes.plot([0, 1], [0, 1])
        >>> render(picture, "svg") == render(picture, "svg")
        True
    """
    with house():
        module: Any = importlib.import_module("matplotlib.figure")
        canvas = module.Figure(figsize=(width, height), layout="constrained")
        return canvas, canvas.subplots(rows, columns, **options)


def render(picture: Any, suffix: str) -> bytes:
    """Write a figure to bytes; the same figure gives the same bytes. Its layout is settled by the first call.

    Args:
        picture: The figure.
        suffix: ``"png"``, ``"pdf"`` or ``"svg"``.

    Returns:
        The content of a file of this kind.
    """
    option(suffix, FORMATS, "a figure's format")
    target = io.BytesIO()
    with house():
        agg: Any = importlib.import_module("matplotlib.backends.backend_agg")
        agg.FigureCanvasAgg(picture)
        _settle(picture)
        picture.savefig(target, format=suffix, dpi=_DOTS, metadata=dict(_UNDATED[suffix]))
    return target.getvalue()


def _settle(picture: Any) -> None:
    """Compute the layout once: a second drawing would start from the last layout and differ."""
    if picture.get_layout_engine() is not None:
        picture.draw_without_rendering()
        picture.set_layout_engine("none")


def save(picture: Any, path: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure as each of the formats.

    Args:
        picture: The figure.
        path: The file without suffix.
        formats: Suffixes.

    Returns:
        The files, in the order of the formats.

    Raises:
        OptionError: The path has a suffix already.
    """
    base = Path(path)
    if base.suffix.lstrip(".") in FORMATS:
        raise OptionError(f"{base} already has a suffix; give the path without it, and the formats separately")
    base.parent.mkdir(parents=True, exist_ok=True)
    return [atomic_write(base.with_name(f"{base.name}.{suffix}"), render(picture, suffix)) for suffix in formats]


def critical_difference(ranking: CriticalDifference, title: str, best: str = "best") -> Any:
    r"""Draw mean ranks on a line, the best on the left. A bar joins methods that the test does not tell apart.

    Args:
        ranking: Mean ranks and the critical difference.
        title: Of the figure.
        best: What to call the left end.

    Returns:
        The figure.

    Example:
        >>> from recolorist_lab.report.stats import critical_difference as test
        >>> scores = {"a": [1, 1, 1, 1], "b": [2, 2, 3, 2], "c": [3, 3, 2, 3]}
        >>> render(critical_difference(test(scores), "Three methods"), "png")[:4]
        b'\x89PNG'
    """
    names, ranks = list(ranking.ranks), list(ranking.ranks.values())
    left = (len(names) + 1) // 2
    bars = len(ranking.groups)
    depth = 0.55 + 0.22 * bars  # below the axis, in inches: where the lowest bar is
    height = 1.15 + depth + 0.24 * left
    picture, axes = figure(7.2, height)
    with house():
        axes.axis("off")
        axes.set_title(title, y=1.0)
        span = max(1.0, len(names) - 1.0)
        axes.set_xlim(1 - 0.34 * span, len(names) + 0.34 * span)
        axes.set_ylim(-(depth + 0.24 * left), 1.15)
        _rank_axis(axes, len(names), ranking, best)
        for position, (name, rank) in enumerate(zip(names, ranks, strict=True)):
            level = position if position < left else len(names) - 1 - position
            _rank_label(axes, name, rank, -(depth + 0.24 * level), len(names), left=position < left)
        for row, group in enumerate(ranking.groups):
            ends = (ranking.ranks[group[0]] - 0.06, ranking.ranks[group[-1]] + 0.06)
            axes.plot(ends, [-(0.2 + 0.22 * row)] * 2, color=INK, linewidth=4.0, solid_capstyle="butt")
    return picture


def _rank_axis(axes: Any, treatments: int, ranking: CriticalDifference, best: str) -> None:
    axes.plot([1, treatments], [0, 0], color=INK, linewidth=1.0)
    for rank in range(1, treatments + 1):
        axes.plot([rank, rank], [0, 0.08], color=INK, linewidth=1.0)
        axes.text(rank, 0.13, str(rank), ha="center", va="bottom", fontsize=8.5)
    axes.text(
        1, 0.36, f"mean rank over {ranking.blocks} datasets (1 is {best})", ha="left", va="bottom", fontsize=8.0, color=MUTED
    )
    end = min(1 + ranking.difference, float(treatments))
    start = end - ranking.difference
    axes.plot([start, end], [0.8, 0.8], color=PALETTE[1], linewidth=1.6)
    for tick in (start, end):
        axes.plot([tick, tick], [0.74, 0.86], color=PALETTE[1], linewidth=1.6)
    words = f"critical difference {ranking.difference:.2f} (α = {ranking.alpha:g})"
    axes.text(end + 0.15, 0.8, words, ha="left", va="center", fontsize=8.5)


def _rank_label(axes: Any, name: str, rank: float, y: float, treatments: int, *, left: bool) -> None:
    edge = 1 - 0.04 * treatments if left else treatments + 0.04 * treatments
    axes.plot([rank, rank, edge], [0, y, y], color=MUTED, linewidth=0.9)
    words, side = (f"{name}  {rank:.2f}", "right") if left else (f"{rank:.2f}  {name}", "left")
    axes.text(edge + (-0.08 if left else 0.08), y, words, ha=side, va="center", fontsize=9.0)
