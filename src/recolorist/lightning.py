"""Colorist for Lightning: epochs follow the trainer, and the bank is measured on the training split."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from recolorist import _adapters as adapters
from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.colorist import Colorist
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError

declare_missing_ops()  # Lightning imports torchvision where it is installed

try:
    if TYPE_CHECKING:
        from lightning.pytorch import Callback
    elif "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning import Callback  # the same under its older name, which the caller uses
    else:
        from lightning.pytorch import Callback

    from recolorist.torch.dataset import ColoristDataset
except ModuleNotFoundError as error:
    raise adapters.explain_missing("lightning", error) from error

__all__ = ["ColoristDataMixin", "ColoristEpochs", "find_colorists"]

_DEPTH: Final = 12  # containers and wrappers, one inside another
_FIRST_ENTRIES: Final = 64  # of a list: pipelines are short, and lists of samples need not be searched


class ColoristEpochs(Callback):
    """Set the epoch of every Colorist in the training data when the trainer begins one.

    Give it to the trainer once, and keyed draws differ from epoch to epoch and continue after a resume.

    Args:
        *sources: Objects that hold a Colorist: datasets, transforms, loaders. Without any, the training loaders are searched.
            Name them where a resumed run uses loader workers: those fetch their first batches before the loaders can be
            searched. :class:`ColoristDataMixin` needs neither.

    Raises:
        OptionError: A source holds no Colorist.

    Example:
        >>> import numpy as np
        >>> tiles = np.random.default_rng(0).integers(0, 256, (4, 8, 9, 3), dtype=np.uint8)
        >>> data = ColoristDataset(list(tiles), StyleBank.build(tiles, split="train"), seed=1)
        >>> ColoristEpochs(data).colorists[0].seed
        1
    """

    def __init__(self, *sources: Any) -> None:
        """Find the Colorists of the sources."""
        super().__init__()
        self.colorists = [colorist for source in sources for colorist in find_colorists(source)]
        if sources and not self.colorists:
            raise OptionError(
                f"no Colorist was found in {', '.join(type(source).__name__ for source in sources)}; pass the data "
                "module, dataset or transform that holds it"
            )

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:  # noqa: ARG002
        """Set the epoch of the checkpoint before loader workers start."""
        progress = checkpoint.get("loops", {}).get("fit_loop", {}).get("epoch_progress", {}).get("current", {})
        self._set(self.colorists, int(progress.get("processed", 0)))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Find the Colorists of the loaders and set their epoch; in a resumed epoch this is the only call."""
        if not self.colorists:
            self.colorists = find_colorists(trainer.train_dataloader)
        self._set(self.colorists, trainer.current_epoch)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Set the epoch; loaders may be others than before."""
        self._set([*self.colorists, *find_colorists(trainer.train_dataloader)], trainer.current_epoch)

    @staticmethod
    def _set(colorists: Iterable[Colorist], epoch: int) -> None:
        for colorist in {id(entry): entry for entry in colorists}.values():
            if colorist.epoch != epoch or not colorist.epochs_set:
                colorist.set_epoch(epoch)


class ColoristDataMixin:
    """Mix into a ``LightningDataModule``: the bank is measured on the training split, and epochs follow the trainer.

    Call :meth:`recolour_training` in ``train_dataloader``; there is nothing else to remember.

    Example:
        >>> import lightning.pytorch as L
        >>> import numpy as np
        >>> from torch.utils.data import DataLoader
        >>> class Tiles(ColoristDataMixin, L.LightningDataModule):
        ...     def train_dataloader(self):
        ...         tiles = np.random.default_rng(0).integers(0, 256, (4, 8, 9, 3), dtype=np.uint8)
        ...         return DataLoader(self.recolour_training([(tile, 0) for tile in tiles], p=1.0, seed=1))
        >>> images, labels = next(iter(Tiles().train_dataloader()))
        >>> images.shape
        torch.Size([1, 8, 9, 3])
    """

    trainer: Any
    style_bank: StyleBank | None = None  #: measured when it is first needed, or set before by the user

    def recolour_training(
        self,
        dataset: Any,
        *,
        bank: StyleBank | str | os.PathLike[str] | None = None,
        bank_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ColoristDataset:
        """Wrap the training dataset.

        Args:
            dataset: Map-style samples with images as they come to this step, before ``Normalize``.
            bank: The styles, or the path of a saved bank. Without it they are measured on ``dataset``, once.
            bank_options: Options of :meth:`recolorist.StyleBank.from_dataset` for that, such as ``label`` and ``domain``.
            **options: Options of :class:`recolorist.torch.ColoristDataset` and :class:`recolorist.Colorist`. Without ``seed``
                that of ``seed_everything`` is used, if it was called.

        Returns:
            The dataset to give to the loader.

        Raises:
            OptionError: An option is unknown or outside its limits.
        """
        if bank is not None:
            self.style_bank = StyleBank.of(bank)
        elif self.style_bank is None:
            measured = {"image": options.get("image", 0), "split": "train", **(bank_options or {})}
            self.style_bank = StyleBank.from_dataset(dataset, **measured)
        if "PL_GLOBAL_SEED" in os.environ:
            options.setdefault("seed", int(os.environ["PL_GLOBAL_SEED"]))
        data = ColoristDataset(dataset, self.style_bank, **options)
        trainer = getattr(self, "trainer", None)
        if trainer is not None:
            data.set_epoch(trainer.current_epoch)
            if not any(isinstance(callback, ColoristEpochs) for callback in trainer.callbacks):
                trainer.callbacks.append(ColoristEpochs())
        return data


def find_colorists(source: Any) -> list[Colorist]:
    """Return every Colorist inside loaders, datasets, lists, dictionaries and transforms, each once.

    Args:
        source: Where to look.

    Returns:
        The Colorists, in the order in which they were met.

    Example:
        >>> import numpy as np
        >>> colorist = Colorist(StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train"), seed=1)
        >>> find_colorists({"pipeline": [len, colorist], "again": (colorist,)}) == [colorist]
        True
    """
    colorists: list[Colorist] = []
    searched: set[int] = set()

    def search(part: Any, depth: int) -> None:
        if id(part) in searched or depth > _DEPTH:
            return
        searched.add(id(part))
        if isinstance(part, Colorist):
            colorists.append(part)
            return
        if isinstance(part, Mapping):
            inside: Iterable[Any] = list(part.values())[:_FIRST_ENTRIES]
        elif isinstance(part, (list, tuple)):
            inside = part[:_FIRST_ENTRIES]
        else:
            inside = list(getattr(part, "__dict__", {}).values()) if not isinstance(part, type) else []
        for entry in inside:
            search(entry, depth + 1)

    search(source, 0)
    return colorists
