"""A dataset wrapper whose colours depend on the index of the sample alone, for any number of workers and after a resume."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Sequence, Sized
from typing import Any, Protocol

import torch
from torch.utils.data import Dataset

from recolorist.augment.epochs import RepeatedEpochWarning
from recolorist.bank.names import format_name
from recolorist.core import image as check
from recolorist.errors import OptionError
from recolorist.torch.draws import Source, open_colorist
from recolorist.torch.parameters import WithParameters, affine_of
from recolorist.torch.samples import Part, change_image, get_part, put_image
from recolorist.torch.skips import OnError, Skips, read_errors
from recolorist.torch.tensors import image_of

__all__ = ["ColoristDataset", "MapStyle"]


class MapStyle(Protocol):
    """What a dataset must have: a length, and samples by number."""

    def __len__(self) -> int:
        """Number of samples."""

    def __getitem__(self, index: int, /) -> Any:
        """One sample."""


class ColoristDataset(Dataset[Any]):
    """Wrap a map-style dataset: the image of each sample gets new colours, drawn for (seed, epoch, index of the sample).

    Call ``set_epoch`` before every pass; it also reaches workers that are already running. If it is never called, epochs are
    counted sample by sample: whatever comes for the second time is drawn as in epoch 1. For a sampler without replacement these
    are the colours that ``set_epoch`` would give; after a resume, or with several processes, counting begins anew.

    Args:
        dataset: Anything with a length and samples by number.
        colorist: A :class:`recolorist.Colorist`; or a bank, or the path of one, for a Colorist with ``options``. Give it a
            seed to repeat a run.
        image: Position or key of the image in a sample.
        key: Position or key of the image's key, or a function from the sample to it. Without one the number of the sample is
            its key, which is right where the bank was built from the same dataset.
        label: Where the label is, as for ``key``.
        domain: Where the domain is.
        mask: Where the mask is.
        transform: Called with the image afterwards; a :class:`ToNormalizedTensor` is fused.
        parameters: Leave the image as it is and return what was drawn beside it, for :class:`ParameterCollate`.
        on_error: ``"raise"``, or ``"skip"`` for a training that must not end because of one file. Then a sample that cannot be
            read is replaced by another one of the dataset, drawn for (seed, epoch, index), and logged once.
        **options: Options of :class:`recolorist.Colorist`.

    Raises:
        OptionError: The dataset has no length, or an option is unknown or outside its limits.
        ImageError: With ``on_error="skip"``, when a sample is asked for: neither it nor others can be read.

    Example:
        >>> import numpy as np
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
        >>> data = ColoristDataset([(tile, 0) for tile in tiles], StyleBank.build(tiles, split="train"), p=1.0, seed=1)
        >>> first = data[2][0]
        >>> data.set_epoch(1)
        >>> np.array_equal(first, data[2][0])
        False
    """

    def __init__(
        self,
        dataset: MapStyle,
        colorist: Source,
        *,
        image: int | str = 0,
        key: Part | None = None,
        label: Part | None = None,
        domain: Part | None = None,
        mask: Part | None = None,
        transform: Callable[[Any], Any] | None = None,
        parameters: bool = False,
        on_error: OnError = "raise",
        **options: Any,
    ) -> None:
        """Check the options; nothing is loaded yet."""
        if not isinstance(dataset, Sized) or not hasattr(dataset, "__getitem__"):
            raise OptionError(f"a {type(dataset).__name__} was given; needed is a dataset with a length and __getitem__")
        self.dataset: Any = dataset
        self.colorist = open_colorist(colorist, options)
        self.image = image
        self.parts: dict[str, Part] = {
            name: part for name, part in (("key", key), ("label", label), ("domain", domain), ("mask", mask)) if part is not None
        }
        self.transform = transform
        self.parameters = parameters
        skips = check.option(on_error, ("raise", "skip"), "on_error") == "skip"
        self._skips = Skips(len(dataset), self.colorist.seed) if skips else None
        # how often each sample came while no epoch was set; then the setting that was last, and samples since then;
        # in memory that workers share, whenever they were started
        self._counts = torch.zeros(len(dataset) + 2, dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch of the Colorist: new colours for every sample, in workers that are already running too.

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

    @property
    def on_error(self) -> OnError:
        """What happens when a sample cannot be read."""
        return "raise" if self._skips is None else "skip"

    @property
    def skipped(self) -> int:
        """How many samples were replaced because they cannot be read, in all loader workers and epochs."""
        return 0 if self._skips is None else self._skips.count

    def __len__(self) -> int:
        """As many as the wrapped dataset has."""
        return len(self._counts) - 2

    def __getitem__(self, index: int) -> Any:
        """Return one sample with new colours, or as it was with probability 1 - p."""
        setting, number = self._setting(), self._number(index)
        return self._finish(number, self._fetch(number), setting)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """A whole batch, which torch asks for if it can; the same samples as one by one.

        All are fetched before the first gets its colours. A match right after a decoder takes several times as long, because the
        decoder has emptied the processor's caches.
        """
        setting, numbers = self._setting(), [self._number(index) for index in indices]
        samples = self._fetch_together(numbers)
        return [self._finish(number, sample, setting) for number, sample in zip(numbers, samples, strict=True)]

    def __repr__(self) -> str:
        """The dataset, the augmentation and the epoch."""
        plain = type(self.dataset) in (list, tuple)  # their texts hold every pixel
        dataset = f"{type(self.dataset).__name__} of {len(self)} samples" if plain else repr(self.dataset)
        parts = "".join(f"{name}={part!r}, " for name, part in {"image": self.image, **self.parts}.items())
        options = f"{parts}transform={self.transform!r}, parameters={self.parameters!r}, on_error={self.on_error!r}"
        return f"ColoristDataset({dataset}, {self.colorist!r}, {options}, epoch={self.epoch})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy by value must share its memory with its own workers, too."""
        self.__dict__.update(state)
        self._counts.share_memory_()

    def _number(self, index: int) -> int:
        number, count = operator.index(index), len(self)
        if not -count <= number < count:
            raise IndexError(f"there is no sample {number}; the dataset has {count} samples")
        return number + count if number < 0 else number

    def _setting(self) -> tuple[int, int]:
        """Return the epoch and how often one was set, before a sample is fetched: a pass that begins meanwhile is another one."""
        return self.colorist.epoch, self.colorist.epochs_set

    def _fetch(self, number: int) -> Any:
        """Return a sample of the wrapped dataset, or the error of one that is to be replaced."""
        if self._skips is None:
            return self.dataset[number]
        try:
            return self.dataset[number]
        except read_errors() as error:
            return error

    def _fetch_together(self, numbers: list[int]) -> list[Any]:
        """Return samples in one call if the wrapped dataset has it; after an error in that call, one by one."""
        together = getattr(self.dataset, "__getitems__", None)
        if callable(together):
            try:
                return list(together(numbers))
            except read_errors():
                if self._skips is None:
                    raise
        return [self._fetch(number) for number in numbers]

    def _finish(self, number: int, sample: Any, setting: tuple[int, int]) -> Any:
        """Give a fetched sample its colours; with ``on_error="skip"``, or another one if it cannot be read."""
        epoch = self._epoch_of(number, *setting)  # after the sample was had: a missing one is the dataset's own error
        if self._skips is None:
            return self._recolour(number, sample, epoch)

        def read(candidate: int) -> Any:
            fetched = sample if candidate == number else self.dataset[candidate]
            if isinstance(fetched, read_errors()):
                raise fetched
            return self._recolour(candidate, fetched, epoch)  # an image that Pillow decodes late fails here

        return self._skips.find_readable(number, epoch, read)

    def _recolour(self, number: int, sample: Any, epoch: int) -> Any:
        content = {name: get_part(sample, part) for name, part in self.parts.items()}
        mask = content.pop("mask", None)
        draw = self.colorist.draw(index=number, epoch=epoch, **{name: format_name(value) for name, value in content.items()})
        image = image_of(sample, self.image)
        if self.parameters:
            move = None if draw is None else affine_of(self.colorist, image, draw, mask)
            kept = sample if self.transform is None else put_image(sample, self.image, self.transform(image))
            return WithParameters(kept, move)
        return put_image(sample, self.image, change_image(self.colorist, image, draw, mask, self.transform))

    def _epoch_of(self, number: int, epoch: int, setting: int) -> int:
        """Return the epoch to draw for: the one that was set, else how often the sample came before."""
        counts = self._counts.numpy()  # the same memory; a tenth of the time of indexing a tensor
        if not setting:
            times = int(counts[number])
            counts[number] = times + 1
            if times and int(os.environ.get("WORLD_SIZE", "1")) > 1:
                _warn(
                    f"sample {number} came again and no epoch was set. Processes cannot count their epochs together, and repeat"
                )
            return times
        if counts[-2] != setting:
            counts[-2:] = setting, 0
        counts[-1] += 1
        if counts[-1] == 2 * len(self) + 1:  # not less: a sampler with replacement may bring a sample several times
            _warn(f"{counts[-1]} samples came since set_epoch({epoch}), more than two passes. Later passes repeat")
        return epoch


def _warn(reason: str) -> None:
    warnings.warn(
        f"{reason} the colours of earlier ones. Call set_epoch(epoch) before every pass.", RepeatedEpochWarning, stacklevel=5
    )
