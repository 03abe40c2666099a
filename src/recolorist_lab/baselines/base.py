"""The base class of all style-transfer networks here: images in and out, parts, one training step, official files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, final

import torch
from torch import Tensor, nn

from recolorist.errors import ImageError, OptionError
from recolorist_lab.baselines import layout
from recolorist_lab.baselines.padding import padded
from recolorist_lab.baselines.recipe import TrainingRecipe, inverse_time

__all__ = ["Baseline", "Made", "OfficialFile", "Optimisation", "Step", "checked", "frozen", "trained_parameters"]


class Step(NamedTuple):
    """One optimiser step of an iteration: the loss to minimise, its parts for the record, and the optimiser's name."""

    loss: Tensor
    parts: dict[str, Tensor]
    optimiser: str = "main"


class Optimisation(NamedTuple):
    """An optimiser, its learning rate at a 0-based step, and the largest norm its gradient may have (0: any)."""

    optimiser: torch.optim.Optimizer
    rate: Callable[[int], float]
    clip: float = 0.0


class Made(NamedTuple):
    """How a model was made, with everything that is needed to make it again."""

    method: str
    encoder: str
    seed: int
    options: Mapping[str, Any]


class OfficialFile(NamedTuple):
    """One file of an official release: the part it fills, its name there, its contents, and its checksums where known.

    ``address`` says where it is. ``entry`` is the dictionary to take from a checkpoint that holds several; a file that is that
    dictionary itself is taken too. ``git_blobs`` are ids of released files, as ``git hash-object`` prints them, whole or their
    first digits, and what each file is.
    """

    part: str
    file: str
    what: str
    sha256: str | None = None
    address: str | None = None
    required: bool = True
    entry: str | None = None
    git_blobs: Mapping[str, str] = MappingProxyType({})


class Baseline(nn.Module, ABC):
    """A style-transfer network. ``docs/baselines.md`` lists what each subclass must provide."""

    name: ClassVar[str]  #: as the paper prints it
    paper: ClassVar[str]
    licence: ClassVar[str]  #: of the official code
    native_size: ClassVar[int]  #: side of the images it is compared at
    needs_training: ClassVar[bool] = True  #: False: the paper uses it as published
    least: ClassVar[int] = 1  #: smallest side the network takes; smaller images are padded
    least_crop: ClassVar[int] = 1  #: smallest side of training crops
    multiple: ClassVar[int] = 1  #: what sides must be a multiple of; others are padded
    defaults: ClassVar[TrainingRecipe] = TrainingRecipe()
    trained: ClassVar[tuple[str, ...]] = ("decoder",)
    training_only: ClassVar[tuple[str, ...]] = ()  #: parts that no image passes through after training
    distinct_draws: ClassVar[bool] = False  #: True: no image twice in one batch
    official: ClassVar[tuple[OfficialFile, ...]] = ()

    published: ClassVar[Mapping[str, str]] = MappingProxyType({})  #: parts whose official weights are in the table of weights

    made: Made | None = None  #: how :func:`build` made it
    started: Mapping[str, str] = MappingProxyType({})  #: parts that began with somebody's weights, and fingerprints of those

    # ---- images ---------------------------------------------------------------------------------------------------------

    @final
    def stylise(self, content: Tensor, style: Tensor) -> Tensor:
        """Return the contents in the colours and textures of the styles.

        Sizes are free; what the network cannot take is padded by mirroring and cropped again.

        Args:
            content: `(B, 3, H, W)` in [0, 1].
            style: As many images as ``content``, or one for all.

        Returns:
            Images of the shape, type and device of ``content``, in [0, 1].

        Raises:
            ImageError: The images are of another shape or range.
        """
        style = checked(content, style)
        return self._run(lambda inner: self.transfer(inner, self._fitted(style)), content)

    @final
    def stylise_mix(self, content: Tensor, styles: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
        """Return the contents in a mixture of styles. Not every method can.

        Args:
            content: `(B, 3, H, W)` in [0, 1].
            styles: Batches of styles.
            weights: One for each of them; they are brought to a sum of 1.

        Returns:
            Images of the shape, type and device of ``content``, in [0, 1].

        Raises:
            OptionError: The weights are not accepted, or the method takes one style at a time.
        """
        if not styles or len(styles) != len(weights):
            raise OptionError(f"{len(styles)} styles were given with {len(weights)} weights; give one weight for each style")
        total = float(sum(weights))
        if min(weights) < 0 or not total > 0:
            raise OptionError(f"style weights {list(weights)}; accepted are numbers from 0, not all of them 0")
        fitted = [self._fitted(checked(content, style)) for style in styles]
        return self._run(lambda inner: self.transfer_mix(inner, fitted, [weight / total for weight in weights]), content)

    @abstractmethod
    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Run the network without clamping its output. Sides follow :attr:`least` and :attr:`multiple`; the output may be larger.

        Args:
            content: `(B, 3, H, W)` in [0, 1].
            style: As many images.

        Returns:
            The stylised images.
        """

    def transfer_mix(self, content: Tensor, styles: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
        """Run the network with several styles.

        Args:
            content: `(B, 3, H, W)` in [0, 1].
            styles: Batches of as many images.
            weights: One for each of them; their sum is 1.

        Returns:
            The stylised images.

        Raises:
            OptionError: The method takes one style at a time.
        """
        raise OptionError(
            f"{self.name} takes one style at a time, not {len(styles)} ({len(content)} contents, weights {weights})"
        )

    def forward(self, content: Tensor, style: Tensor) -> Tensor:
        """Run :meth:`transfer`, with the same arguments and result."""
        return self.transfer(content, style)

    def _fitted(self, image: Tensor) -> Tensor:
        """Pad an image to the least size and convert it to the dtype of the weights."""
        dtype = next((value.dtype for value in self.parameters()), torch.float32)
        return padded(image.to(dtype), self.least, self.multiple)

    def _run(self, transfer: Callable[[Tensor], Tensor], content: Tensor) -> Tensor:
        height, width = content.shape[-2:]
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                out = transfer(self._fitted(content))
        finally:
            self.train(training)
        return out[..., :height, :width].clamp(0.0, 1.0).to(content.dtype)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, nn.Module]:
        """Return the parts of the network; by default its direct children.

        Returns:
            The parts by name.
        """
        return dict(self.named_children())

    @final
    def trained_parts(self) -> tuple[str, ...]:
        """Return the names of the parts that training changes.

        Returns:
            The names.
        """
        return self.trained

    @final
    def parameters_by_part(self) -> dict[str, int]:
        """Count the parameters of each part, frozen ones too.

        Returns:
            The counts by name of part.
        """
        return {name: sum(value.numel() for value in part.parameters()) for name, part in self.parts().items()}

    @final
    def trained_count(self) -> int:
        """Count the parameters that training changes; those of a trained part that are frozen do not count.

        Returns:
            The count.
        """
        return sum(value.numel() for value in trained_parameters(self, self.trained))

    @property
    def works_untrained(self) -> bool:
        """Whether it can stylise without trained weights, as a method that fits itself to each image can."""
        return not self.trained

    # ---- training -------------------------------------------------------------------------------------------------------

    def draws(self, recipe: TrainingRecipe) -> tuple[int, int]:
        """Return how many contents and styles one call of :meth:`training_step` gets.

        Args:
            recipe: Says how many images one part of a batch has.

        Returns:
            Contents and styles.
        """
        count = recipe.batch // recipe.accumulate
        return count, count

    def prepare(self, content: Tensor, style: Tensor) -> None:
        """Initialise layers that depend on data from a first batch. It is not called after a resume.

        Args:
            content: Contents.
            style: Styles.
        """

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Yield each loss of one iteration in turn. The caller propagates it and steps its optimiser before the next one.

        Args:
            content: Contents, in [0, 1].
            style: Styles, in [0, 1].
            step: The number of the iteration.

        Yields:
            Losses, each with the optimiser it belongs to.

        Raises:
            OptionError: The method is not trained here.
        """
        raise OptionError(
            f"{self.name} is used as published and is not trained here (step {step}, {len(content)} + {len(style)})"
        )

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make the optimisers; by default Adam on all trained parts with inverse-time decay.

        Args:
            recipe: Of the training.

        Returns:
            The optimisers by name.
        """
        optimiser = torch.optim.Adam(trained_parameters(self, self.trained), lr=recipe.rate)
        return {"main": Optimisation(optimiser, inverse_time(recipe.rate, recipe.decay), recipe.clip)}

    # ---- official files -------------------------------------------------------------------------------------------------

    def load_official(self, files: Mapping[str, Path]) -> None:
        """Load the files of the official release. Every name and shape must be as in the release.

        Args:
            files: The files by part.

        Raises:
            OptionError: A file is missing, or there is no such part.
        """
        files_by_part = {file.part: file for file in self.official}
        for part in files:
            if part not in files_by_part:
                raise OptionError(
                    f"{self.name} has no official file for {part!r}; accepted are {', '.join(files_by_part) or 'none'}"
                )
        for part, file in files_by_part.items():
            if file.required and part not in files:
                raise OptionError(f"{self.name} needs the official file for {part!r} ({file.file}: {file.what})")
        states = {part: self.from_official(part, _state(path, files_by_part[part].entry)) for part, path in files.items()}
        for part, state in states.items():  # all are checked before the first is loaded
            layout.check(state, self.parts()[part].state_dict(), f"{files[part]} as {part} of {self.name}")
        for part, state in states.items():
            layout.load(self.parts()[part], state, f"{files[part]} as {part} of {self.name}")

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Rename the tensors of an official file to the names used here; by default they are the same.

        Args:
            part: The part.
            state: The tensors of the file by name.

        Returns:
            The tensors by our names.
        """
        del part
        return state

    def to_official(self, part: str) -> dict[str, Tensor]:
        """Rename a part's tensors to the names of the official file; by default they are the same.

        Args:
            part: The part.

        Returns:
            The tensors by the names of the file.
        """
        return dict(self.parts()[part].state_dict())


def _state(path: Path, entry: str | None) -> dict[str, Tensor]:
    """Read the tensors of an official file: those of its entry, or all of them where the file is that entry by itself."""
    from recolorist_lab.assets.weights import WeightsError, state_of

    try:
        return state_of(path, part=entry)
    except WeightsError as error:
        if entry is None:
            raise
        try:
            return state_of(path)
        except WeightsError:
            raise error from None


def frozen(module: nn.Module) -> nn.Module:
    """Exclude every parameter of a module from training.

    Args:
        module: The module.

    Returns:
        The same module.

    Example:
        >>> any(value.requires_grad for value in frozen(nn.Linear(2, 2)).parameters())
        False
    """
    return module.requires_grad_(False)


def trained_parameters(model: Baseline, names: Sequence[str]) -> list[nn.Parameter]:
    """List the parameters of some parts that are not frozen.

    Args:
        model: The network.
        names: Names of the parts.

    Returns:
        The parameters.
    """
    parts = model.parts()
    return [value for name in names for value in parts[name].parameters() if value.requires_grad]


def checked(content: Tensor, style: Tensor) -> Tensor:
    """Check a batch of contents and styles.

    Args:
        content: (B, 3, H, W), from 0 to 1.
        style: As many, or one for all.

    Returns:
        The styles, one for each content.

    Raises:
        ImageError: They are not images that a network accepts.
    """
    for name, image in (("content", content), ("style", style)):
        if image.ndim != 4 or image.shape[1] != 3 or not image.numel():
            raise ImageError(f"{name} has shape {tuple(image.shape)}; accepted is (B, 3, H, W) with no side of 0")
        if not image.is_floating_point():
            raise ImageError(f"{name} is {image.dtype}; accepted are floats in [0, 1] (divide 8-bit pixels by 255)")
        low, high = (float(value) for value in torch.aminmax(image))
        if not (low >= 0.0 and high <= 1.0):  # also refuses NaN
            raise ImageError(f"{name} has values from {low:g} to {high:g}; accepted is [0, 1]")
    if len(style) not in (1, len(content)):
        raise ImageError(
            f"{len(content)} contents were given with {len(style)} styles; give one style for each content, or one style for all"
        )
    return style.expand(len(content), -1, -1, -1)
