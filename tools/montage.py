"""Pictures side by side with a word under or before each: what the documentation's figures are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Bytes = NDArray[np.uint8]

INK: Final = "#1c2530"
PAPER: Final = "#ffffff"


def montage(rows: Sequence[Sequence[Bytes]], titles: Sequence[str] = (), *, gap: int = 6, size: int = 17) -> Image.Image:
    """Rows of equally large pictures; titles stand above the columns."""
    height, width = rows[0][0].shape[:2]
    head = size + 2 * gap if titles else 0
    across, down = len(rows[0]), len(rows)
    sheet = Image.new("RGB", (across * (width + gap) - gap, head + down * (height + gap) - gap), PAPER)
    pen = ImageDraw.Draw(sheet)
    for i, title in enumerate(titles):
        pen.text((i * (width + gap), gap // 2), title, INK, ImageFont.load_default(size=size))
    for j, row in enumerate(rows):
        for i, picture in enumerate(row):
            sheet.paste(Image.fromarray(picture), (i * (width + gap), head + j * (height + gap)))
    return sheet


def resized(image: Any, side: int) -> Bytes:
    """A square picture of this side, smoothly reduced."""
    return np.asarray(Image.fromarray(np.asarray(image)).convert("RGB").resize((side, side), Image.Resampling.LANCZOS))
