"""The training loop: epochs, minibatches, early stopping, checkpoints. Random numbers are keyed by the minibatch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from recolorist.errors import RecoloristError
from recolorist_lab.augmentations import Augmentation
from recolorist_lab.runs.config import Json
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import seed_of
from recolorist_lab.training import state
from recolorist_lab.training.algorithms.base import Algorithm, StepLoss
from recolorist_lab.training.feed import Minibatch, loader, read
from recolorist_lab.training.optimise import adamw, rate, set_rate
from recolorist_lab.training.predict import Reader, predict
from recolorist_lab.training.prepare import Prepared
from recolorist_lab.training.scores import Predictions, choose_classes, confusion, recall_mean
from recolorist_lab.training.settings import Settings
from recolorist_lab.training.watch import Now, Watchers

__all__ = ["ClassifierTrainer", "TrainingError", "halve_pieces", "is_channels_last", "pieces_of"]


class TrainingError(RecoloristError):
    """A run that cannot continue."""


class ClassifierTrainer:
    """One run on one of the devices. ``context`` is None on all but the first."""

    def __init__(
        self, settings: Settings, ready: Prepared, val: Reader, fabric: Any, context: Context | None, watchers: Watchers
    ) -> None:
        self.settings, self.order, self.normalise, self.val = settings, ready.order, ready.normalise, val
        self.fabric, self.context, self.watchers = fabric, context, watchers
        self.algorithm: Algorithm = ready.algorithm
        self.augmentation: Augmentation | None = ready.feed.augmentation
        if is_channels_last(settings, fabric.device.type):
            self.algorithm.network.use_channels_last()
        if settings.compile:
            self.algorithm.compile()
            self.algorithm.network.compile()  # which predicts without the algorithm
        self.module, self.optimiser = fabric.setup(self.algorithm, adamw(self.algorithm, settings))
        self.bare: torch.optim.Optimizer = self.optimiser.optimizer  # without Fabric's wrapper: its rates and its memory
        pin = fabric.device.type == "cuda"
        self.batches = loader(ready.feed, ready.order, settings.workers, pin=pin, seconds=settings.hang_seconds / 2)
        self.progress = state.Counters()
        self.best: dict[str, Tensor] = {}
        self._buffers = list(self.algorithm.buffers())
        self._before = [buffer.clone() for buffer in self._buffers]  # as they were before the minibatch
        self._saved = time.monotonic()

    # ---- the run -----------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Train until all epochs are done or patience ends; then load the weights to keep."""
        self._resume()
        while not self.progress.finished:
            set_rate(self.bare, rate(self.settings, self.progress.epoch))
            self._train_epoch()
            self._end_epoch()
        self.algorithm.network.net.load_state_dict(self.best)

    def _train_epoch(self) -> None:
        now = self.progress
        remaining = self.order.go_to(now.epoch, now.done)
        total = now.done + len(remaining)
        parts = read(self.batches)
        for batch in remaining:
            self.module.train()
            self._update(parts, len(batch))
            now.done, now.step, now.clock = now.done + 1, now.step + 1, now.clock + 1
            moment = Now(
                now.epoch, self.settings.epochs, now.done, total, now.loss_sum / max(now.seen, 1), now.right / max(now.seen, 1)
            )
            self.watchers.minibatch(moment)
            self._save_sometimes()

    def _end_epoch(self) -> None:
        """Validate, keep the weights if they are the best or all are kept, and decide whether to continue."""
        now = self.progress
        if now.skipped_now == now.done:
            raise TrainingError(
                f"in epoch {now.epoch} the loss or the gradient of every minibatch was not finite; use a smaller learning_rate "
                f"than {self.settings.learning_rate}"
            )
        self._share_buffers()
        predictions = predict(self.algorithm.network, self.val, self.normalise, self.algorithm.task, self.fabric)
        loss = predictions.batch_loss(self.settings.batch)
        if math.isfinite(loss) and (self.settings.keep == "last" or now.best_loss is None or loss < now.best_loss):
            now.best_loss, now.best_epoch, now.waited = loss, now.epoch, 0
            self.best = state.frozen_copy(self.algorithm.network.net)
        else:
            now.waited += 1
        row = self._row(loss, predictions)
        now.history.append(row)
        self.watchers.epoch(row)
        now.epoch, now.done, now.clock = now.epoch + 1, 0, now.clock + 1
        now.skipped_now, now.loss_sum, now.right, now.seen = 0, 0.0, 0.0, 0
        now.finished = now.epoch == self.settings.epochs or now.waited >= self.settings.patience
        if now.finished and not self.best:
            raise TrainingError("the validation loss was never finite; there are no weights to keep")
        self._save_sometimes()

    def _row(self, loss: float, predictions: Predictions) -> dict[str, Json]:
        now = self.progress
        return {
            "epoch": now.epoch,
            "rate": rate(self.settings, now.epoch),
            "train_loss": now.loss_sum / max(now.seen, 1),
            "train_accuracy": now.right / max(now.seen, 1),
            "val_loss": loss if math.isfinite(loss) else None,
            "val_balanced_accuracy": _balanced(predictions) if math.isfinite(loss) else None,
            "skipped": now.skipped_now,
            "parts": self.parts,
        }

    @property
    def parts(self) -> int:
        """Return in how many parts a minibatch is processed: as set, times the divisions after lack of memory."""
        return self.settings.accumulate * self.progress.split

    # ---- one minibatch -----------------------------------------------------------------------------------------------------

    def _update(self, parts: Iterator[Minibatch], size: int) -> None:
        """Process the parts of a minibatch, then take one step, unless the loss or the gradient is not finite."""
        batch = [next(parts) for _ in range(self.settings.accumulate)]
        while (totals := self._gradients(batch, size)) is None:  # outside the handler, which would keep tensors alive
            self._restore_buffers()
            self.progress.split = halve_pieces(self.settings, self.progress.split, max(len(part.targets) for part in batch))
            if self.fabric.device.type == "cuda":
                torch.cuda.empty_cache()
        now = self.progress
        now.loss_sum, now.right, now.seen = now.loss_sum + totals.loss, now.right + totals.right, now.seen + totals.seen
        if self._agreed(totals.finite) and self._clipped():
            if self.algorithm.refreshes():
                self.bare.state.clear()
            self.optimiser.step()
            self.algorithm.updated()
        else:
            self._restore_buffers()  # batch norm has seen what was not finite
            now.skipped, now.skipped_now = now.skipped + 1, now.skipped_now + 1

    def _gradients(self, batch: Sequence[Minibatch], size: int) -> _Totals | None:
        """Add up the gradients of a minibatch; None where the device has too little memory for it."""
        self.optimiser.zero_grad()
        for copy, buffer in zip(self._before, self._buffers, strict=True):
            copy.copy_(buffer)
        pieces = [piece for part in batch for piece in pieces_of(part, self.progress.split)]
        totals = _Totals()
        try:
            for number, piece in enumerate(pieces):
                part = self._moved(piece, number)
                weight = len(part.targets) * self.settings.devices / size  # uneven shares count by their images
                with self.fabric.no_backward_sync(self.module, enabled=number + 1 < len(pieces)):
                    outcome: StepLoss = self.module(*part)
                    self.fabric.backward(outcome.loss * weight)
                totals.add(outcome, part.targets, multilabel=self.algorithm.task.multilabel)
        except torch.OutOfMemoryError:
            return None
        return totals

    def _restore_buffers(self) -> None:
        """Give batch norm and counters the values they had before the minibatch."""
        for copy, buffer in zip(self._before, self._buffers, strict=True):
            buffer.copy_(copy)

    def _share_buffers(self) -> None:
        """Give every device the batch-norm statistics of the first, so that all predict with the saved network."""
        if self.fabric.world_size > 1:
            for buffer in self._buffers:
                torch.distributed.broadcast(buffer, 0)

    def _moved(self, part: Minibatch, number: int) -> Minibatch:
        """Move images to the device, normalise them, and set torch's generators to the stream of this part."""
        now, device = self.progress, self.fabric.device
        images = self.normalise.unit(part.images.to(device, non_blocking=True))
        if self.augmentation is not None and self.augmentation.has_batch:
            images = self.augmentation.batch(images, epoch=now.epoch, step=_number(now.step, self.fabric.global_rank, number))
        torch.manual_seed(seed_of("minibatch", self.settings.seed, now.step, self.fabric.global_rank, number))
        domains = part.domains if self.order.split_by_domain else torch.zeros_like(part.domains)
        return Minibatch(self.normalise(images), part.targets.to(device, non_blocking=True), domains.to(device))

    def _agreed(self, finite: bool) -> bool:
        """Return whether all devices can step; if one cannot, none does."""
        if self.fabric.world_size == 1:
            return finite
        return bool(
            self.fabric.all_reduce(torch.tensor(float(finite), device=self.fabric.device), reduce_op="sum")
            == self.fabric.world_size
        )

    def _clipped(self) -> bool:
        """Clip the gradient; return False if it is not finite. A loss scaler looks for that itself."""
        most = self.settings.clip_norm or math.inf  # which only measures it
        norm = self.fabric.clip_gradients(self.module, self.optimiser, max_norm=most, error_if_nonfinite=False)
        return self._scaler() is not None or bool(torch.isfinite(norm))

    # ---- checkpoints -------------------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        saved = self.context.resume() if self.context is not None else None
        if self.fabric.world_size > 1:
            saved = self.fabric.broadcast(saved)
        if saved is None:
            return
        self.best, self.progress, scaler = state.restore(saved[1], self.algorithm, self.bare)
        if self._scaler() is not None:
            self._scaler().load_state_dict(scaler)

    def _save_sometimes(self) -> None:
        if self.context is None or time.monotonic() - self._saved < self.settings.checkpoint_seconds:
            return
        scaler = self._scaler()
        data = state.snapshot(self.algorithm, self.bare, self.best, self.progress, scaler.state_dict() if scaler else None)
        self.context.save(self.progress.clock, data)
        self._saved = time.monotonic()

    def _scaler(self) -> Any:
        return getattr(self.fabric._precision, "scaler", None)  # noqa: SLF001 - Fabric shows it nowhere else


@dataclass
class _Totals:
    """What a minibatch adds to the sums of its epoch, and whether all its losses are finite."""

    loss: float = 0.0
    right: float = 0.0
    seen: int = 0
    finite: bool = True

    def add(self, outcome: StepLoss, targets: Tensor, *, multilabel: bool) -> None:
        """Add a part of the minibatch."""
        loss, logits = float(outcome.loss.detach()), outcome.logits.detach()
        if not math.isfinite(loss):
            self.finite = False
            return
        if multilabel:
            right = float(((logits > 0) == (targets > 0.5)).float().mean(1).sum())
        else:
            right = float((logits.argmax(1) == targets).sum())
        self.loss, self.right, self.seen = self.loss + loss * len(logits), self.right + right, self.seen + len(logits)


def pieces_of(part: Minibatch, count: int) -> list[Minibatch]:
    """Divide a minibatch into equal pieces of at least two images, which batch norm needs.

    Args:
        part: The minibatch.
        count: How many pieces are wanted.

    Returns:
        The pieces, in order.

    Example:
        >>> part = Minibatch(torch.zeros(7, 3, 1, 1), torch.arange(7), torch.zeros(7))
        >>> [piece.targets.tolist() for piece in pieces_of(part, 4)]
        [[0, 1, 2], [3, 4], [5, 6]]
    """
    count = max(1, min(count, len(part.targets) // 2))
    return [Minibatch(*tensors) for tensors in zip(*(tensor.tensor_split(count) for tensor in part), strict=True)]


def is_channels_last(settings: Settings, device: str) -> bool:
    """Return whether a run keeps channels side by side: as set, and otherwise on processors, where it was measured to be faster.

    Args:
        settings: Of the run.
        device: Where it computes.

    Returns:
        True if it does.

    Example:
        >>> is_channels_last(Settings("synthetic", 0), "cpu"), is_channels_last(Settings("synthetic", 0), "cuda")
        (True, False)
    """
    return settings.memory_format == "channels_last" or (settings.memory_format == "auto" and device == "cpu")


def halve_pieces(settings: Settings, split: int, images: int) -> int:
    """Return into how many pieces to divide a part of a minibatch from now on, where memory did not suffice.

    Args:
        settings: Of the run.
        split: The present number of pieces.
        images: Images of the part.

    Returns:
        The new number of pieces.

    Raises:
        TrainingError: The pieces cannot be smaller, or several devices would have to agree.
    """
    if settings.devices > 1:
        raise TrainingError(
            f"a device ran out of memory with {images} images of a batch of {settings.batch} on {settings.devices} devices; "
            f"train in more parts with accumulate={2 * settings.accumulate}"
        )
    if images < 4 * split:
        raise TrainingError(
            f"the device ran out of memory with {max(1, images // split)} images at a time of {settings.model} at "
            f"{settings.size} pixels, and batch norm needs two; free memory on the device, or use a smaller model or size"
        )
    return 2 * split


def _balanced(predictions: Predictions) -> float:
    shares = predictions.probabilities()
    if predictions.multilabel:
        truth, decided = predictions.targets.astype("int64"), (shares > 0.5).astype("int64")
        recalls = [recall_mean(confusion(truth[:, label], decided[:, label], 2)) for label in range(shares.shape[1])]
        return sum(recalls) / len(recalls)
    return recall_mean(confusion(predictions.targets, choose_classes(shares), shares.shape[1]))


def _number(step: int, rank: int, part: int) -> int:
    """Return a number that is unique for a part of a minibatch on a device."""
    return (step << 16) | (rank << 8) | part
