"""New colours for the image inside a sample: for pipelines of iterable datasets, WebDataset and torchdata."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import torch
from torch.utils.data import IterableDataset, get_worker_info

from recolorist.augment.colorist import Colorist, Draw
from recolorist.bank.names import format_name
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError
from recolorist.torch.draws import open_colorist
from recolorist.torch.fused import ToNormalizedTensor
from recolorist.torch.tensors import image_of, recolour_tensor

__all__ = ["ColoristIterable", "ColoristMapper", "Part", "change_image", "get_part", "put_image"]

#: Where something is in a sample: its position or key, or a function from the sample to it.
Part = int | str | Callable[[Any], Any]

_MOST_WORKERS: Final = 1024


def get_part(sample: Any, part: Part) -> Any:
    """Return a part of a sample.

    Raises:
        OptionError: The sample has no such part.

    Example:
        >>> get_part({"label": 3}, "label"), get_part((1, 2), lambda sample: sample[1])
        (3, 2)
    """
    try:
        return part(sample) if callable(part) else sample[part]
    except (KeyError, IndexError, TypeError) as error:
        raise OptionError(f"a sample of type {type(sample).__name__} has no part {part!r}; say where it is") from error


def put_image(sample: Any, place: int | str, image: Any) -> Any:
    """Return the sample with another image; containers keep their type.

    Example:
        >>> put_image(("old", 3), 0, "new"), put_image({"png": "old"}, "png", "new")
        (('new', 3), {'png': 'new'})
    """
    kind: Any = type(sample)
    if isinstance(sample, Mapping):
        return kind({**sample, place: image})
    if not isinstance(sample, (tuple, list)):
        return image
    parts: Any = list(sample)
    parts[place] = image
    return kind(*parts) if hasattr(sample, "_fields") else kind(parts)


def change_image(
    colorist: Colorist, image: Any, draw: Draw | None, mask: Any = None, transform: Callable[[Any], Any] | None = None
) -> Any:
    """Apply a draw, if there is one, and then the transform; a :class:`ToNormalizedTensor` is fused."""
    if isinstance(transform, ToNormalizedTensor) and transform.colorist is None:
        return transform.convert(image, colorist, draw, mask)
    if draw is not None:
        is_tensor = isinstance(image, torch.Tensor)
        image = recolour_tensor(colorist, image, draw, mask) if is_tensor else colorist.recolour(image, draw, mask)
    return image if transform is None else transform(image)


class ColoristMapper:
    """A function from sample to sample that gives its image new colours, with probability ``p`` (0.3 by default).

    Pass it to ``WebDataset(...).map``, to a ``Mapper`` of torchdata, or to any ``map``. With ``key`` the draw is a function of
    (seed, epoch, key), so it does not depend on workers, shards or order. Call :meth:`set_epoch` before every pass then.
    Without ``key`` every call draws anew, differently in each worker and epoch.

    Args:
        colorist: A :class:`recolorist.Colorist`; or a bank, or the path of one, for a Colorist with ``options``.
        image: Position or key of the image in a sample.
        key: Where the key of the sample is: position, key or function. WebDataset has it in ``"__key__"``.
        label: Where the label is, for samplers that need it.
        domain: Where the domain is.
        mask: Where the mask is.
        transform: Called with the image afterwards; a :class:`ToNormalizedTensor` is fused.
        **options: Options of :class:`recolorist.Colorist`.

    Raises:
        OptionError: An option is unknown or outside its limits.

    Example:
        >>> import numpy as np
        >>> tiles = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
        >>> bank = StyleBank.build(tiles, split="train")
        >>> change = ColoristMapper(bank, image="png", key="__key__", p=1.0, seed=1)
        >>> first, again = (change({"__key__": "a", "png": tiles[0]})["png"] for _ in range(2))
        >>> np.array_equal(first, again), np.array_equal(first, tiles[0])
        (True, False)
    """

    def __init__(
        self,
        colorist: Colorist | StyleBank | str | os.PathLike[str],
        *,
        image: int | str = 0,
        key: Part | None = None,
        label: Part | None = None,
        domain: Part | None = None,
        mask: Part | None = None,
        transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        """Check the options."""
        self.colorist = open_colorist(colorist, options)
        self.image, self.transform = image, transform
        parts = {"key": key, "label": label, "domain": domain, "mask": mask}
        self.parts: dict[str, Part] = {name: part for name, part in parts.items() if part is not None}

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, in workers that are already running too.

        Args:
            epoch: The number of the epoch.

        Raises:
            OptionError: It is no whole number from 0 on.
        """
        self.colorist.set_epoch(epoch)

    @property
    def epoch(self) -> int:
        """The present epoch."""
        return self.colorist.epoch

    def __call__(self, sample: Any, epoch: int | None = None) -> Any:
        """Return the sample with new colours, or as it was with probability 1 - p.

        Args:
            sample: A tuple, list or dictionary, or the image itself.
            epoch: The epoch of a keyed draw; the one that was set unless given.

        Raises:
            OptionError: The sample has no such part.
        """
        content = {name: get_part(sample, part) for name, part in self.parts.items()}
        mask = content.pop("mask", None)
        names: dict[str, Any] = {name: format_name(value) for name, value in content.items()}
        draw = self.colorist.draw(epoch=epoch, **names)
        image = change_image(self.colorist, image_of(sample, self.image), draw, mask, self.transform)
        return put_image(sample, self.image, image)

    def __repr__(self) -> str:
        """Return the augmentation and where it finds its parts."""
        return f"{type(self).__name__}({self._format_options()})"

    def _format_options(self) -> str:
        parts = "".join(f"{name}={part!r}, " for name, part in {"image": self.image, **self.parts}.items())
        return f"{self.colorist!r}, {parts}transform={self.transform!r}"


class ColoristIterable(IterableDataset[Any]):
    """Wrap an iterable dataset: the image of each sample gets new colours, drawn for (seed, epoch, key of the sample).

    Without :meth:`set_epoch` every pass is the next epoch, also with workers that live on. The wrapped dataset divides its
    samples among workers as it does alone.

    Args:
        dataset: Anything that can be iterated.
        colorist: As for :class:`ColoristMapper`, and so are the other options.
        **options: Options of :class:`ColoristMapper`: ``image``, ``key``, ``label``, ``domain``, ``mask``, ``transform``, and
            those of :class:`recolorist.Colorist`.

    Raises:
        OptionError: The dataset cannot be iterated, or an option is unknown or outside its limits.

    Example:
        >>> import numpy as np
        >>> tiles = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
        >>> samples = [{"name": f"scan {i}", "image": tile} for i, tile in enumerate(tiles)]
        >>> bank = StyleBank.build(tiles, split="train")
        >>> data = ColoristIterable(samples, bank, image="image", key="name", p=1.0, seed=1)
        >>> first, second = ([sample["image"] for sample in data] for _ in range(2))
        >>> np.array_equal(first, second)
        False
    """

    def __init__(self, dataset: Iterable[Any], colorist: Colorist | StyleBank | str | os.PathLike[str], **options: Any) -> None:
        """Check the options; nothing is loaded yet."""
        if not isinstance(dataset, Iterable):
            raise OptionError(f"a {type(dataset).__name__} was given; needed is a dataset that can be iterated")
        self.dataset = dataset
        self.mapper = ColoristMapper(colorist, **options)
        self._passes = torch.zeros(_MOST_WORKERS, dtype=torch.int64).share_memory_()  # begun, by worker

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; from then on passes are no longer counted.

        Args:
            epoch: The number of the epoch.

        Raises:
            OptionError: It is no whole number from 0 on.
        """
        self.mapper.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        """Return the samples of one pass."""
        epoch = self._begin()
        return (self.mapper(sample, epoch) for sample in self.dataset)

    def __len__(self) -> int:
        """As many as the wrapped dataset has, if it knows."""
        return len(self.dataset)  # type: ignore[arg-type]  # its TypeError says what torch expects

    def __repr__(self) -> str:
        """Return the kind of dataset and the augmentation."""
        return f"{type(self).__name__}({type(self.dataset).__name__}, {self.mapper._format_options()})"  # noqa: SLF001 - one module

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy by value must share its memory with its own workers, too."""
        self.__dict__.update(state)
        self._passes.share_memory_()

    def _begin(self) -> int:
        """Return the epoch of this pass: the one that was set, else how many passes this worker began before."""
        colorist, info = self.mapper.colorist, get_worker_info()
        if colorist.epochs_set:
            return colorist.epoch
        place = 0 if info is None else (info.id + 1) % _MOST_WORKERS
        self._passes[place] += 1
        return int(self._passes[place]) - 1
