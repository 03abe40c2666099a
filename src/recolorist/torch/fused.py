"""From uint8 image to normalised float tensor, with or without new colours, in one pass over the pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.colorist import Colorist, Draw
from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.errors import ImageError, OptionError
from recolorist.torch.draws import Affine, Source, affine_map, open_colorist
from recolorist.torch.tensors import channels_last

__all__ = ["ToNormalizedTensor"]

Floats = NDArray[np.float32]


class ToNormalizedTensor:
    """Convert a uint8 image (array, PIL image or tensor) to a normalised float32 tensor (C, H, W).

    It replaces ``[ToImage(), ToDtype(torch.float32, scale=True), Normalize(mean, std)]`` and gives the same bits. These steps are
    run once, on the 256 values a byte can have, and pixels are looked up. With ``colorist`` each image first gets the colours of
    ``colorist(image)``, by the same table. Matched values are rounded to whole levels in between, so the result is that of the
    separate steps. What is not a map of single channels (another space, a histogram method, ``apply_to="mask"``) is applied first
    and looked up afterwards.

    Args:
        mean: Subtracted from each channel in 0 to 1.
        std: Each channel is divided by this afterwards.
        colorist: Gives each image new colours first: a :class:`recolorist.Colorist`, a bank, or the path of one.

    Raises:
        OptionError: ``mean`` and ``std`` are not as many finite numbers each, or ``std`` holds 0.

    Example:
        >>> to_tensor = ToNormalizedTensor(mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
        >>> to_tensor(np.full((4, 5, 3), 255, np.uint8))[0, 0, :2]
        tensor([2., 2.])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], colorist: Source | None = None) -> None:
        """Compute the tables."""
        self.mean, self.std = tuple(map(float, mean)), tuple(map(float, std))
        if not self.mean or len(self.mean) != len(self.std) or not all(np.isfinite((*self.mean, *self.std))) or not all(self.std):
            raise OptionError(
                f"mean={mean!r}, std={std!r}; accepted are as many finite numbers each as there are channels, std not 0"
            )
        self.colorist = None if colorist is None else open_colorist(colorist)
        self._tables = _tables(self.mean, self.std)
        self._ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None], len(self.mean), axis=1)

    @overload
    def __call__(self, image: Any, /, *, mask: Any = None, **where: Any) -> torch.Tensor: ...

    @overload
    def __call__(self, image: Any, /, *rest: Any, mask: Any = None, **where: Any) -> Any: ...

    def __call__(self, image: Any, /, *rest: Any, mask: Any = None, **where: Any) -> Any:
        """Convert one image.

        Args:
            image: The image.
            *rest: Other parts of the sample, such as the label; they are returned after the image as they came.
            mask: The foreground of the image.
            **where: ``key``, ``index``, ``epoch``, ``label`` and ``domain``, which go to the colorist.

        Returns:
            The tensor; or a tuple of it and ``rest`` if there is any, as torchvision's transforms return it.

        Raises:
            ImageError: The image is not uint8 with as many channels as ``mean`` has.
        """
        draw = None if self.colorist is None else self.colorist.draw(**where)
        converted = self.convert(image, self.colorist, draw, mask)
        return (converted, *rest) if rest else converted

    def convert(self, image: Any, colorist: Colorist | None = None, draw: Draw | None = None, mask: Any = None) -> torch.Tensor:
        """Apply a draw, if there is one, and convert.

        Args:
            image: An array or PIL image.
            colorist: The augmentation that the draw is of.
            draw: What it drew; None leaves the colours as they are.
            mask: The pixels to measure.

        Returns:
            The normalised image, channel-first.
        """
        pixels = self._open(image)
        tables = self._tables
        if colorist is not None and draw is not None:
            move = affine_map(colorist, pixels, draw, mask)
            if move is not None and len(move.gain) == len(self.mean):
                tables = self._compose(move)
            else:
                pixels = colorist.recolour(pixels, draw, mask)
        return _look_up(pixels, tables)

    def __repr__(self) -> str:
        """The options."""
        return f"ToNormalizedTensor(mean={self.mean}, std={self.std}, colorist={self.colorist!r})"

    def _open(self, image: Any) -> NDArray[np.uint8]:
        """Return pixels (H, W, C), whose memory may be channel first."""
        if isinstance(image, torch.Tensor):
            image = channels_last(image)
        opened = check.open_image(image, alpha=False if isinstance(image, np.ndarray) else None)
        depth = opened.array.shape[-1]
        if opened.kind != "B" or opened.is_batch or depth != len(self.mean):
            raise ImageError(
                f"an image of shape {opened.shape} and dtype {opened.array.dtype} was given; needed is one of uint8 with "
                f"{len(self.mean)} channel(s), as many as mean and std have. PIL images are converted with image.convert('RGB')."
            )
        return opened.array

    def _compose(self, move: Affine) -> Floats:
        """Return tables for two steps: the map of levels, made by the loop that maps pixels, then the conversion."""
        channels = len(self.mean)
        levels = np.empty((256, channels), np.uint8)
        kernels.loops.affine(self._ramp, levels, "B", channels, move.gain, move.offset, 0.0, move.data_range)
        return np.array([table[level] for table, level in zip(self._tables, levels.T, strict=True)])


def _look_up(pixels: NDArray[np.uint8], tables: Floats) -> torch.Tensor:
    height, width, channels = pixels.shape
    result = torch.empty((channels, height, width), dtype=torch.float32)
    target: Floats = result.numpy()
    if channels > 1 and pixels[..., 0].flags.c_contiguous and pixels.size > channels:  # channels come first in memory
        for c in range(channels):
            kernels.loops.planes(pixels[..., c], target[c], 1, tables[c : c + 1])
    else:
        kernels.loops.planes(np.ascontiguousarray(pixels), target, channels, tables)
    return result


def _tables(mean: tuple[float, ...], std: tuple[float, ...]) -> Floats:
    """Return what each of the 256 levels becomes, per channel, by torchvision or the same operations where it is missing."""
    ramp = torch.arange(256, dtype=torch.uint8).expand(len(mean), 1, 256)
    declare_missing_ops()
    try:
        from torchvision.transforms.v2 import functional
    except ImportError:
        converted = ramp.to(torch.float32).mul_(1.0 / 255)
        centre, spread = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))
        converted = converted.sub(centre).div_(spread)
    else:
        converted = functional.normalize(functional.to_dtype(ramp, torch.float32, scale=True), list(mean), list(std))
    return np.ascontiguousarray(converted[:, 0].numpy())
