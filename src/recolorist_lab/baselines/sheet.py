"""Contact sheets: rows of images of one size on white, as PNG; also of the present results of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from torch import Tensor

from recolorist.errors import ImageError
from recolorist.io.write import encode
from recolorist_lab.data.pixels import Bytes

if TYPE_CHECKING:
    from recolorist_lab.baselines.trainer import BaselineTrainer

__all__ = ["contact_sheet", "pictures", "sample"]

_SHOWN: Final = 4
_CONTENT, _STYLE = 2, 3  # shuffles of their own, so that samples stay the same throughout


def pictures(images: Tensor) -> list[Bytes]:
    """Convert images in [0, 1] to 8-bit arrays, rounded.

    Args:
        images: `(B, 3, H, W)`.

    Returns:
        The images, `(H, W, 3)` each.

    Example:
        >>> import torch
        >>> pictures(torch.full((1, 3, 2, 2), 0.5))[0][0, 0].tolist()
        [128, 128, 128]
    """
    levels = images.detach().float().clamp(0.0, 1.0).mul(255.0).round().byte()
    return list(levels.permute(0, 2, 3, 1).cpu().numpy())


def contact_sheet(rows: Sequence[Sequence[Bytes]], gap: int = 2) -> bytes:
    """Arrange pictures in rows, one above the other, as a PNG.

    Args:
        rows: Rows of as many pictures, all of one size.
        gap: Pixels between pictures.

    Returns:
        The file.

    Raises:
        ImageError: Rows or pictures differ in size.

    Example:
        >>> contact_sheet([[np.zeros((4, 4, 3), np.uint8)] * 3] * 2)[1:4]
        b'PNG'
    """
    shapes = {picture.shape for row in rows for picture in row}
    if len(shapes) != 1 or len({len(row) for row in rows}) != 1:
        counts = [len(row) for row in rows]
        raise ImageError(
            f"a sheet with rows of {counts} pictures of shapes {sorted(shapes)}; accepted is one number and one shape"
        )
    height, width = next(iter(shapes))[:2]
    across, down = len(rows[0]), len(rows)
    canvas = np.full((down * (height + gap) - gap, across * (width + gap) - gap, 3), 255, np.uint8)
    for i, row in enumerate(rows):
        for j, picture in enumerate(row):
            top, left = i * (height + gap), j * (width + gap)
            canvas[top : top + height, left : left + width] = picture
    return encode(canvas, ".png")


def sample(trainer: BaselineTrainer, count: int = _SHOWN) -> bytes:
    """Draw the present results of a model, always on the same pairs: contents, styles and results in rows.

    Args:
        trainer: Its training.
        count: Number of pairs.

    Returns:
        A PNG.
    """
    content = trainer.loader.batch(_CONTENT, 0, count).to(trainer.device)
    style = trainer.loader.batch(_STYLE, 0, count).to(trainer.device)
    return contact_sheet([pictures(content), pictures(style), pictures(trainer.model.stylise(content, style))])
