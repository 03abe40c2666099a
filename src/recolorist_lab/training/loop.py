"""The training itself: epochs, minibatches, early stopping, checkpoints. What is random is keyed by the minibatch's number."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
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
from recolorist_lab.training.feed import Minibatch, loader
from recolorist_lab.training.optimise import adamw, set_rate
from recolorist_lab.training.predict import Reader, predict
from recolorist_lab.training.prepare import Prepared
from recolorist_lab.training.schedule import rate
from recolorist_lab.training.scores import Predictions, chosen, confusion, recall_mean
from recolorist_lab.training.settings import Settings
from recolorist_lab.training.watch import Now, Watchers

__all__ = ["ClassifierTrainer", "TrainingError"]


class TrainingError(RecoloristError):
    """A run that cannot go on."""


class ClassifierTrainer:
    """One run on one device of perhaps several. ``context`` is None on all but the first."""

    def __init__(
        self, settings: Settings, ready: Prepared, val: Reader, fabric: Any, context: Context | None, watchers: Watchers
    ) -> None:
        self.settings, self.order, self.normalise, self.val = settings, ready.order, ready.normalise, val
        self.fabric, self.context, self.watchers = fabric, context, watchers
        self.algorithm: Algorithm = ready.algorithm
        self.augmentation: Augmentation | None = ready.feed.augmentation
        self.module, self.optimiser = fabric.setup(self.algorithm, adamw(self.algorithm, settings))
        self.bare: torch.optim.Optimizer = self.optimiser.optimizer  # without Fabric's wrapper: its rates and its memory
        self.batches = loader(ready.feed, ready.order, settings.workers, pin=fabric.device.type == "cuda")
        self.progress = state.Counters()
        self.best: dict[str, Tensor] = {}
        self._saved = time.monotonic()

    # ---- the run -----------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Train until the epochs are over or patience is; afterwards the network has the best weights."""
        self._resume()
        while not self.progress.finished:
            set_rate(self.bare, rate(self.settings, self.progress.epoch))
            self._train_epoch()
            self._end_epoch()
        self.algorithm.network.net.load_state_dict(self.best)

    def _train_epoch(self) -> None:
        now = self.progress
        left = self.order.go_to(now.epoch, now.done)
        total = now.done + len(left)
        parts = iter(self.batches)
        for batch in left:
            self.module.train()
            self._update(parts, len(batch))
            now.done, now.step, now.clock = now.done + 1, now.step + 1, now.clock + 1
            told = Now(
                now.epoch, self.settings.epochs, now.done, total, now.loss_sum / max(now.seen, 1), now.right / max(now.seen, 1)
            )
            self.watchers.minibatch(told)
            self._save_sometimes()

    def _end_epoch(self) -> None:
        """Validate, keep the weights if they are the best, and see whether to go on."""
        now = self.progress
        if now.skipped_now == now.done:
            raise TrainingError(
                f"in epoch {now.epoch} the loss or the gradient of every minibatch was not finite; use a smaller learning_rate "
                f"than {self.settings.learning_rate}"
            )
        seen = predict(self.algorithm.network, self.val, self.normalise, self.algorithm.task, self.fabric)
        loss = seen.batch_loss(self.settings.batch)
        if math.isfinite(loss) and (now.best_loss is None or loss < now.best_loss):
            now.best_loss, now.best_epoch, now.waited = loss, now.epoch, 0
            self.best = state.frozen_copy(self.algorithm.network.net)
        else:
            now.waited += 1
        row = self._row(loss, seen)
        now.history.append(row)
        self.watchers.epoch(row)
        now.epoch, now.done, now.clock = now.epoch + 1, 0, now.clock + 1
        now.skipped_now, now.loss_sum, now.right, now.seen = 0, 0.0, 0.0, 0
        now.finished = now.epoch == self.settings.epochs or now.waited >= self.settings.patience
        if now.finished and not self.best:
            raise TrainingError("the validation loss was never finite; there are no weights to keep")
        self._save_sometimes()

    def _row(self, loss: float, seen: Predictions) -> dict[str, Json]:
        now = self.progress
        return {
            "epoch": now.epoch,
            "rate": rate(self.settings, now.epoch),
            "train_loss": now.loss_sum / max(now.seen, 1),
            "train_accuracy": now.right / max(now.seen, 1),
            "val_loss": loss if math.isfinite(loss) else None,
            "val_balanced_accuracy": _balanced(seen) if math.isfinite(loss) else None,
            "skipped": now.skipped_now,
        }

    # ---- one minibatch -----------------------------------------------------------------------------------------------------

    def _update(self, parts: Iterator[Minibatch], size: int) -> None:
        """Work through the parts of a minibatch, then take one step, unless the loss or the gradient is not finite."""
        settings, finite = self.settings, True
        self.optimiser.zero_grad()
        for number in range(settings.accumulate):
            part = self._moved(next(parts), number)
            weight = len(part.targets) * settings.devices / size  # uneven shares count by their images
            with self.fabric.no_backward_sync(self.module, enabled=number + 1 < settings.accumulate):
                outcome: StepLoss = self.module(*part)
                self.fabric.backward(outcome.loss * weight)
            finite &= self._noted(outcome, part)
        if self._agreed(finite) and self._clipped():
            if self.algorithm.refreshes():
                self.bare.state.clear()
            self.optimiser.step()
            self.algorithm.updated()
        else:
            self.progress.skipped, self.progress.skipped_now = self.progress.skipped + 1, self.progress.skipped_now + 1

    def _moved(self, part: Minibatch, number: int) -> Minibatch:
        """On the device, normalised, with torch's generators set to the stream of this very part."""
        now, device = self.progress, self.fabric.device
        images = self.normalise.unit(part.images.to(device, non_blocking=True))
        if self.augmentation is not None and self.augmentation.has_batch:
            images = self.augmentation.batch(images, epoch=now.epoch, step=_number(now.step, self.fabric.global_rank, number))
        torch.manual_seed(seed_of("minibatch", self.settings.seed, now.step, self.fabric.global_rank, number))
        domains = part.domains if self.order.split_by_domain else torch.zeros_like(part.domains)
        return Minibatch(self.normalise(images), part.targets.to(device, non_blocking=True), domains.to(device))

    def _noted(self, outcome: StepLoss, part: Minibatch) -> bool:
        """Add to the epoch's sums; False if the loss is not finite."""
        loss = float(outcome.loss.detach())
        if not math.isfinite(loss):
            return False
        now, logits = self.progress, outcome.logits.detach()
        if self.algorithm.task.multilabel:
            right = float(((logits > 0) == (part.targets > 0.5)).float().mean(1).sum())
        else:
            right = float((logits.argmax(1) == part.targets).sum())
        now.loss_sum, now.right, now.seen = now.loss_sum + loss * len(logits), now.right + right, now.seen + len(logits)
        return True

    def _agreed(self, finite: bool) -> bool:
        """All devices step, or none does."""
        if self.fabric.world_size == 1:
            return finite
        return bool(
            self.fabric.all_reduce(torch.tensor(float(finite), device=self.fabric.device), reduce_op="sum")
            == self.fabric.world_size
        )

    def _clipped(self) -> bool:
        """Clip the gradient; False if it is not finite. A loss scaler sees to that itself."""
        if not self.settings.clip_norm:
            return True
        norm = self.fabric.clip_gradients(self.module, self.optimiser, max_norm=self.settings.clip_norm, error_if_nonfinite=False)
        return self._scaler() is not None or bool(torch.isfinite(norm))

    # ---- checkpoints -------------------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        found = self.context.resume() if self.context is not None else None
        if self.fabric.world_size > 1:
            found = self.fabric.broadcast(found)
        if found is None:
            return
        self.best, self.progress, scaler = state.restore(found[1], self.algorithm, self.bare)
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


def _balanced(seen: Predictions) -> float:
    shares = seen.probabilities()
    if seen.multilabel:
        truth, decided = seen.targets.astype("int64"), (shares > 0.5).astype("int64")
        each = [recall_mean(confusion(truth[:, one], decided[:, one], 2)) for one in range(shares.shape[1])]
        return sum(each) / len(each)
    return recall_mean(confusion(seen.targets, chosen(shares), shares.shape[1]))


def _number(step: int, rank: int, part: int) -> int:
    """One number for a part of a minibatch on a device."""
    return (step << 16) | (rank << 8) | part
