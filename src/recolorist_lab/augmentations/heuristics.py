"""The heuristics that torchvision has, drawing from torch's generator as they do, but from a seed of the sample's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import torch

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.errors import OptionError
from recolorist_lab.augmentations.base import Chance
from recolorist_lab.augmentations.table import AUGMENTATIONS, Part
from recolorist_lab.data.pixels import Box, Bytes
from recolorist_lab.runs.config import unknown

declare_missing_ops()

from torchvision.transforms import v2  # noqa: E402 - its operators are declared first

__all__ = ["TRANSFORMS", "Heuristic", "torch_seeded"]

Options = Mapping[str, Any]
Transform = Callable[[torch.Tensor], torch.Tensor]

_turn: Final = threading.Lock()  # torch has one generator for all threads


@contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Let torch draw from a seed in this block, and give it its own state back afterwards.

    Args:
        seed: The seed.

    Yields:
        Nothing.

    Example:
        >>> with torch_seeded(5):
        ...     first = torch.rand(2)
        >>> with torch_seeded(5):
        ...     second = torch.rand(2)
        >>> bool((first == second).all())
        True
    """
    generator = torch.default_generator
    with _turn:
        before = generator.get_state()
        generator.manual_seed(seed)
        try:
            yield
        finally:
            generator.set_state(before)


class Heuristic(Chance):
    """A transform of torchvision v2 on uint8 images (3, H, W)."""

    def __init__(self, part: Part, seed: int) -> None:
        """The transform's own randomness stays in it; ``p`` is the share of images that it is offered at all."""
        super().__init__(part.p, seed)
        self.name, self.moves = part.name, AUGMENTATIONS[part.name].moves
        try:
            self._make: Callable[[tuple[int, int]], Transform] = TRANSFORMS[part.name](part.options)
            self._make((8, 8))
        except (TypeError, ValueError) as error:
            raise OptionError(f"torchvision refuses the options of {part.name}, {dict(part.options)}: {error}") from error

    def change(self, image: Bytes, rng: np.random.Generator, index: int, box: Box | None) -> Bytes:  # noqa: ARG002
        """Convert to a tensor, transform, and convert back."""
        writable = image if image.flags.writeable else image.copy()  # torch warns of arrays that cannot be written to
        planes = torch.from_numpy(writable).permute(2, 0, 1)
        if self.name not in _ANY_ORDER:
            planes = planes.contiguous()
        transform = self._make(image.shape[:2])
        with torch_seeded(int(rng.integers(2**32))):  # torch's generator takes 32 bits of its seed
            changed = transform(planes)
        result = np.ascontiguousarray(changed.permute(1, 2, 0).numpy())
        return image if np.may_share_memory(result, writable) else result  # nothing was done, and torch gave back what it got


_ANY_ORDER: Final = frozenset({"random_erasing", "random_flip", "random_resized_crop"})  # faster without a copy


class _Fixed:
    """A transform that is the same for all sizes; a class, so that workers can be sent it."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, _: tuple[int, int]) -> Transform:
        ready: Transform = self.transform
        return ready


class _Cropped:
    """A transform whose crops have the size of the image."""

    def __init__(self, options: Options) -> None:
        self.scale = (options["least"], options["most"])
        self.ratio = (options["narrowest"], options["widest"])

    def __call__(self, size: tuple[int, int]) -> Transform:
        return _crop(size, self.scale, self.ratio)


@lru_cache(maxsize=64)
def _crop(size: tuple[int, int], scale: tuple[float, float], ratio: tuple[float, float]) -> Transform:
    transform: Transform = v2.RandomResizedCrop(size, scale=scale, ratio=ratio, antialias=True)
    return transform


def _augmix(options: Options) -> _Fixed:
    return _Fixed(v2.AugMix(**options))


def _autoaugment(options: Options) -> _Fixed:
    policies = {policy.value: policy for policy in v2.AutoAugmentPolicy}
    unknown([str(options["policy"])], policies, "the policy of autoaugment")
    return _Fixed(v2.AutoAugment(policies[str(options["policy"])]))


def _color_jitter(options: Options) -> _Fixed:
    return _Fixed(v2.ColorJitter(**options))


def _gray_scale(_: Options) -> _Fixed:
    return _Fixed(v2.Grayscale(num_output_channels=3))


def _randaugment(options: Options) -> _Fixed:
    return _Fixed(v2.RandAugment(**options))


def _random_erasing(options: Options) -> _Fixed:
    scale, ratio = (options["least"], options["most"]), (options["narrowest"], options["widest"])
    return _Fixed(v2.RandomErasing(p=options["chance"], scale=scale, ratio=ratio, value=0))


def _random_flip(options: Options) -> _Fixed:
    return _Fixed(v2.Compose([v2.RandomHorizontalFlip(options["horizontal"]), v2.RandomVerticalFlip(options["vertical"])]))


def _trivialaugment(options: Options) -> _Fixed:
    return _Fixed(v2.TrivialAugmentWide(**options))


#: What makes each of them from its options, and then, where that matters, from the size of the image.
TRANSFORMS: Final[Mapping[str, Callable[[Options], Callable[[tuple[int, int]], Transform]]]] = MappingProxyType(
    {
        "augmix": _augmix,
        "autoaugment": _autoaugment,
        "color_jitter": _color_jitter,
        "gray_scale": _gray_scale,
        "randaugment": _randaugment,
        "random_erasing": _random_erasing,
        "random_flip": _random_flip,
        "random_resized_crop": _Cropped,
        "trivialaugment": _trivialaugment,
    }
)
