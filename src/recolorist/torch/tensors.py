"""Tensors with channels first as arrays for the core, without a copy where memory allows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.augment.colorist import Colorist, Draw
from recolorist.core import image as check
from recolorist.core import kernels
from recolorist.errors import ImageError, OptionError
from recolorist.torch.draws import Affine, is_plain, plain_map

__all__ = ["DetachedWarning", "channels_last", "image_of", "images_last", "recolour_tensor", "write_planes"]


_SIGNED: Final = (torch.int8, torch.int16, torch.int32, torch.int64)


class DetachedWarning(UserWarning):
    """An image that requires gradients came to a transform that is not differentiable; its result has no gradients."""


def channels_last(image: torch.Tensor) -> NDArray[Any]:
    """Return the memory of an image (C, H, W) as an array (H, W, C).

    Raises:
        ImageError: The tensor is not an image.

    Example:
        >>> channels_last(torch.zeros(3, 4, 5)).shape
        (4, 5, 3)
    """
    if image.ndim != 3:
        raise ImageError(f"a tensor of shape {tuple(image.shape)} was given; accepted is one image (C, H, W)")
    array: NDArray[Any] = image.detach().permute(1, 2, 0).numpy()
    return array


def image_of(sample: Any, place: int | str) -> Any:
    """Return the image in a tuple, list or dictionary; a sample that is none of these is the image itself.

    Raises:
        OptionError: The sample has no such part.

    Example:
        >>> image_of({"image": 1, "label": 2}, "image"), image_of(3, 0)
        (1, 3)
    """
    if not isinstance(sample, (tuple, list, Mapping)):
        return sample
    parts: Any = sample
    try:
        return parts[place]
    except (KeyError, IndexError, TypeError) as error:
        raise OptionError(f"a sample of type {type(sample).__name__} has no part {place!r}; say where it is") from error


def recolour_tensor(colorist: Colorist, tensor: torch.Tensor, draw: Draw, mask: Any = None) -> torch.Tensor:
    """Give each image of (..., C, H, W) the drawn style; same shape, dtype and device out as in.

    The result carries no gradients: for an input that requires them a :class:`DetachedWarning` is issued.
    Tensors on other devices are copied to the CPU and back; use :class:`recolorist.torch.ColorMatch` for those.

    Args:
        colorist: The augmentation.
        tensor: The images; signed integers need a declared ``data_range``.
        draw: What was drawn for all of them.
        mask: One foreground for all of them.

    Raises:
        ImageError: The tensor holds no image, or signed integers whose range is not declared.
    """
    if tensor.requires_grad and torch.is_grad_enabled():
        warnings.warn(
            "the image requires gradients, and this transform detaches it; recolorist.torch.ColorMatch and "
            "recolorist.kornia.RandomColorist keep them. Call image.detach() first if none are needed.",
            DetachedWarning,
            stacklevel=2,
        )
        tensor = tensor.detach()
    if tensor.device.type != "cpu":
        return recolour_tensor(colorist, tensor.cpu(), draw, mask).to(tensor.device)
    if tensor.dtype is torch.bfloat16:  # NumPy has no such type
        return recolour_tensor(colorist, tensor.float(), draw, mask).to(tensor.dtype)
    if tensor.dtype in _SIGNED:
        return _recolour_signed(colorist, tensor, draw, mask)
    if tensor.ndim < 3:
        raise ImageError(f"a tensor of shape {tuple(tensor.shape)} was given; accepted are images (..., C, H, W)")
    inside = mask.cpu().numpy() if isinstance(mask, torch.Tensor) else mask
    result = torch.empty(tensor.shape, dtype=tensor.dtype)
    for pixels, goal in zip(images_last(tensor), images_last(result), strict=True):
        if inside is None and is_plain(colorist, pixels):
            write_planes(pixels, goal, plain_map(colorist, pixels, draw))
        else:
            goal[...] = colorist.recolour(pixels, draw, inside)
    return result


def _recolour_signed(colorist: Colorist, tensor: torch.Tensor, draw: Draw, mask: Any) -> torch.Tensor:
    """Recolour signed integers in 0 to the declared range: as uint16 where that holds them, else in float64, rounded."""
    limit = colorist.data_range
    if limit is None:
        raise ImageError(
            f"an image of {str(tensor.dtype).removeprefix('torch.')} was given, which does not say how large its values may be; "
            "declare it, for example data_range=4095 for 12 bits, or convert the image to uint8 or uint16"
        )
    most = torch.iinfo(tensor.dtype)
    if most.max < limit < math.inf:
        raise ImageError(
            f"{str(tensor.dtype).removeprefix('torch.')} ends at {most.max}, below data_range={limit:g}, so it cannot hold every "
            "result; declare the largest value the images have, or convert them to a larger type"
        )
    if tensor.numel():
        check.refuse_outside(int(tensor.min()), int(tensor.max()), limit)
    if limit <= check.NATURAL_RANGE["H"]:
        return recolour_tensor(colorist, tensor.to(torch.uint16), draw, mask).to(tensor.dtype)
    return recolour_tensor(colorist, tensor.double(), draw, mask).round_().clamp_(most.min, most.max).to(tensor.dtype)


def images_last(tensor: torch.Tensor) -> NDArray[Any]:
    """Return the images of (..., C, H, W) as one array (N, H, W, C)."""
    array: NDArray[Any] = tensor.detach().numpy()
    count = math.prod(array.shape[:-3])
    return array.reshape(count, *array.shape[-3:]).transpose(0, 2, 3, 1)


def write_planes(pixels: NDArray[Any], goal: NDArray[Any], move: Affine) -> None:
    """Write a map of integer pixels that does not mix channels, straight into channel-first memory."""
    for c, (gain, offset) in enumerate(zip(move.gain, move.offset, strict=True)):
        plane = np.ascontiguousarray(pixels[..., c])
        kernels.loops.affine(plane, goal[..., c], pixels.dtype.char, 1, [gain], [offset], 0.0, move.data_range)
