"""One trainer for every method: it draws pairs, steps the method's optimisers, and stops when a loss is not finite.

Its whole state is the trained parts, the optimisers, torch's generator and the number of the next step; crops follow from that
number alone. A run that was saved and restored goes on bit for bit as if nothing had happened.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import layout, store
from recolorist_lab.baselines.base import Baseline, Optimisation, Step
from recolorist_lab.baselines.crops import Images, Loader
from recolorist_lab.baselines.recipe import TrainingRecipe
from recolorist_lab.baselines.selection import Selection

__all__ = ["BaselineTrainer", "DivergedError", "Record", "device_of"]

_FORMAT: Final = "recolorist.baseline.checkpoint/1"
_CONTENT, _STYLE = 0, 1  # the shuffles
_RNG: Final = "random/cpu"
_CUDA: Final = "random/cuda"
_OPTIMISER: Final = "optimiser/"


class DivergedError(RecoloristError):
    """A loss that is not finite."""


class Record(NamedTuple):
    """What one iteration did: the losses by optimiser, their parts, and its learning rates."""

    step: int
    loss: dict[str, float]
    parts: dict[str, float]
    rate: dict[str, float]


class BaselineTrainer:
    """A training run of one method on one collection of images."""

    def __init__(
        self,
        model: Baseline,
        images: Images,
        recipe: TrainingRecipe | None = None,
        *,
        seed: int = 0,
        device: str = "cpu",
        threads: int = 1,
        validation: Images | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            model: The network; it is trained in place.
            images: What it is trained on.
            recipe: How; the network's own unless given.
            seed: Of crops and of torch's generator.
            device: Where it is trained.
            threads: Threads that read images; they change no result.
            validation: Images on which the best epoch is chosen; without them the last step is kept.
        """
        if not model.needs_training and type(model).training_step is Baseline.training_step:
            raise OptionError(
                f"{model.name} is used as published and has no training; see its official files with `baseline info`"
            )
        self.recipe = (recipe or model.defaults).resolved(len(images))
        _refuse_small(model, self.recipe)
        self.model, self.seed, self.step = model.to(device), seed, 0
        self.device = torch.device(device)
        self.optimisers = model.configure_optimiser(self.recipe)
        self.draws = model.draws(self.recipe)
        distinct = max(self.draws) if model.distinct_draws else 0
        self.loader = Loader(images, self.recipe, seed=seed, distinct=distinct, threads=threads)
        self._gpus = [self.device] if self.device.type == "cuda" else []
        self._random = _seeded(seed, self._gpus)
        chooses = self.recipe.keep == "best" and validation is not None
        self.selection = Selection(model, validation, self.recipe, seed=seed, threads=threads) if chooses else None  # type: ignore[arg-type]

    # ---- steps ----------------------------------------------------------------------------------------------------------

    def advance(self) -> Record:
        """Run one iteration.

        Returns:
            Its losses.
        """
        step = self.step
        rates = {name: optimisation.rate(step) for name, optimisation in self.optimisers.items()}
        for name, optimisation in self.optimisers.items():
            for group in optimisation.optimiser.param_groups:
                group["lr"] = rates[name]
        self.model.train()
        with self._own_random():
            if step == 0:
                with torch.no_grad():
                    self.model.prepare(*self.pair(0))
            loss, parts = self._accumulated(step) if self.recipe.accumulate > 1 else self._single(step)
        self.step += 1
        if self.selection and self._ends_epoch():
            self.selection.offer(self.step, self.device)
        return Record(step, loss, parts, rates)

    def _ends_epoch(self) -> bool:
        """Return whether an epoch has ended, or the run after one; a run of less than an epoch has nothing to choose from."""
        steps = self.recipe.epoch_steps or 1
        return self.step % steps == 0 or (self.step == self.recipe.iterations and self.step > steps)

    def finish(self) -> dict[str, Any]:
        """Give the model the weights that the recipe keeps.

        Returns:
            Which they are, for the record.
        """
        if self.selection is None or not self.selection.step:
            return {"keep": "last", "step": self.step}
        self.selection.use()
        return {"keep": "best", "step": self.selection.step, "validation_loss": self.selection.loss}

    def pair(self, number: int) -> tuple[Tensor, Tensor]:
        """Read contents and styles of one call of the training step.

        Args:
            number: The number of the call.

        Returns:
            Contents and styles.
        """
        contents, styles = self.draws
        content = self.loader.batch(_CONTENT, number * contents, contents).to(self.device)
        if not self.recipe.paired:
            return content, content
        return content, self.loader.batch(_STYLE, number * styles, styles).to(self.device)

    def _single(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        content, style = self.pair(step)
        self._ask(step + 1)
        losses: dict[str, float] = {}
        parts: dict[str, float] = {}
        for term in self.model.training_step(content, style, step):
            optimisation = self._optimiser(term)
            value = self._value(term, step)
            optimisation.optimiser.zero_grad(set_to_none=True)
            term.loss.backward()
            _finish(optimisation)
            losses[term.optimiser] = losses.get(term.optimiser, 0.0) + value
            parts |= {name: float(part.detach()) for name, part in term.parts.items()}
        return losses, parts

    def _accumulated(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """Average the gradients of several parts of a batch; only for methods with one loss per iteration."""
        share = 1.0 / self.recipe.accumulate
        total = 0.0
        parts: dict[str, float] = {}
        (name, optimisation), *more = self.optimisers.items()
        optimisation.optimiser.zero_grad(set_to_none=True)
        for number in range(step * self.recipe.accumulate, (step + 1) * self.recipe.accumulate):
            content, style = self.pair(number)
            self._ask(number + 1)
            steps = list(self.model.training_step(content, style, step))
            if not steps:  # an iteration that only prepares, as ArtFlow's first
                continue
            if len(steps) != 1 or more:
                raise OptionError(f"{self.model.name} steps several optimisers in turn; accumulate must be 1")
            total += self._value(steps[0], step) * share
            (steps[0].loss * share).backward()
            for key, part in steps[0].parts.items():
                parts[key] = parts.get(key, 0.0) + float(part.detach()) * share
        if not parts:
            return {}, {}
        _finish(optimisation)
        return {name: total}, parts

    def _ask(self, number: int) -> None:
        contents, styles = self.draws
        if number < self.recipe.iterations * self.recipe.accumulate:
            self.loader.ask(_CONTENT, number * contents, contents)
            if self.recipe.paired:
                self.loader.ask(_STYLE, number * styles, styles)

    def _optimiser(self, term: Step) -> Optimisation:
        if term.optimiser not in self.optimisers:
            raise OptionError(f"{self.model.name} has no optimiser {term.optimiser!r}; it has {', '.join(self.optimisers)}")
        return self.optimisers[term.optimiser]

    def _value(self, term: Step, step: int) -> float:
        """Return the loss as a number; it is checked before the weights change."""
        value = float(term.loss.detach())
        if not math.isfinite(value):
            losses = ", ".join(f"{name} {float(part.detach()):g}" for name, part in term.parts.items())
            raise DivergedError(
                f"{self.model.name}: the loss {term.optimiser!r} is {value} at step {step} ({losses}); "
                "go back to an earlier checkpoint with a lower --rate, or look at the images of this step"
            )
        return value

    # ---- state ----------------------------------------------------------------------------------------------------------

    def state(self) -> bytes:
        """Return everything a later :meth:`restore` needs, without pickle.

        Returns:
            The bytes of a checkpoint.
        """
        tensors = store.named_tensors(self.model, self.model.trained_parts())
        description: dict[str, Any] = {"format": _FORMAT, "step": self.step, "seed": self.seed, "recipe": asdict(self.recipe)}
        description["optimisers"] = {}
        for name, optimisation in self.optimisers.items():
            part, numbers = _taken_apart(optimisation.optimiser.state_dict(), f"{_OPTIMISER}{name}/")
            tensors |= part
            description["optimisers"][name] = numbers
        if self.selection:
            part, description["selection"] = self.selection.state()
            tensors |= part
        tensors |= self._random
        return store.packed(tensors, description)

    def restore(self, data: bytes, source: str = "the checkpoint") -> None:
        """Continue from a state.

        Args:
            data: The bytes of a checkpoint.
            source: Where it came from, for the message.

        Raises:
            LayoutError: It is of another method or of another run.
        """
        tensors, description = store.unpacked(data, source)
        if (
            description.get("format") != _FORMAT
            or description.get("seed") != self.seed
            or set(description["optimisers"]) != set(self.optimisers)
        ):
            raise layout.LayoutError(f"{source} does not belong to this run of {self.model.name} (seed {self.seed})")
        prefixes = ("random/", _OPTIMISER, "best/")
        store.put(
            self.model,
            {name: value for name, value in tensors.items() if not name.startswith(prefixes)},
            self.model.trained_parts(),
            source,
        )
        for name, optimisation in self.optimisers.items():
            optimisation.optimiser.load_state_dict(
                _put_together(tensors, description["optimisers"][name], f"{_OPTIMISER}{name}/")
            )
        self._random = {name: value for name, value in tensors.items() if name.startswith("random/")}
        if self.selection:
            self.selection.restore(tensors, description.get("selection", {}))
        self.step = int(description["step"])

    def close(self) -> None:
        """Stop the threads that read images."""
        self.loader.close()
        if self.selection:
            self.selection.close()

    @contextmanager
    def _own_random(self) -> Iterator[None]:
        """Set torch's generators to the run's own state, and restore them afterwards."""
        with torch.random.fork_rng(devices=self._gpus):
            torch.set_rng_state(self._random[_RNG])
            for gpu in self._gpus:
                torch.cuda.set_rng_state(self._random[_CUDA], gpu)
            yield
            self._random = _states(self._gpus)


def device_of(name: str) -> str:
    """Return the device of a name; ``auto`` is a GPU where there is one.

    Args:
        name: ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"`` and so on.

    Returns:
        The device.

    Raises:
        OptionError: There is no such device here.

    Example:
        >>> device_of("cpu")
        'cpu'
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # for names torch does not know, and for devices that are not there
        raise OptionError(
            f"device={name!r} is not available on this machine; accepted are 'auto', 'cpu', 'cuda', 'cuda:1' …"
        ) from error
    return name


def _refuse_small(model: Baseline, recipe: TrainingRecipe) -> None:
    least = max(model.least, model.least_crop)
    if recipe.crop_size < least or recipe.crop_size % model.multiple:
        of = f" and be a multiple of {model.multiple}" if model.multiple > 1 else ""
        raise OptionError(f"crop_size={recipe.crop_size}; crops for {model.name} must have at least {least} pixels a side{of}")


def _finish(optimisation: Optimisation) -> None:
    if optimisation.clip:
        nn.utils.clip_grad_norm_(
            [value for group in optimisation.optimiser.param_groups for value in group["params"]], optimisation.clip
        )
    optimisation.optimiser.step()


def _seeded(seed: int, gpus: list[torch.device]) -> dict[str, Tensor]:
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        return _states(gpus)


def _states(gpus: list[torch.device]) -> dict[str, Tensor]:
    return {_RNG: torch.get_rng_state(), **({_CUDA: torch.cuda.get_rng_state(gpus[0])} if gpus else {})}


def _taken_apart(state: dict[str, Any], start: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Split an optimiser's state into tensors and values for JSON."""
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for place, values in state["state"].items():
        for key, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"{start}{place}/{key}"] = value
            else:
                numbers.setdefault(str(place), {})[key] = value
    return tensors, {"groups": state["param_groups"], "numbers": numbers}


def _put_together(tensors: dict[str, Tensor], numbers: dict[str, Any], start: str) -> dict[str, Any]:
    state: dict[int, dict[str, Any]] = {int(place): dict(values) for place, values in numbers["numbers"].items()}
    for name, value in tensors.items():
        if name.startswith(start):
            place, _, key = name[len(start) :].partition("/")
            state.setdefault(int(place), {})[key] = value
    groups = [{**group, **({"betas": tuple(group["betas"])} if "betas" in group else {})} for group in numbers["groups"]]
    return {"state": state, "param_groups": groups}
