"""Watch a run: a progress bar, and TensorBoard. Neither can change a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol

from recolorist import optional
from recolorist_lab.progress import Update, steps_bar

__all__ = ["Board", "Now", "Watchers", "bar", "watchers"]

Row = Mapping[str, Any]


class Now(NamedTuple):
    """A finished minibatch: its place in the run, and the results of the epoch so far."""

    epoch: int
    epochs: int
    done: int
    of: int
    loss: float
    accuracy: float


class Watcher(Protocol):
    """Receives the progress of a run."""

    def minibatch(self, now: Now) -> None:
        """Take note of a finished minibatch.

        Args:
            now: How far the run is.
        """

    def epoch(self, row: Row) -> None:
        """Take note of a finished epoch.

        Args:
            row: Its line in the history.
        """

    def close(self) -> None:
        """End the display."""


_WATCHING: Final[ContextVar[tuple[Watcher, ...]]] = ContextVar("_WATCHING", default=())


class Watchers:
    """Several watchers as one."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = tuple(watchers)

    def minibatch(self, now: Now) -> None:
        """Pass a minibatch on to all watchers.

        Args:
            now: Where the training is.
        """
        for watcher in self._watchers:
            watcher.minibatch(now)

    def epoch(self, row: Row) -> None:
        """Pass an epoch on to all watchers.

        Args:
            row: The numbers of the epoch.
        """
        for watcher in self._watchers:
            watcher.epoch(row)

    def close(self) -> None:
        """Close all watchers."""
        for watcher in self._watchers:
            watcher.close()


def watchers(tensorboard: str = "", name: str = "") -> Watchers:
    """Collect the watchers of this context, with TensorBoard where its folder is given.

    Args:
        tensorboard: Folder for TensorBoard; empty for none.
        name: Name of the run in it.

    Returns:
        The watchers as one.
    """
    board: list[Watcher] = [Board(tensorboard, name)] if tensorboard else []
    return Watchers([*_WATCHING.get(), *board])


class Board:
    """Scalars for TensorBoard, one point per epoch."""

    def __init__(self, folder: str, name: str) -> None:
        module: Any = optional.load("torch.utils.tensorboard", "write TensorBoard logs")
        self._writer = module.SummaryWriter(f"{folder}/{name}" if name else folder)

    def minibatch(self, now: Now) -> None:
        """Ignore minibatches: they are too fine to be kept.

        Args:
            now: Where the training is.
        """

    def epoch(self, row: Row) -> None:
        """Add a point to every curve.

        Args:
            row: The numbers of the epoch.
        """
        for name, value in row.items():
            if name != "epoch" and value is not None:
                self._writer.add_scalar(name, value, row["epoch"])

    def close(self) -> None:
        """Write the remaining data."""
        self._writer.close()


@contextmanager
def bar() -> Iterator[None]:
    """Show loss, accuracy and time left of runs in this context; without a terminal, as a line a minute.

    Yields:
        While the bar is shown.
    """
    with steps_bar("training", "name", "bar", "text", "elapsed", "left") as update:
        token = _WATCHING.set((*_WATCHING.get(), _Bar(update)))
        try:
            yield
        finally:
            _WATCHING.reset(token)


class _Bar:
    """The minibatches of a run; the time left is to the last epoch, early stopping aside."""

    def __init__(self, update: Update) -> None:
        self._update = update
        self._validated = ""

    def minibatch(self, now: Now) -> None:
        text = f"loss {now.loss:.4f}, accuracy {now.accuracy:.3f}{self._validated}"
        done, total = now.epoch * now.of + now.done, now.epochs * now.of
        self._update(done, total, text, name=f"epoch {now.epoch + 1}/{now.epochs}")

    def epoch(self, row: Row) -> None:
        if row["val_loss"] is not None:
            self._validated = f"; validation {row['val_loss']:.4f}, {row['val_balanced_accuracy']:.3f}"

    def close(self) -> None:
        """Do nothing; the context that made the bar closes it."""
