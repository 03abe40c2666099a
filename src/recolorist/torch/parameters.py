"""Draw in the worker and apply on the GPU: the maps of a batch travel with the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import default_collate

from recolorist.augment.colorist import Colorist, Draw
from recolorist.core.match import MATCHERS
from recolorist.core.spaces import SPACES
from recolorist.errors import OptionError
from recolorist.torch.draws import Affine, Source, affine_map, open_colorist
from recolorist.torch.tensors import channels_last, image_of

__all__ = ["ParameterCollate", "Parameters", "WithParameters", "affine_of", "refuse_other_than_maps"]


class Parameters(NamedTuple):
    """The maps of a batch: ``gain · pixel + offset`` in units of 0 to ``data_range``, where ``applied``.

    A tuple of tensors, so that loaders can pin it.

    Example:
        >>> Parameters.of([None, Affine([2.0], [0.1], 1.0)]).gain
        tensor([[1.],
                [2.]], dtype=torch.float64)
    """

    gain: torch.Tensor  #: (B, C), or (B, C, C) if any map mixes channels; float64
    offset: torch.Tensor  #: (B, C) float64
    applied: torch.Tensor  #: (B,) bool
    data_range: torch.Tensor  #: (B,) float64

    @classmethod
    def of(cls, moves: Sequence[Affine | None], channels: int = 3) -> Parameters:
        """Stack the maps of single images; None leaves an image as it is.

        Args:
            moves: One for each image.
            channels: The number of channels where every map is None.

        Returns:
            The maps of a batch.
        """
        channels = next((len(move.offset) for move in moves if move), channels)
        mixes = any(move is not None and len(move.gain) > channels for move in moves)
        identity = Affine([1.0] * channels, [0.0] * channels, 1.0)
        maps = [identity if move is None else move for move in moves]
        gains = [_square(move.gain, channels) if mixes else np.array(move.gain) for move in maps]
        return cls(
            torch.from_numpy(np.array(gains).reshape(len(maps), *([channels] * (2 if mixes else 1)))),
            torch.tensor([move.offset for move in maps], dtype=torch.float64).reshape(len(maps), channels),
            torch.tensor([move is not None for move in moves], dtype=torch.bool),
            torch.tensor([move.data_range for move in maps], dtype=torch.float64),
        )

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Parameters:
        """Return the same on another device.

        Args:
            device: The device.
            non_blocking: Whether to return before the copy is finished, where torch can.

        Returns:
            The maps there.
        """
        return Parameters(*(part.to(device, non_blocking=non_blocking) for part in self))


class WithParameters(NamedTuple):
    """A sample as it was, and the map that was drawn for its image, or None; for :class:`ParameterCollate`."""

    sample: Any
    move: Affine | None


class ParameterCollate:
    """A ``collate_fn`` that gives ``(batch, parameters)``: images as they were, and the maps that were drawn for them.

    Apply them where the batch goes, with :meth:`ColorMatch.apply_parameters`. The samples come from a :class:`ColoristDataset`
    with ``parameters=True``, which draws for (seed, epoch, index). Or they come from any dataset; then ``colorist`` draws here,
    from the worker's own seed.

    Args:
        colorist: Draws for samples that carry no parameters: a :class:`recolorist.Colorist`, a bank, or the path of one.
        image: Position or key of the image in a sample.
        collate: Makes the batch of the samples.

    Raises:
        OptionError: What ``colorist`` does is not one map of all pixels.

    Example:
        >>> collate = ParameterCollate()
        >>> images, parameters = collate([WithParameters(torch.zeros(3, 4, 5), None)])
        >>> images.shape, parameters.applied
        (torch.Size([1, 3, 4, 5]), tensor([False]))
    """

    def __init__(
        self,
        colorist: Source | None = None,
        *,
        image: int | str = 0,
        collate: Callable[[list[Any]], Any] = default_collate,
    ) -> None:
        """Check the options."""
        self.colorist = None if colorist is None else open_colorist(colorist)
        if self.colorist is not None:
            refuse_other_than_maps(self.colorist)
        self.image, self.collate = image, collate

    def __call__(self, samples: list[Any]) -> tuple[Any, Parameters]:
        """Return one batch and its maps."""
        if all(isinstance(sample, WithParameters) for sample in samples):
            moves, samples = [sample.move for sample in samples], [sample.sample for sample in samples]
        else:
            moves = [self._draw(sample) for sample in samples]
        return self.collate(samples), Parameters.of(moves, self._channels(samples))

    def __repr__(self) -> str:
        """Return the options."""
        return f"ParameterCollate(colorist={self.colorist!r}, image={self.image!r}, collate={self.collate!r})"

    def _draw(self, sample: Any) -> Affine | None:
        if self.colorist is None:
            raise OptionError("the samples carry no parameters; use ColoristDataset(..., parameters=True), or give a colorist")
        draw = self.colorist.draw()
        return None if draw is None else affine_of(self.colorist, image_of(sample, self.image), draw)

    def _channels(self, samples: list[Any]) -> int:
        image = image_of(samples[0], self.image)
        return int(image.shape[-3]) if isinstance(image, torch.Tensor) else _pixels(image).shape[-1]


def affine_of(colorist: Colorist, image: Any, draw: Draw, mask: Any = None) -> Affine:
    """Return the map that was drawn for an image of any kind.

    Raises:
        OptionError: The draw is not one map of all pixels.
    """
    move = affine_map(colorist, _pixels(image), draw, mask)
    if move is None:
        refuse_other_than_maps(colorist)
        raise OptionError("apply_to='mask' changes a part of the pixels, which parameters cannot say; apply it in the worker")
    return move


def refuse_other_than_maps(colorist: Colorist) -> None:
    """Refuse methods and spaces that are not one matrix and one offset for all pixels.

    Raises:
        OptionError: The method needs pixels or the space is not linear.
    """
    if MATCHERS[colorist.method].needs_pixels or not SPACES[colorist.space].is_linear:
        raise OptionError(
            f"method={colorist.method!r} in space={colorist.space!r} is not one map of RGB, so it has no parameters to pass on; "
            "use 'mean_std' or 'covariance' in 'rgb' or another linear space, or apply it in the worker"
        )


def _pixels(image: Any) -> Any:
    array = channels_last(image) if isinstance(image, torch.Tensor) else np.asarray(image)
    return array if array.ndim > 2 else array[..., None]


def _square(gain: list[float], channels: int) -> Any:
    """Return a matrix from its rows, or from its diagonal."""
    return np.diag(gain) if len(gain) == channels else np.array(gain).reshape(channels, channels)
