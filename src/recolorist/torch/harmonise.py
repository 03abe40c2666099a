"""Harmonising as a module in front of a model, which goes with it to ONNX and TorchScript."""

from __future__ import annotations

import os
from typing import Literal

import torch

from recolorist.augment.harmoniser import Gate, Harmoniser, strengths
from recolorist.bank.drift import COVERAGE
from recolorist.bank.features import LEAST_DEVIATION
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.blank import BAND, SHARE
from recolorist.core.moments import Moments
from recolorist.core.spaces import SPACES
from recolorist.errors import ImageError, OptionError
from recolorist.torch import formulas
from recolorist.torch.exact import ExactModule, is_exporting
from recolorist.torch.formulas import BatchMoments
from recolorist.torch.parameters import Parameters
from recolorist.torch.tensors import images_last

__all__ = ["Harmonise", "harmonise_tensor"]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Harmonise(ExactModule):
    """Give the images of a batch the average colours of a bank, except blank ones and those that lie inside it already.

    It does to (B, C, H, W) what :class:`recolorist.Harmoniser` does to one image, and gives the same bytes for uint8. Sums are
    exact integers and the rest is float64, so this also holds where it was exported to ONNX or TorchScript. An image whose
    distance from the bank equals the edge to the last bits may fall on the other side. There is nothing random in it:
    ``train()`` and ``eval()`` are the same. Images of more than 11 million pixels are refused, and must not be given to an
    exported module.

    Args:
        bank: A :class:`recolorist.StyleBank`, or the path of a saved one; also the moments of one style, which have no gate.
        gate: ``"centre"``, ``"edge"`` or ``"off"``, as for :class:`recolorist.Harmoniser`.
        coverage: Share of images like those of the bank that count as inside.
        domain: Use the styles of this domain of the bank only.
        space: ``"rgb"`` or another linear space; the method is ``mean_std``.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        data_range: Largest value of floating-point batches.
        blank: ``"keep"`` leaves images with nothing in them as they are, ``"match"`` treats them like all others.
        with_distance: Return the distance of each image from the centre of the bank as well, for a log; needs a gate.

    Raises:
        OptionError: An option is unknown or outside its limits.
        StatisticsError: The bank has too few styles for a gate.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> levels = rng.integers(90, 130, (60, 1, 1, 3))
        >>> tiles = rng.integers(levels - 40, levels + 40, (60, 8, 9, 3)).astype(np.uint8)
        >>> module = Harmonise(StyleBank.build(tiles, split="train"))
        >>> batch = torch.from_numpy(np.stack([tiles[0], tiles[0] // 2])).permute(0, 3, 1, 2)
        >>> (module(batch) != batch).flatten(1).any(1).tolist()
        [False, True]
    """

    tried: torch.Tensor
    style_mean: torch.Tensor
    style_cov: torch.Tensor
    centre: torch.Tensor
    whiten: torch.Tensor
    _rows: torch.Tensor
    _inverse: torch.Tensor

    def __init__(
        self,
        bank: StyleBank | Moments | str | os.PathLike[str],
        gate: Gate | None = None,
        *,
        coverage: float = COVERAGE,
        domain: str | None = None,
        space: str = "rgb",
        strength: float = 1.0,
        max_gain: float = 10.0,
        data_range: float = 1.0,
        blank: Literal["keep", "match"] = "keep",
        with_distance: bool = False,
    ) -> None:
        """Check the options, and keep the style and the region as buffers."""
        super().__init__()
        if not SPACES[check.option(space, SPACES, "space")].is_linear:
            raise OptionError(f"space={space!r}; this module has linear spaces only, use recolorist.Harmoniser for others")
        options = {"space": space, "strength": strength, "max_gain": max_gain, "blank": blank}
        self.core = Harmoniser(bank, gate, coverage=coverage, domain=domain, **options)  # type: ignore[arg-type]
        self.data_range = check.number(data_range, 1e-30, 1e30, "data_range")
        self.with_distance = with_distance
        style, region = self.core.style.rescaled(1.0), self.core.region
        if with_distance and region is None:
            raise OptionError("with_distance=True needs a gate, and gate='off' has no distance; choose 'centre' or 'edge'")
        self.edge = 0.0 if region is None else region.threshold
        self.register_buffer("tried", torch.tensor(strengths(self.core.options.strength)), persistent=False)
        self.register_buffer("style_mean", torch.tensor(style.mean)[None])
        self.register_buffer("style_cov", torch.tensor(style.cov)[None])
        self.register_buffer("centre", None if region is None else torch.tensor(region.centre))
        self.register_buffer("whiten", None if region is None else torch.tensor(region.whiten))
        rows, inverse = formulas.mixing_tensors(SPACES[space].basis)  # type: ignore[arg-type]  # linear: it has one
        self.register_buffer("_rows", rows, persistent=False)
        self.register_buffer("_inverse", inverse, persistent=False)

    def forward(self, batch: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Return the batch harmonised, and with ``with_distance`` the distances (B,) of the images as they came.

        Args:
            batch: (B, C, H, W), uint8 or floating point in 0 to ``data_range``.

        Raises:
            ImageError: The batch has another shape, dtype or number of channels.
        """
        self._refuse_other_batches(batch)
        data_range = 255.0 if batch.dtype == torch.uint8 else self.data_range
        gated, mixes = self.core.region is not None, self.core.options.space != "rgb"
        content = formulas.measure(batch, cross=gated or mixes)
        strength = torch.full_like(content.mean[:, 0], self.core.options.strength)
        changes, distance = torch.ones_like(strength, dtype=torch.bool), torch.zeros_like(strength)
        if gated:
            distance = self._distance(content.scale(1.0 / data_range))
            changes = distance > self.edge
            if self.core.gate == "edge":
                strength = self._strengths_to_edge(content.scale(1.0 / data_range))
        if self.core.options.blank == "keep":
            changes = changes & ~_are_blank(batch, content, data_range)
        gain, offset = self._decide(content, strength, data_range)
        parameters = Parameters(gain, offset, changes, torch.full_like(strength, data_range))
        changed = formulas.apply(batch, parameters, data_range)
        return (changed, distance) if self.with_distance else changed

    def extra_repr(self) -> str:
        """Return the options as torch prints modules."""
        return repr(self.core).removeprefix("Harmoniser(").removesuffix(")")

    def _decide(self, content: BatchMoments, strength: torch.Tensor, data_range: float) -> tuple[torch.Tensor, torch.Tensor]:
        style = BatchMoments(self.style_mean, self.style_cov).scale(data_range)
        basis = (self._rows, self._inverse) if self.core.options.space != "rgb" else None
        return formulas.decide(content, style, strength, self.core.options.max_gain, basis)

    def _strengths_to_edge(self, unit: BatchMoments) -> torch.Tensor:
        """Return the least strength that brings each image inside, of those that the core tries; else the nearest."""
        gain, offset = self._decide(unit, torch.ones_like(unit.mean[:, 0]), 1.0)
        matrix = torch.diag_embed(gain) if gain.ndim == 2 else gain
        here = torch.eye(unit.mean.shape[1], dtype=torch.float64, device=gain.device)
        matrices = here + self.tried[:, None, None] * (matrix - here)[:, None]  # (B, strengths, C, C)
        goal = (matrix @ unit.mean[..., None])[..., 0] + offset
        mean = unit.mean[:, None] + self.tried[:, None] * (goal - unit.mean)[:, None]
        cov = matrices @ unit.cov[:, None] @ matrices.transpose(2, 3)
        distance = self._distance(BatchMoments(mean.flatten(0, 1), cov.flatten(0, 1))).view(-1, self.tried.shape[0])
        inside = distance <= self.edge
        least = torch.where(inside, self.tried, self.tried[-1]).amin(-1)
        return torch.where(inside.any(-1), least, self.tried[distance.argmin(-1)])

    def _distance(self, unit: BatchMoments) -> torch.Tensor:
        whitened = (_features(unit) - self.centre) @ self.whiten
        return whitened.square().sum(-1).sqrt()

    def _refuse_other_batches(self, batch: torch.Tensor) -> None:
        if batch.ndim != 4 or batch.dtype not in (torch.uint8, *_FLOATS):
            raise ImageError(
                f"a tensor of shape {tuple(batch.shape)} and dtype {batch.dtype} was given; accepted are (B, C, H, W) of uint8 "
                "or floating point, before Normalize"
            )
        if not is_exporting() and batch.shape[1] != self.style_mean.shape[1]:
            raise ImageError(
                f"the batch has {batch.shape[1]} channel(s), and the bank {self.style_mean.shape[1]}; they must agree"
            )


def _features(unit: BatchMoments) -> torch.Tensor:
    """Return the features of :func:`recolorist.bank.features.style_features`, with the factor written out.

    Exporters know no Cholesky factor.
    """
    channels = unit.mean.shape[1]
    factor: dict[tuple[int, int], torch.Tensor] = {}
    for i in range(channels):
        for j in range(i + 1):
            rest = unit.cov[:, i, j] + (LEAST_DEVIATION**2 if i == j else 0.0)
            for k in range(j):
                rest = rest - factor[i, k] * factor[j, k]
            factor[i, j] = rest.sqrt() if i == j else rest / factor[j, j]
    entries = [value.log() if i == j else value for (i, j), value in factor.items()]
    return torch.cat([unit.mean, torch.stack(entries, -1)], -1)


def _are_blank(batch: torch.Tensor, content: BatchMoments, data_range: float) -> torch.Tensor:
    """Return which images are blank, by the rule of :mod:`recolorist.core.blank`."""
    band = BAND * data_range
    still = content.cov.diagonal(dim1=1, dim2=2) < band * band
    near = (batch.flatten(2).double() - content.mean[..., None]).abs() <= band
    share = near.sum(-1, dtype=torch.int64).double() / near.shape[-1]
    return (still & (share >= SHARE)).all(-1)


def harmonise_tensor(harmoniser: Harmoniser, tensor: torch.Tensor) -> torch.Tensor:
    """Harmonise each image of (..., C, H, W) through the core; same shape, dtype and device out as in, without gradients.

    Args:
        harmoniser: The harmoniser.
        tensor: uint8, uint16 or floating point; others are copied to the CPU and back.

    Raises:
        ImageError: The tensor holds no image.

    Example:
        >>> style = Moments(1, [0.5], [[0.04]], 1.0)
        >>> ramp = torch.arange(0, 120, 10, dtype=torch.uint8).view(1, 3, 4)
        >>> harmonise_tensor(Harmoniser(style), ramp).float().mean().round()
        tensor(128.)
    """
    if tensor.device.type != "cpu":
        return harmonise_tensor(harmoniser, tensor.cpu()).to(tensor.device)
    if tensor.dtype is torch.bfloat16:  # NumPy has no such type
        return harmonise_tensor(harmoniser, tensor.float()).to(tensor.dtype)
    if tensor.ndim < 3:
        raise ImageError(f"a tensor of shape {tuple(tensor.shape)} was given; accepted are images (..., C, H, W)")
    result = torch.empty(tensor.shape, dtype=tensor.dtype)
    for pixels, goal in zip(images_last(tensor), images_last(result), strict=True):
        goal[...] = harmoniser(pixels)
    return result
