"""Similarity of structure: SSIM, SSIM of luminance, similarity of gradients."""

from __future__ import annotations

from typing import Any, Final

import torch

from recolorist.core.image import option
from recolorist_lab.metrics.evaluation import SSIM_FORMS
from recolorist_lab.metrics.images import pair

__all__ = ["gradient_similarity", "luminance", "ssim", "ssim_levels", "ssim_luminance"]


_WINDOW: Final = 7
_COUNT: Final = _WINDOW * _WINDOW
_K1, _K2 = 0.01, 0.03
_GAUSSIAN: Final = 11  # pixels that torchmetrics' window has
_LUMA: Final = (0.299, 0.587, 0.114)  # Rec. 601, as in YCbCr
_GRADIENT_C: Final = 170.0 / 255.0**2  # Xue et al. 2014: 170 for levels up to 255
_GRADIENT_LEAST: Final = 6  # three pixels after halving


def ssim(a: Any, b: Any, form: str = "skimage") -> torch.Tensor:
    """Compute the structural similarity of each pair, as the mean over channels, in float64.

    Args:
        a: Float images (N, C, H, W) in [0, 1].
        b: As many images of the same size.
        form: ``"skimage"`` is scikit-image's default: uniform 7×7 window, sample covariance, no borders. ``"torchmetrics"`` is
            that library's: Gaussian of 11×11, σ 1.5, borders reflected. The data range is 1 in both, never that of the batch.

    Returns:
        A tensor (N,); 1 is equal.

    Raises:
        RangeError: Shape, type or range of the images is not accepted, or they are smaller than the window.
        OptionError: The form is unknown.

    Example:
        >>> image = torch.linspace(0, 1, 300).reshape(1, 3, 10, 10)
        >>> ssim(image, image)
        tensor([1.], dtype=torch.float64)
    """
    option(form, SSIM_FORMS, "form")
    if form == "torchmetrics":
        return _torchmetrics(*pair(a, b, least=_GAUSSIAN))
    first, second = pair(a, b, least=_WINDOW)
    return torch.cat([_ssim(x.double(), y.double(), 1.0) for x, y in _pieces(first, second)])


def ssim_levels(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Compute the default form of SSIM for uint8 levels: the window sums are exact, and it is faster.

    Args:
        a: (N, C, H, W), uint8.
        b: (N, C, H, W), uint8.

    Returns:
        One value an image.
    """
    return torch.cat([_ssim(x.float(), y.float(), 255.0) for x, y in _pieces(a, b)])


def ssim_luminance(a: Any, b: Any) -> torch.Tensor:
    """Compute the SSIM of 0.299 R + 0.587 G + 0.114 B, which ignores changes of colour at equal brightness.

    Args:
        a: Float images (N, 3, H, W) in [0, 1].
        b: As many images of the same size.

    Returns:
        A tensor (N,) in float64; 1 is equal.

    Raises:
        RangeError: Shape, type or range of the images is not accepted.

    Example:
        >>> grey = torch.linspace(0, 1, 100).reshape(1, 1, 10, 10).expand(1, 3, 10, 10)
        >>> ssim_luminance(grey, grey)
        tensor([1.], dtype=torch.float64)
    """
    first, second = pair(a, b, least=_WINDOW)
    return torch.cat([_ssim(luminance(x), luminance(y), 1.0) for x, y in _pieces(first, second)])


def gradient_similarity(a: Any, b: Any) -> torch.Tensor:
    """Compute the mean of the gradient-magnitude similarity map (Xue et al. 2014).

    Luminance, means of 2×2 pixels, Prewitt operators divided by 3, magnitudes g and h, then (2gh + c) / (g² + h² + c) with
    c = 170 / 255². Borders for which the operator would need padding do not count. The mean, not the deviation (GMSD).

    Args:
        a: Float images (N, 3, H, W) in [0, 1].
        b: As many images of the same size.

    Returns:
        A tensor (N,) in float64; 1 is equal.

    Raises:
        RangeError: Shape, type or range of the images is not accepted.

    Example:
        >>> image = torch.linspace(0, 1, 300).reshape(1, 3, 10, 10)
        >>> gradient_similarity(image, image)
        tensor([1.], dtype=torch.float64)
    """
    first, second = pair(a, b, least=_GRADIENT_LEAST)
    return torch.cat([_gradients(x, y) for x, y in _pieces(first, second)])


def luminance(images: torch.Tensor) -> torch.Tensor:
    """Compute Rec. 601 luma in float64.

    Args:
        images: (N, 3, H, W).

    Returns:
        (N, 1, H, W).
    """
    red, green, blue = images.split(1, dim=1)
    return (red.double() * _LUMA[0]).add_(green.double(), alpha=_LUMA[1]).add_(blue.double(), alpha=_LUMA[2])


def _pieces(a: torch.Tensor, b: torch.Tensor) -> Any:
    """Yield one image at a time on a CPU, so that its planes stay in the cache; all at once elsewhere."""
    size = 1 if a.device.type == "cpu" else len(a)
    return zip(a.split(size), b.split(size), strict=True)


def _ssim(x: torch.Tensor, y: torch.Tensor, data_range: float) -> torch.Tensor:
    """Compute SSIM with all terms multiplied by powers of the window's size, so that sums of integers stay integers.

    Float32 holds every sum of 98 squares of levels exactly (98 × 255² < 2²⁴); what follows is float64.
    """
    sum_x, sum_y, sum_xy, sum_squares = (_box(image).double() for image in (x, y, x * y, torch.addcmul(x * x, y, y)))
    c1 = (_K1 * data_range) ** 2 * _COUNT**2
    c2 = (_K2 * data_range) ** 2 * _COUNT * (_COUNT - 1)
    product = sum_x * sum_y
    squares = sum_x.square_().add_(sum_y.square_())
    above = (2 * product).add_(c1).mul_(sum_xy.mul_(_COUNT).sub_(product).mul_(2).add_(c2))
    below = sum_squares.mul_(_COUNT).sub_(squares).add_(c2).mul_(squares.add_(c1))
    return above.div_(below).mean(dim=(2, 3)).mean(dim=1)


def _box(x: torch.Tensor) -> torch.Tensor:
    """Sum over all windows inside the image: along columns, then along rows, four additions each."""
    return _run(_run(x, 2), 3)


def _run(x: torch.Tensor, axis: int) -> torch.Tensor:
    size = x.shape[axis]
    two = x.narrow(axis, 0, size - 1) + x.narrow(axis, 1, size - 1)
    four = two.narrow(axis, 0, size - 3) + two.narrow(axis, 2, size - 3)
    length = size - _WINDOW + 1
    return four.narrow(axis, 0, length).add_(two.narrow(axis, 4, length)).add_(x.narrow(axis, 6, length))


def _gradients(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    g, h = _squared_gradient(luminance(a)), _squared_gradient(luminance(b))
    product = (g * h).sqrt_()
    return product.mul_(2).add_(_GRADIENT_C).div_(g.add_(h).add_(_GRADIENT_C)).mean(dim=(1, 2, 3))


def _squared_gradient(plane: torch.Tensor) -> torch.Tensor:
    even = plane[..., : plane.shape[2] // 2 * 2, : plane.shape[3] // 2 * 2]
    rows = even[..., 0::2, :] + even[..., 1::2, :]
    halved = (rows[..., 0::2] + rows[..., 1::2]).mul_(0.25)
    down = halved[..., :-2, :] + halved[..., 1:-1, :] + halved[..., 2:, :]
    across = halved[..., :, :-2] + halved[..., :, 1:-1] + halved[..., :, 2:]
    step_x, step_y = down[..., :, 2:] - down[..., :, :-2], across[..., 2:, :] - across[..., :-2, :]
    return step_x.square_().add_(step_y.square_()).div_(9)


def _torchmetrics(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()
    from torchmetrics.functional.image import structural_similarity_index_measure as measure

    values: Any = [measure(x.double(), y.double(), data_range=1.0, reduction="none") for x, y in _pieces(a, b)]
    return torch.cat([value.reshape(-1) for value in values])
