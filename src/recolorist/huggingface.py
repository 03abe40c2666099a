"""Colorist for Hugging Face datasets: a callable for ``set_transform`` and ``with_transform``, dictionaries of lists in and out.

With an index column the draw is keyed by (seed, epoch, index): the same for any number of workers, any batch size, any order.
Without one it comes from a sequence that the seed and the loader worker select, which no two workers or epochs share.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from recolorist import _adapters as adapters
from recolorist.augment.colorist import Colorist
from recolorist.errors import ImageError, OptionError

__all__ = ["ColoristTransform"]


class ColoristTransform:
    """With probability ``p`` (0.3 by default), give each image of a batch the colour statistics of a style drawn from a bank.

    Pass it to ``with_transform``, ``set_transform`` or ``map``. Other columns are left as they are.

    Args:
        bank (`StyleBank` or `str`): The styles, or the path of a saved bank (.rcb, .json).
        p (`float`, defaults to `0.3`): Probability of changing an image.
        column (`str`, defaults to `"image"`): The column of images, PIL or arrays (H, W, C).
        output (`str`, *optional*): The column to write; ``column`` unless given.
        index_column (`str`, *optional*): A column of whole numbers that key the draw and name the image in the bank.
        key_column (`str`, *optional*): A column of texts that do the same.
        label_column (`str`, *optional*): A column of labels, for samplers that need them.
        domain_column (`str`, *optional*): A column of domains, for samplers that need them.
        mask_column (`str`, *optional*): A column of foreground masks.
        then (`Callable`, *optional*): Called with each image last, for the step to a tensor.
        **options: The other options of :class:`recolorist.Colorist`. Give a ``seed``, so that ``map`` finds its cache again.

    Raises:
        OptionError: An option is unknown or outside its limits, or both ``index_column`` and ``key_column`` were given.

    Example:
        >>> import numpy as np
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> change = ColoristTransform(StyleBank.build(tiles, split="train"), p=1.0, seed=1, index_column="index")
        >>> batch = {"image": [tiles[3]], "index": [3], "label": ["a"]}
        >>> np.array_equal(change(batch)["image"][0], change(batch)["image"][0]), change(batch)["label"]
        (True, ['a'])
    """

    def __init__(
        self,
        bank: Any,
        p: float = 0.3,
        *,
        column: str = "image",
        output: str | None = None,
        index_column: str | None = None,
        key_column: str | None = None,
        label_column: str | None = None,
        domain_column: str | None = None,
        mask_column: str | None = None,
        then: Any = None,
        **options: Any,
    ) -> None:
        """Check every option once, here."""
        if index_column is not None and key_column is not None:
            raise OptionError("index_column and key_column were both given; one of them keys the draw, name that one")
        self.core = Colorist(adapters.open_bank(bank)[0], p, **options)
        self.column, self.output, self.then = column, column if output is None else output, then
        columns = {
            "index": index_column,
            "key": key_column,
            "label": label_column,
            "domain": domain_column,
            "mask": mask_column,
        }
        self.columns = {option: name for option, name in columns.items() if name is not None}

    def set_epoch(self, epoch: int) -> None:
        """Draw anew for keyed images, also in loader workers that are already running.

        Args:
            epoch: The number of the epoch.

        Raises:
            OptionError: It is no whole number from 0 on.
        """
        self.core.set_epoch(epoch)

    @property
    def epoch(self) -> int:
        """The present epoch."""
        return self.core.epoch

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Augment every image of a batch, or the one of a row.

        Args:
            batch: Columns as lists; or one row, as ``map`` gives it without ``batched=True``.

        Returns:
            The same with new images. An image that is None stays None.

        Raises:
            OptionError: A column is missing.
            ImageError: An image is neither a PIL image nor an array.
        """
        missing = [name for name in (self.column, *self.columns.values()) if name not in batch]
        if missing:
            raise OptionError(f"the batch has no column {missing[0]!r}; it has {', '.join(batch)}")
        images, columns = batch[self.column], {option: batch[name] for option, name in self.columns.items()}
        _refuse_lists(images)
        if _is_row(images):
            return {**batch, self.output: self._change(images, columns)}
        rows = [{option: values[i] for option, values in columns.items()} for i in range(len(images))]
        return {**batch, self.output: [self._change(image, row) for image, row in zip(images, rows, strict=True)]}

    def _change(self, image: Any, options: dict[str, Any]) -> Any:
        if image is None:
            return None
        for option in {"key", "label", "domain"} & set(options):
            options[option] = adapters.format_name(options[option])
        if hasattr(options.get("index"), "__index__"):  # of a tensor, too
            options["index"] = operator.index(options["index"])
        changed = self.core(image, **options)
        return changed if self.then is None else self.then(changed)

    def __repr__(self) -> str:
        """Return the augmentation and the columns."""
        columns = "".join(f"{option}_column={name!r}, " for option, name in self.columns.items())
        places = f"column={self.column!r}, output={self.output!r}, {columns}then={self.then!r}"
        return f"{type(self).__name__}({self.core!r}, {places})"


def _refuse_lists(images: Any) -> None:
    """Refuse pixels as lists of lists, which datasets gives for arrays unless a format is set."""
    first = next((image for image in images if image is not None), None) if isinstance(images, (list, tuple)) else None
    if isinstance(first, (list, tuple)):
        raise ImageError(
            "the images are lists of numbers; accepted are PIL images and arrays. "
            "Call dataset.with_format('numpy') first, so that datasets gives arrays."
        )


def _is_row(image: Any) -> bool:
    """Whether this is one image, or None for a missing one, and not a column of them."""
    return image is None or (not isinstance(image, (list, tuple)) and getattr(image, "ndim", 0) < 4)
