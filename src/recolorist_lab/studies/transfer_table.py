"""The paper's Table 2 from rows of the ledger, ours beside it, and the picture that sets methods side by side."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab import figures
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.config import Json
from recolorist_lab.paper import STYLE_TRANSFER
from recolorist_lab.studies.pages import markdown
from recolorist_lab.studies.transfer import COLORIST

__all__ = ["grid", "shown", "table", "title"]

Row: TypeAlias = Mapping[str, Json]
_METRICS: Final = {"lpips": 3, "ssim": 3, "fid": 1, "wasserstein": 3, "artfid": 1}  # and digits


def title(method: str) -> str:
    """As the paper prints it.

    >>> title("sanet"), title("colorist")
    ('SANET', 'Colorist')
    """
    return "Colorist" if method == COLORIST else METHODS[method].name


def table(rows: Iterable[Row]) -> str:
    """Means over datasets and seeds, ± the deviation between seeds where there are several; the paper's in brackets."""
    chosen = [row for row in rows if "result.lpips" in row]
    if not chosen:
        raise OptionError("there is no row with a result")
    body = []
    for method in dict.fromkeys(str(row["method"]) for row in chosen):
        mine = [row for row in chosen if row["method"] == method]
        printed = STYLE_TRANSFER[title(method)]
        cells = [f"{_spread(mine, f'result.{name}', digits)} ({getattr(printed, name):.2f})" for name, digits in _METRICS.items()]
        body.append(
            [
                title(method),
                str(len(mine)),
                f"{_mean(mine, 'result.native'):.0f}",
                *cells,
                f"{_mean(mine, 'result.transform_ms'):.3g}",
            ]
        )
    body.sort(key=lambda line: list(STYLE_TRANSFER).index(line[0]))
    return markdown(["method", "runs", "side", "LPIPS ↓", "SSIM ↑", "FID ↓", "Wasserstein ↓", "ArtFID ↓", "ms per pair"], body)


def grid(pictures: Mapping[str, NDArray[Any]], pairs: Sequence[int] = (0, 1, 2, 3)) -> Any:
    """Rows: content, style, then every method; columns: pairs. ``pictures`` are what :func:`shown` reads, by method."""
    if not pictures:
        raise OptionError("there is no method to show")
    first = next(iter(pictures.values()))
    columns = [place for place in pairs if place < len(first)]
    lines = [("content", first[:, 0]), ("style", first[:, 1]), *((title(name), found[:, 2]) for name, found in pictures.items())]
    drawn, axes = figures.figure(1.15 * len(columns) + 1.3, 1.15 * len(lines), len(lines), len(columns), squeeze=False)
    with figures.house():
        for row, (name, images) in zip(axes, lines, strict=True):
            for axis, place in zip(row, columns, strict=True):
                axis.imshow(images[place], interpolation="nearest")
                axis.set_xticks([])
                axis.set_yticks([])
                axis.grid(visible=False)
                for side in axis.spines.values():
                    side.set_visible(False)
            row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return drawn


def shown(data: bytes) -> NDArray[Any]:
    """The pictures a cell kept: (pairs, 3, H, W, 3)."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return np.asarray(archive["shown"])


def _numbers(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    values: list[Any] = [row[name] for row in rows]
    return np.array(values, np.float64)


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(_numbers(rows, name).mean())


def _spread(rows: Sequence[Row], name: str, digits: int) -> str:
    by_seed = [_mean([row for row in rows if row["seed"] == seed], name) for seed in dict.fromkeys(row["seed"] for row in rows)]
    text = f"{np.mean(by_seed):.{digits}f}"
    return f"{text} ± {np.std(by_seed, ddof=1):.{digits}f}" if len(by_seed) > 1 else text
