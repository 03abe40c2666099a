"""EFDM: each channel of the content's features takes the style's sorted values at its own ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

import torch
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import losses
from recolorist_lab.baselines.base import OfficialFile
from recolorist_lab.baselines.networks.adain import OFFICIAL, AdaIN
from recolorist_lab.baselines.statistics import adain, mean_std, widened

__all__ = ["EFDM", "VARIANTS", "Variant", "exact_loss", "exact_match"]

_TIE_SEED: Final = 3407  # any fixed number: the order must be the same in every run


def exact_match(content: Tensor, style: Tensor, *, break_ties: bool = False) -> Tensor:
    """Put the style's sorted values at the content's ranks, per sample and channel. The gradient passes to the content unchanged.

    With as many positions on both sides the values are exactly the style's. Otherwise the style's quantile function is resampled
    linearly to the content's number of positions. Equal values keep the order of their positions, which puts a ramp from top left
    to bottom right on large flat regions. With ``break_ties`` they take a fixed random order instead.

    Args:
        content: Features, `(B, C, H, W)`.
        style: Features of as many samples and channels.
        break_ties: Give equal values a fixed random order.

    Returns:
        Features of the content's shape.

    Raises:
        OptionError: Samples or channels differ in number.

    Example:
        >>> x, y = torch.tensor([[[[3.0, 1.0, 2.0]]]]), torch.tensor([[[[10.0, 30.0, 20.0]]]])
        >>> exact_match(x, y).tolist()
        [[[[30.0, 10.0, 20.0]]]]
    """
    if content.shape[:2] != style.shape[:2]:
        raise OptionError(
            f"features of shapes {tuple(content.shape)} and {tuple(style.shape)}; both must have the same number "
            "of samples and channels"
        )
    flat = content.detach().flatten(2)
    order = _shuffled_order(flat) if break_ties else flat.sort(dim=-1, stable=True).indices
    values = _resampled(style.detach().flatten(2).sort(dim=-1).values, flat.shape[-1])
    matched = torch.empty_like(flat).scatter_(-1, order, values.to(flat.dtype)).reshape(content.shape)
    return content + (matched - content.detach()) if content.requires_grad else matched


def exact_loss(features: Sequence[Tensor], target: Sequence[Tensor]) -> Tensor:
    """Compute squared differences of sorted channels: a mean at each tap, summed over the taps.

    This has the value and the gradient of comparing features with themselves matched to the target, without the scattering.

    Args:
        features: At every tap.
        target: Features to compare with, at every tap.

    Returns:
        The loss.
    """
    ordered = [tap.flatten(2).sort(dim=-1).values for tap in features]
    resampled = [
        _resampled(tap.flatten(2).sort(dim=-1).values, mine.shape[-1]) for tap, mine in zip(target, ordered, strict=True)
    ]
    return losses.feature_loss(ordered, resampled)


def mean_only(content: Tensor, style: Tensor) -> Tensor:
    """Give features the means of the style and nothing else.

    Args:
        content: Features of the content, (B, C, H, W).
        style: Features of the style, (B, C, H, W).

    Returns:
        (B, C, H, W).
    """
    return content - mean_std(content)[0] + mean_std(style)[0]


def std_only(content: Tensor, style: Tensor) -> Tensor:
    """Give features the deviations of the style, about zero, and nothing else.

    Args:
        content: Features of the content, (B, C, H, W).
        style: Features of the style, (B, C, H, W).

    Returns:
        (B, C, H, W).
    """
    return content / mean_std(content)[1] * mean_std(style)[1]


class Variant(NamedTuple):
    """A transform of features, and the style loss that its authors train its decoder with."""

    transform: Callable[[Tensor, Tensor], Tensor]
    style_loss: Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]


#: The transform, and the controls its authors compare with. A decoder belongs to the transform it was trained with.
VARIANTS: Final = MappingProxyType(
    {
        "efdm": Variant(exact_match, exact_loss),
        "adain": Variant(adain, losses.style_loss),
        "mean": Variant(mean_only, losses.mean_loss),
        "std": Variant(std_only, losses.std_loss),
    }
)


class EFDM(AdaIN):
    """AdaIN's network and recipe with exact feature distribution matching and its style loss."""

    name: ClassVar = "EFDM"
    paper: ClassVar = (
        "Y. Zhang, M. Li, R. Li, K. Jia, L. Zhang: Exact Feature Distribution Matching for Arbitrary Style Transfer "
        "and Domain Generalization. CVPR 2022, arXiv 2203.07740"
    )
    official: ClassVar = (
        OFFICIAL,
        OfficialFile(
            "decoder",
            "decoder_iter_160000.pth.tar",
            what="decoder, 18 tensors",
            address="Google Drive, by the README of https://github.com/YBZh/EFDM",
            git_blobs={"5d91c49b": "hm_decoder_iter_160000.pth of YBZh/EFDM at 80e26bd (MIT), trained with histogram matching"},
        ),
    )
    published: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init__(
        self,
        *,
        encoder: str = "auto",
        alpha: float = 1.0,
        preserve_colour: bool = False,
        content_weight: float = 1.0,
        style_weight: float = 10.0,
        transform: str = "efdm",
        break_ties: bool = False,
    ) -> None:
        """Options of AdaIN; ``transform`` chooses among :data:`VARIANTS`; ``break_ties`` as in :func:`exact_match`."""
        super().__init__(
            encoder=encoder,
            alpha=alpha,
            preserve_colour=preserve_colour,
            content_weight=content_weight,
            style_weight=style_weight,
        )
        if transform not in VARIANTS:
            raise OptionError(f"transform={transform!r}; accepted are {', '.join(VARIANTS)}")
        self.transform, self.break_ties = transform, break_ties

    def match(self, content: Tensor, style: Tensor) -> Tensor:
        """Transform features in float32 or wider."""
        if self.transform == "efdm":
            return exact_match(widened(content), widened(style), break_ties=self.break_ties)
        return VARIANTS[self.transform].transform(content, style)

    def style_term(self, features: Sequence[Tensor], target: Sequence[Tensor]) -> Tensor:
        """Compare the statistic that the transform changes: sorted values, means, deviations, or both."""
        return VARIANTS[self.transform].style_loss(features, target)


def _resampled(ordered: Tensor, count: int) -> Tensor:
    """Interpolate the quantile function linearly to another number of values; return them unchanged where the number is equal."""
    if ordered.shape[-1] == count:
        return ordered
    return torch.nn.functional.interpolate(ordered, size=count, mode="linear", align_corners=True)


def _shuffled_order(flat: Tensor) -> Tensor:
    """Return the order of the values; equal values are ordered by a fixed permutation."""
    shuffle = torch.randperm(flat.shape[-1], generator=torch.Generator().manual_seed(_TIE_SEED)).to(flat.device)
    return shuffle[flat[..., shuffle].sort(dim=-1, stable=True).indices]
