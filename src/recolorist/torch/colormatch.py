"""A module that gives each image of a batch (B, C, H, W) the colours of a bank, or of another image, on any device."""

from __future__ import annotations

import math
import os
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.augment.styles import Sampler
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.core.blank import is_blank
from recolorist.core.gains import Pairs, diagonal_map, rescaled_pairs
from recolorist.core.match import match_opened, measure_for
from recolorist.core.moments import Moments, trusted_moments
from recolorist.core.options import Blank, MatchOptions, match_options
from recolorist.core.spaces import SPACES
from recolorist.core.style_change import StyleChange
from recolorist.errors import ImageError, OptionError
from recolorist.torch import formulas
from recolorist.torch.changes import changes_of, draw_changes, open_sampler
from recolorist.torch.draws import Affine, measure_levels
from recolorist.torch.exact import ExactModule
from recolorist.torch.formulas import BatchMoments
from recolorist.torch.parameters import Parameters
from recolorist.torch.tensors import images_last, write_planes

__all__ = ["ColorMatch", "Draws"]

#: Place in the batch; row of the bank, place of the style in the batch, or change of the own style; strength.
_Chosen = tuple[int, int | StyleChange, float]
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Draws(NamedTuple):
    """What was drawn for a batch; pass it to the module again to repeat it."""

    applied: torch.Tensor  #: (B,) bool
    source: torch.Tensor  #: (B,) int64: rows of the bank, or places in the batch
    strength: torch.Tensor  #: (B,) float64
    step: torch.Tensor | None = None  #: (B, C) float64, of ``own_style``: added to the means of the images, in units of 0 to 1
    gains: torch.Tensor | None = None  #: (B, C) float64, of ``own_style``: factors on their deviations


class ColorMatch(ExactModule):
    """With probability ``p`` each, give the images of a batch new colours: those of a bank, or without one, of each other.

    Takes (B, C, H, W), uint8 or floating point in 0 to ``data_range``; same dtype, shape and device out. The method is
    ``mean_std`` in ``rgb`` or another linear space. Styles are drawn uniformly from the bank, and never the image itself
    if ``own`` rows are given in the call. With ``own_style`` they are the image's own after a change. Without a bank the batch is
    rolled by a random shift. For other samplers and methods draw in the worker and ship: :class:`ParameterCollate` and
    :meth:`apply_parameters`.

    ``mode="batch_fraction"`` changes exactly the share ``p`` of the batch, rounded. Random numbers come from torch's generator
    of the batch's device, or from ``generator``. In ``eval()`` nothing is changed.

    On the CPU, uint8 and float images equal those of :func:`recolorist.match` to the last bit. Elsewhere, and compiled, uint8
    does too in RGB, up to 744,000 pixels an image, where float64 is IEEE and multiplication and addition are not fused. It can
    differ by one level otherwise, in the rare values that fall on a half. Nothing waits for the device. Gradients flow
    through floats, the statistics included; values are then not checked for being in range.

    Args:
        bank: A :class:`recolorist.StyleBank`, the path of a saved one, or None for styles of the batch.
        p: Probability of changing an image, or the share of the batch to change.
        method: ``"mean_std"``.
        space: ``"rgb"`` or another linear space.
        strength: 0 leaves the image, 1 matches it fully; a pair is a range to draw from.
        max_gain: Largest factor on a channel.
        mode: ``"per_sample"`` or ``"batch_fraction"``.
        data_range: Largest value of floating-point batches.
        generator: Random numbers come from this one.
        allow_split: Accept banks of other splits than training.
        blank: ``"keep"`` leaves blank images as they are, and draws no style of one; without a bank an image whose style would
            come from a blank one stays as it is. ``"match"`` treats them like all others.
        sampler: ``"uniform"``; or, with a bank, ``"own_style"`` or what :func:`recolorist.samplers.own_style_by` returned.

    Raises:
        OptionError: An option is unknown or outside its limits.

    Example:
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> module = ColorMatch(StyleBank.build(tiles, split="train"), p=1.0)
        >>> batch = torch.from_numpy(tiles).permute(0, 3, 1, 2)
        >>> bool((module(batch) != batch).any()), bool((module.eval()(batch) == batch).all())
        (True, True)
    """

    bank_mean: torch.Tensor
    bank_cov: torch.Tensor
    change_root: torch.Tensor | None
    change_deviations: torch.Tensor | None
    _rows: torch.Tensor
    _inverse: torch.Tensor

    def __init__(
        self,
        bank: StyleBank | str | os.PathLike[str] | None = None,
        p: float = 0.3,
        method: str = "mean_std",
        space: str = "rgb",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        *,
        mode: Literal["per_sample", "batch_fraction"] = "per_sample",
        data_range: float = 1.0,
        generator: torch.Generator | None = None,
        allow_split: bool = False,
        blank: Blank = "keep",
        sampler: str | Sampler = "uniform",
    ) -> None:
        """Check the options, and keep the bank as buffers."""
        super().__init__()
        self.p = check.number(p, 0, 1, "p")
        self.space = _linear_space(method, space)
        self.strength = check.number_range(strength, 0, 1, "strength")
        self.max_gain = check.number(max_gain, 0, math.inf, "max_gain")
        self.mode = check.option(mode, ("per_sample", "batch_fraction"), "mode")
        self.data_range = check.number(data_range, 1e-30, 1e30, "data_range")
        self.generator = generator
        self.blank = check.option(blank, ("keep", "match"), "blank")
        given = None if bank is None else StyleBank.of(bank)
        styles = given.without_blank() if given is not None and blank == "keep" else given
        self.has_bank = styles is not None
        if styles is not None:
            styles.refuse_other_splits(allow=allow_split)
            _refuse_other_moments(styles)
        mean = np.zeros((0, 3)) if styles is None else styles.mean
        cov = np.zeros((0, 3, 3)) if styles is None else styles.cov
        self.register_buffer("bank_mean", torch.tensor(mean))
        self.register_buffer("bank_cov", torch.tensor(cov))
        root, deviations = open_sampler(sampler, styles)
        self.register_buffer("change_root", root)
        self.register_buffer("change_deviations", deviations)
        rows, inverse = formulas.mixing_tensors(SPACES[self.space].basis)  # type: ignore[arg-type]  # linear: it has one
        self.register_buffer("_rows", rows, persistent=False)
        self.register_buffer("_inverse", inverse, persistent=False)

    def draw(self, count: int, device: torch.device | str = "cpu", own: torch.Tensor | None = None) -> Draws:
        """Draw for a batch.

        Args:
            count: The number of images.
            device: The device of the batch.
            own: Rows of the images in the bank, so that none is matched to itself.
        """
        options: dict[str, Any] = {"device": device}
        if self.generator is not None:  # the tracer refuses a batch size that changes beside `generator=None`
            options["generator"] = self.generator
        if self.mode == "per_sample":
            applied = torch.rand(count, **options) < self.p
        else:
            applied = torch.randperm(count, **options) < round(self.p * count)
        low, high = self.strength
        strength = low + torch.rand(count, dtype=torch.float64, **options) * (high - low)
        if self.change_root is not None and self.change_deviations is not None:
            changes = draw_changes(count, self.change_root, self.change_deviations, options)
            return Draws(applied, torch.arange(count, device=device), strength, *changes)
        if not self.has_bank:
            return self._roll(count, applied, strength, options)
        styles = len(self.bank_mean)
        if own is None or styles == 1:
            return Draws(applied, torch.randint(styles, (count,), **options), strength)
        source = torch.randint(styles - 1, (count,), **options)
        return Draws(applied, source + (source >= own.to(source.device)), strength)

    def forward(self, batch: torch.Tensor, *rest: Any, draws: Draws | None = None, own: torch.Tensor | None = None) -> Any:
        """Return the batch with new colours; in ``eval()``, without ``draws``, as it is.

        Args:
            batch: (B, C, H, W), uint8 or floating point.
            *rest: Other parts of the sample, such as labels; they are returned after the batch as they came.
            draws: What :meth:`draw` returned, to repeat it.
            own: Rows of the images in the bank, as for :meth:`draw`.

        Returns:
            The batch; or a tuple of it and ``rest`` if there is any, as torchvision's transforms return it.

        Raises:
            ImageError: The batch has another shape, dtype or number of channels.
            OptionError: Draws came without their name.
        """
        if any(isinstance(part, Draws) for part in rest):
            raise OptionError("draws were among the parts of the sample; pass them by name, draws=...")
        self._refuse_other_batches(batch)
        changed = self._change(batch, draws, own)
        return (changed, *rest) if rest else changed

    def _change(self, batch: torch.Tensor, draws: Draws | None, own: torch.Tensor | None) -> torch.Tensor:
        """Draw unless that was done, and apply on the route that the device and gradients allow."""
        if draws is None and not self.training:
            return batch
        drawn = self.draw(len(batch), batch.device, own) if draws is None else draws
        if torch.compiler.is_compiling() or batch.device.type != "cpu" or (batch.requires_grad and torch.is_grad_enabled()):
            return formulas.apply(batch, self.measured_parameters(batch, drawn), self._range(batch))
        return self._through_core(batch, drawn)

    def measured_parameters(self, batch: torch.Tensor, draws: Draws) -> Parameters:
        """Return the maps for a batch, by torch operations alone."""
        mixes, data_range = self.space != "rgb", self._range(batch)
        content = formulas.measure(batch, cross=mixes)
        if draws.step is not None and draws.gains is not None:
            style = formulas.change_styles(content, draws.step, draws.gains, data_range)
        elif self.has_bank:
            style = BatchMoments(self.bank_mean, self.bank_cov).rows(draws.source).scale(data_range)
        else:
            style = content.rows(draws.source)
        basis = (self._rows, self._inverse) if mixes else None
        gain, offset = formulas.decide(content, style, draws.strength, self.max_gain, basis)
        applied = draws.applied
        if self.blank == "keep":
            blank = formulas.are_blank(batch, content, data_range)
            applied = applied & ~blank & (True if self.has_bank else ~blank[draws.source])
        return Parameters(gain, offset, applied, torch.full_like(draws.strength, data_range))

    @staticmethod
    def apply_parameters(batch: torch.Tensor, parameters: Parameters, data_range: float = 1.0) -> torch.Tensor:
        """Apply what a worker drew.

        Args:
            batch: (B, C, H, W), uint8 or floating point.
            parameters: The maps of its images.
            data_range: That of floating batches, which may differ from that of the worker's images.

        Raises:
            ImageError: Batch and parameters do not belong together.

        Example:
            >>> parameters = Parameters.of([Affine([2.0] * 3, [10.0] * 3, 255.0)])
            >>> ColorMatch.apply_parameters(torch.full((1, 3, 4, 5), 100, dtype=torch.uint8), parameters)[0, 0, 0, 0]
            tensor(210, dtype=torch.uint8)
        """
        if batch.ndim != 4 or parameters.offset.shape != batch.shape[:2]:
            raise ImageError(
                f"a batch of shape {tuple(batch.shape)} and parameters for {tuple(parameters.offset.shape)} images and channels "
                "were given; they must belong together, (B, C, H, W)"
            )
        return formulas.apply(batch, parameters, 255.0 if batch.dtype == torch.uint8 else data_range)

    def extra_repr(self) -> str:
        """Return the options as torch prints modules."""
        low, high = self.strength
        strength = low if low == high else (low, high)
        source = f"{len(self.bank_mean)} styles" if self.has_bank else "styles of the batch"
        sampler = "uniform" if self.change_root is None else "own_style"
        return (
            f"{source}, p={self.p!r}, method='mean_std', space={self.space!r}, strength={strength!r}, "
            f"max_gain={self.max_gain!r}, mode={self.mode!r}, data_range={self.data_range!r}, generator={self.generator!r}, "
            f"blank={self.blank!r}, sampler={sampler!r}"
        )

    def _roll(self, count: int, applied: torch.Tensor, strength: torch.Tensor, options: dict[str, Any]) -> Draws:
        """Draw one shift: each image takes the style of the one so many places further, cyclically; a single image stays."""
        shift = 1 + torch.randint(max(1, count - 1), (1,), **options)
        source = (torch.arange(count, device=options["device"]) + shift) % max(1, count)
        return Draws(applied & (count > 1), source, strength)

    def _range(self, batch: torch.Tensor) -> float:
        return 255.0 if batch.dtype == torch.uint8 else self.data_range

    def _refuse_other_batches(self, batch: Any) -> None:
        if not isinstance(batch, torch.Tensor):
            raise ImageError(
                f"a {type(batch).__name__} was given; accepted are tensors (B, C, H, W), and the other parts of a sample after "
                "it: module(images, labels)"
            )
        if batch.ndim != 4 or batch.dtype not in (torch.uint8, *_FLOATS):
            raise ImageError(
                f"a tensor of shape {tuple(batch.shape)} and dtype {batch.dtype} was given; accepted are (B, C, H, W) of uint8 "
                "or floating point"
            )
        wanted = self.bank_mean.shape[1] if self.has_bank else (3 if self.space != "rgb" else batch.shape[1])
        if batch.shape[1] != wanted:
            raise ImageError(f"the batch has {batch.shape[1]} channel(s), and {wanted} are needed")

    # ---- on the CPU: image by image through the loops of the core ----------------------------------------------------

    def _through_core(self, batch: torch.Tensor, draws: Draws) -> torch.Tensor:
        if batch.dtype == torch.bfloat16:  # NumPy has no such type
            return self._through_core(batch.float(), draws).to(batch.dtype)
        source = batch.detach().contiguous()
        result = torch.empty_like(source)
        applied = draws.applied.tolist()
        for i in [i for i, chosen in enumerate(applied) if not chosen]:
            result[i] = source[i]
        rows, strengths = draws.source.tolist(), draws.strength.tolist()
        changes = {} if draws.step is None or draws.gains is None else changes_of(draws.step, draws.gains)
        route = self._match_levels if batch.dtype == torch.uint8 and self.space == "rgb" else self._match_any
        route(source, result, [(i, changes.get(i, rows[i]), strengths[i]) for i, chosen in enumerate(applied) if chosen])
        return result

    def _match_levels(self, source: torch.Tensor, result: torch.Tensor, chosen: list[_Chosen]) -> None:
        """Match bytes channel by channel, in channel-first memory."""
        views, targets = images_last(source), images_last(result)
        known: dict[int, Pairs] = {}

        def pairs(i: int) -> Pairs:
            if i not in known:
                known[i] = measure_levels(views[i])
            return known[i]

        mean, variance = self.bank_mean.numpy(), self.bank_cov.diagonal(dim1=1, dim2=2).numpy()
        options = match_options("mean_std", "rgb", 1.0, self.max_gain)
        for i, style, strength in chosen:
            is_kept = self._keeps(views[i], pairs(i))
            if isinstance(style, StyleChange):
                goal = cast("Pairs", style.change(pairs(i), 255.0, "mean_std").style)  # of the kind of what was measured
            elif self.has_bank:
                goal = rescaled_pairs(mean[style], variance[style], 255.0)
            else:
                goal = pairs(style)
                is_kept = is_kept or self._keeps(views[style], goal)
            if is_kept:
                targets[i][...] = views[i]
                continue
            gain, offset, _ = diagonal_map(pairs(i), goal, options.at_strength(strength))
            write_planes(views[i], targets[i], Affine(gain, offset, 255.0))

    def _match_any(self, source: torch.Tensor, result: torch.Tensor, chosen: list[_Chosen]) -> None:
        """Match floats, and spaces that mix channels, through the core, image by image."""
        views, targets = images_last(source), images_last(result)
        options = MatchOptions(space=self.space, max_gain=self.max_gain, blank=self.blank)
        known: dict[int, Moments] = {}
        for i, style, strength in chosen:
            goal: Moments | StyleChange
            if isinstance(style, StyleChange):
                goal = style
            else:
                if style not in known:
                    known[style] = self._style(style) if self.has_bank else _measure_whole(self._open(views[style]), options)
                goal = known[style]
                if not self.has_bank and self._keeps(views[style], goal):
                    targets[i][...] = views[i]
                    continue
            match_opened(self._open(views[i]), None, goal, targets[i], options.at_strength(strength))

    def _open(self, view: NDArray[Any]) -> check.Opened:
        """Open one image, whose fourth channel is a colour and not alpha."""
        return check.open_image(view, None if view.dtype == np.uint8 else self.data_range, alpha=False)

    def _keeps(self, view: NDArray[Any], measured: Pairs | Moments) -> bool:
        """Say whether an image is blank and stays as it is."""
        return self.blank == "keep" and is_blank(self._open(view), None, measured)

    def _style(self, row: int) -> Moments:
        mean: NDArray[np.float64] = self.bank_mean[row].numpy()
        return trusted_moments(1, mean, self.bank_cov[row].numpy(), 1.0)


def _measure_whole(opened: check.Opened, options: MatchOptions) -> Moments:
    """Measure an image of the batch as a style: no covariance where each channel is matched on its own."""
    measured = measure_for(opened, None, options)
    if isinstance(measured, Moments):
        return measured
    mean, variance = (np.array(numbers) for numbers in zip(*measured, strict=True))
    return trusted_moments(opened.array[..., 0].size, mean, np.diag(variance), opened.data_range)


def _linear_space(method: str, space: str) -> str:
    check.option(space, SPACES, "space")
    if method != "mean_std" or not SPACES[space].is_linear:
        raise OptionError(
            f"method={method!r} in space={space!r}; ColorMatch has 'mean_std' in linear spaces "
            f"({', '.join(name for name, known in SPACES.items() if known.is_linear)}). Covariance can be drawn in the worker "
            "and passed on by ParameterCollate; recolorist.Colorist applies everything else in the worker."
        )
    return space


def _refuse_other_moments(bank: StyleBank) -> None:
    if bank.space != "rgb":
        raise OptionError(
            f"the bank holds moments of {bank.space!r}; build one with space='rgb', which serves every linear space"
        )
