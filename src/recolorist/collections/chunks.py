"""Chunks of a collection: the work on a few images, wherever it runs. One bad image never stops the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from recolorist.collections.items import Item
from recolorist.collections.target import OutputError
from recolorist.errors import RecoloristError

__all__ = ["Chunk", "Failure", "Work", "chunks_of", "do_chunk", "process_failure"]

_MOST_PER_CHUNK: Final = 32
_CHUNKS_PER_WORKER: Final = 8


class Failure(NamedTuple):
    """An image that could not be done, and why."""

    key: str
    message: str


class Work(Protocol):
    """What is done with each image; sent to every process once."""

    def __call__(self, item: Item) -> Any:
        """Work on one image."""

    def finish(self, values: list[Any]) -> list[Any]:
        """Work on a few results at once, where that is cheaper than one by one.

        Args:
            values: The results of the work.

        Returns:
            What is returned for each item.
        """


Chunk = tuple[int, Sequence[Item]]  # number of the first item, and the items


def chunks_of(items: Sequence[Item], jobs: int) -> list[Chunk]:
    """Return chunks of consecutive items, few enough in each that all workers have something to do until the end.

    Args:
        items: The items.
        jobs: The number of workers.

    Returns:
        The chunks, each with the number of its first item.

    Example:
        >>> [(start, len(chunk)) for start, chunk in chunks_of([Item(str(i), "") for i in range(20)], 1)]
        [(0, 3), (3, 3), (6, 3), (9, 3), (12, 3), (15, 3), (18, 2)]
    """
    size = max(1, min(_MOST_PER_CHUNK, -(-len(items) // (jobs * _CHUNKS_PER_WORKER))))
    return [(start, items[start : start + size]) for start in range(0, len(items), size)]


def do_chunk(work: Work, items: Sequence[Item]) -> list[Any]:
    """Work on a few images; what goes wrong with one of them is its result.

    Args:
        work: What is done with each item.
        items: The images.

    Returns:
        A result or a failure for each.
    """
    values = [_do(work, item) for item in items]
    good = [i for i, value in enumerate(values) if not isinstance(value, Failure)]
    for i, value in zip(good, work.finish([values[i] for i in good]), strict=True):
        values[i] = value
    return values


def process_failure(item: Item) -> Failure:
    """The message for an image whose worker process died.

    Args:
        item: The image.

    Returns:
        The failure.
    """
    return Failure(item.key, "the process working on it died twice; the file may be too large for the memory, or crash a decoder")


def _do(work: Work, item: Item) -> Any:
    try:
        return work(item)
    except OutputError:  # the disk is full or the folder is gone: going on would only repeat it for every image
        raise
    except RecoloristError as error:
        return Failure(item.key, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not cost the other images
        return Failure(item.key, f"{type(error).__name__}: {error}")
