"""Colorist in timm's pipelines: its ``create_transform`` with one argument more."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from recolorist import _adapters as adapters
from recolorist._torchvision_ops import declare_missing_ops

declare_missing_ops()

try:
    from timm.data.transforms_factory import create_transform as create_timm_transform
    from torchvision.transforms import Compose
except ModuleNotFoundError as error:
    raise adapters.explain_missing("timm", error) from error

__all__ = ["create_transform"]


def create_transform(*arguments: Any, colorist: Callable[[Any], Any] | None = None, **options: Any) -> Any:
    """Create timm's transform with new colours between its geometric and its colour steps.

    Args:
        *arguments: Positional arguments of ``timm.data.create_transform``.
        colorist: A :class:`recolorist.torchvision.Colorist`, whose default probability is 0.3. It is used in training only:
            transforms for evaluation, and with ``no_aug=True``, are timm's own.
        **options: Options of ``timm.data.create_transform``.

    Returns:
        What timm returns: a ``Compose``, or three of them with ``separate=True``.

    Raises:
        TypeError: An option is unknown to timm.

    Example:
        >>> import numpy as np
        >>> from PIL import Image
        >>> from recolorist import StyleBank
        >>> from recolorist.torchvision import Colorist
        >>> tiles = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
        >>> colours = Colorist(StyleBank.build(tiles, split="train"), p=1.0)
        >>> transform = create_transform(32, is_training=True, colorist=colours)
        >>> transform(Image.fromarray(tiles[0])).shape
        torch.Size([3, 32, 32])
    """
    chosen = inspect.signature(create_timm_transform).bind(*arguments, **options).arguments
    if colorist is None or not chosen.get("is_training") or chosen.get("no_aug"):
        return create_timm_transform(**chosen)
    together = not chosen.get("separate")
    geometry, colours, conversion = create_timm_transform(**chosen | {"separate": True})
    first = Compose([*geometry.transforms, colorist])
    return Compose([*first.transforms, *colours.transforms, *conversion.transforms]) if together else (first, colours, conversion)
