"""Colorist for Kornia: float batches ``(B, C, H, W)`` in 0 to 1 on any device, a style per sample, differentiable.

The draws come from torch's own generator, which PyTorch seeds differently in each loader worker and epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist import _adapters as adapters
from recolorist.augment import streams
from recolorist.augment.colorist import Colorist
from recolorist.augment.samplers import Sampler
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.options import Blank
from recolorist.core.spaces import SPACES
from recolorist.core.style_change import StyleChange
from recolorist.errors import ImageError, OptionError, StatisticsError

try:
    import torch
    from kornia.augmentation import IntensityAugmentationBase2D
    from kornia.augmentation.random_generator.base import RandomGeneratorBase
    from torch import Tensor

    from recolorist.torch import formulas
    from recolorist.torch.formulas import BatchMoments
except ModuleNotFoundError as error:
    raise adapters.explain_missing("kornia", error) from error

__all__ = ["RandomColorist"]

MaskRule = str | Callable[[Tensor], Tensor] | None

_FLAT: Final = 1e-12  # below this a variance is the rounding of a mean in float32, and the channel has one value
_ZERO: Final = np.zeros(())  # stands where a draw has no such numbers
_FAR: Final = 0.5  # so far outside 0 to 1 lies a wrong scale, not the rounding or ringing of a step before


class _Styles(RandomGeneratorBase):
    """Draws a style and a strength for each sample."""

    def __init__(self, core: Colorist) -> None:
        super().__init__()
        self.core = core

    def __repr__(self) -> str:
        return repr(self.core.bank)

    def make_samplers(self, device: torch.device, dtype: torch.dtype) -> None:
        """Do nothing: styles are drawn on the CPU, a few numbers each."""

    @torch.compiler.disable
    def forward(self, batch_shape: tuple[int, ...], same_on_batch: bool = False) -> dict[str, Tensor]:  # noqa: FBT002
        count = batch_shape[0]
        numbers = torch.randint(2**62, (min(count, 1) if same_on_batch else count,)).tolist()
        draws = [self.core.draw_from(streams.stream(0, number)) for number in (numbers * count if same_on_batch else numbers)]
        goals = [draw.style.goal for draw in draws]
        changes = [goal if isinstance(goal, StyleChange) else None for goal in goals]
        channels = self.core.bank.channels
        params = {
            "style_mean": _stack([_ZERO if isinstance(goal, StyleChange) else goal.mean for goal in goals], channels),
            "style_cov": _stack([_ZERO if isinstance(goal, StyleChange) else goal.cov for goal in goals], channels, channels),
            "strength": torch.tensor([draw.strength for draw in draws], dtype=torch.float64),
        }
        if any(changes):
            params["is_change"] = torch.tensor([change is not None for change in changes])
            params["step"] = _stack([_ZERO if change is None else np.array(change.step) for change in changes], channels)
            params["gains"] = _stack([_ZERO if change is None else np.array(change.gains) for change in changes], channels)
        return params


def _stack(rows: list[NDArray[np.float64]], *shape: int) -> Tensor:
    """Return one tensor (B, ...) of float64."""
    return torch.from_numpy(np.array([np.broadcast_to(row, shape) for row in rows], np.float64).reshape(-1, *shape))


class RandomColorist(IntensityAugmentationBase2D):
    """With probability ``p`` (0.3 by default), give each sample of a batch the colour statistics of a style drawn from a bank.

    Each channel gets the mean and standard deviation of the style.

    Args:
        bank: the styles: a :class:`recolorist.StyleBank`, or the path of a saved one (.rcb, .json).
        p: probability of applying the transformation to a sample. Default: 0.3, where most of Kornia's have 0.5.
        space: ``"rgb"`` or another linear space of :data:`recolorist.SPACES`. Default: "rgb".
        sampler: a name of :mod:`recolorist.samplers`, or a callable. Default: "uniform". The numbers of ``"own_style"`` are
            ``step`` and ``gains`` in the parameters, since the style is known only with the sample.
        strength: 0 leaves the image, 1 matches it fully; a pair is a range to draw from. Default: 1.0.
        max_gain: largest factor on a channel. Default: 10.0.
        mask: ``"tissue"``, ``"fundus"``, or a callable from the batch to booleans :math:`(B, H, W)`; the pixels to measure. The
            named rules run on the CPU. Default: None, all pixels.
        apply_to: change ``"all"`` pixels, or only those of the ``"mask"``. Default: "all".
        same_on_batch: apply the same style across the batch. Default: False.
        keepdim: whether to keep the output shape the same as input ``True`` or broadcast it to the batch form ``False``.
            Default: False.
        allow_split: accept banks of other splits than training. Default: False.
        blank: ``"keep"`` leaves blank images as they are and draws no style of one, ``"match"`` treats them like all others.
            Default: "keep".
        max_clip: not available here: a limit is kept by trying maps on the pixels, which would wait for the device.
            Default: None.
        max_loss: not available here, for the same reason. Default: None.

    Shape:
        - Input: :math:`(C, H, W)` or :math:`(B, C, H, W)`; C is that of the bank's images.
        - Output: :math:`(B, C, H, W)`, or :math:`(C, H, W)` with ``keepdim=True``.

    .. note::
        Input tensors must be float and in 0 to 1. Gradients flow through the pixels and through the statistics.

    .. note::
        ``_params`` holds the style of each sample, so that ``augmentation(batch, params=augmentation._params)`` repeats it
        exactly. Samplers that need labels or domains do not work here, since Kornia does not say which image a sample is.

    Raises:
        OptionError: An option is unknown or outside its limits, or a limit is given.

    Examples:
        >>> import numpy as np
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> change = RandomColorist(StyleBank.build(tiles, split="train"), p=1.0)
        >>> batch = torch.rand(4, 3, 24, 16)
        >>> out = change(batch)
        >>> out.shape, torch.equal(change(batch, params=change._params), out)
        (torch.Size([4, 3, 24, 16]), True)
    """

    def __init__(
        self,
        bank: Any,
        p: float = 0.3,
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        mask: MaskRule = None,
        *,
        apply_to: Literal["all", "mask"] = "all",
        same_on_batch: bool = False,
        keepdim: bool = False,
        allow_split: bool = False,
        blank: Blank = "keep",
        max_clip: None = None,
        max_loss: None = None,
    ) -> None:
        """Check every option once, here."""
        _refuse_limits(max_clip, max_loss)
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.core = adapters.build_colorist(locals(), seed=0, mask=None)  # masks are of batches here
        if not SPACES[space].is_linear:
            linear = ", ".join(name for name, entry in SPACES.items() if entry.is_linear)
            raise OptionError(f"space={space!r} is not linear; in Kornia choose from {linear}")
        self.mask = check.option(mask, foreground.RULES, "mask") if isinstance(mask, str) else mask
        self.apply_to = self.core.apply_to
        basis = None if space == "rgb" else SPACES[space].basis
        self._basis = None if basis is None else formulas.mixing_tensors(basis)
        self._param_generator = _Styles(self.core)

    def __repr__(self) -> str:
        """Return the bank in short and every option."""
        options = self.core.format_options("p", "seed", "method", "max_clip", "max_loss", "mask", "data_range", "preprocessing")
        own = f"mask={self.mask!r}, same_on_batch={self.same_on_batch}, keepdim={self.keepdim}"
        return f"{type(self).__name__}({self.core.bank!r}, p={self.p!r}, {options}, {own})"

    def apply_transform(
        self,
        input: Tensor,  # noqa: A002 - the framework's signature
        params: dict[str, Tensor],
        flags: dict[str, Any],  # noqa: ARG002
        transform: Tensor | None = None,  # noqa: ARG002
    ) -> Tensor:
        """Match each sample to its style."""
        channels = self.core.bank.channels
        if input.shape[1] != channels:
            raise StatisticsError(f"the batch has {input.shape[1]} channel(s) and the styles {channels}; they must agree")
        if not input.numel():
            return input
        _refuse_wrong_scale(input)
        pixels = input if input.dtype in (torch.float32, torch.float64) else input.float()
        inside = self._inside(pixels)
        content = _measure(pixels, inside, cross=self._basis is not None)
        gain, offset = (numbers.to(pixels.dtype) for numbers in self._maps(content, params))
        flat = pixels.flatten(2)
        if gain.ndim == 2:
            changed = (flat * gain[..., None]).add_(offset[..., None])
        else:
            changed = torch.baddbmm(offset[..., None], gain, flat)
        matched = changed.clamp_(0.0, 1.0).reshape(pixels.shape)
        if self.core.blank == "keep":
            blank = formulas.are_blank(pixels, content, 1.0, inside)
            matched = torch.where(blank[:, None, None, None], pixels, matched)
        if inside is not None and self.apply_to == "mask":
            matched = torch.where(inside, matched, pixels)
        return matched.to(input.dtype)

    def _maps(self, content: BatchMoments, params: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Plan the map of every sample by the rules of :func:`recolorist.plan`: gains or a matrix, and an offset."""
        mean, cov, strength = (params[name].to(content.mean) for name in ("style_mean", "style_cov", "strength"))
        basis = None if self._basis is None else (self._basis[0].to(mean), self._basis[1].to(mean))
        style = BatchMoments(mean, cov)
        if "is_change" in params:
            step, gains, is_change = params["step"].to(mean), params["gains"].to(mean), params["is_change"].to(mean.device)
            changed = formulas.change_styles(content, step, gains)
            style = BatchMoments(
                torch.where(is_change[:, None], changed.mean, mean), torch.where(is_change[:, None, None], changed.cov, cov)
            )
        return formulas.decide(content, style, strength, self.core.max_gain, basis)

    def _inside(self, pixels: Tensor) -> Tensor | None:
        """Return the foreground as (B, 1, H, W), or None for all pixels."""
        if self.mask is None:
            return None
        if callable(self.mask):
            return self.mask(pixels).reshape(len(pixels), 1, *pixels.shape[2:]).bool()
        foreground: Tensor = _find_foreground(pixels, self.mask, or_all=self.core.blank == "match")
        return foreground


def _refuse_limits(max_clip: object, max_loss: object) -> None:
    """Refuse the limits, naming what keeps them.

    Raises:
        OptionError: One of the two is given.
    """
    for name, value in (("max_clip", max_clip), ("max_loss", max_loss)):
        if value is not None:
            raise OptionError(
                f"{name}={value!r} is not available in Kornia, where a batch is matched without a search; pass {name} to "
                "recolorist.Colorist, recolorist.torchvision.Colorist or recolorist.torch.ColoristDataset in the loader instead, "
                "or lower max_gain or strength here"
            )


@torch.compiler.disable
def _find_foreground(pixels: Tensor, rule: str, *, or_all: bool) -> Tensor:
    """Find the foreground of each sample (B, 1, H, W) on the CPU; where there is none, all pixels, or none for a blank sample."""
    images = pixels.detach().cpu().permute(0, 2, 3, 1).numpy()
    chosen = foreground.find_foreground(foreground.RULES[rule], images, 1.0, or_all=or_all)
    return torch.from_numpy(chosen).to(pixels.device)[:, None]


def _measure(pixels: Tensor, inside: Tensor | None, *, cross: bool) -> BatchMoments:
    """Measure each sample in the precision it came in; mean (B, C) and covariance (B, C, C) are returned in float64."""
    flat = pixels.flatten(2)
    if inside is None and not cross:
        mean = flat.mean(-1)
        length = torch.linalg.vector_norm(flat - mean[..., None], dim=-1)  # torch.var takes ten times as long on the CPU
        variance = length.double().square() / flat.shape[-1]
        return BatchMoments(mean.double(), torch.diag_embed(torch.where(variance < _FLAT, 0.0, variance)))
    weight = torch.ones_like(flat[:, :1]) if inside is None else inside.flatten(2).to(flat.dtype)
    count = weight.sum(-1).clamp(min=1.0)
    mean = (flat * weight).sum(-1) / count
    centred = (flat - mean[..., None]) * weight
    cov = (centred @ centred.mT / count[..., None]).double()
    return BatchMoments(mean.double(), torch.where(cov.abs() < _FLAT, 0.0, cov))


def _refuse_wrong_scale(pixels: Tensor) -> None:
    """Refuse bytes in floats, which would saturate silently; on the CPU only, since looking would stall other devices."""
    if pixels.device.type != "cpu" or torch.compiler.is_compiling():
        return
    low, high = (float(end) for end in torch.aminmax(pixels.detach()))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ImageError("the batch holds NaN or infinite values; repair them before their colours are changed")
    if not -_FAR <= low <= high <= 1.0 + _FAR:
        raise ImageError(f"the batch holds values from {low:g} to {high:g}; Kornia's images lie in 0 to 1, divide them first")
