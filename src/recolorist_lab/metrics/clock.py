"""Measure the time of the parts of an evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

__all__ = ["Clock"]

T = TypeVar("T")


@dataclass(slots=True)
class Clock:
    """Seconds by part."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of a block to a part.

        Args:
            name: The part.

        Yields:
            While the block runs.
        """
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def groups(self, items: Iterable[T], size: int) -> Iterator[list[T]]:
        """Take items in groups, and count the time of their iterator as the part "read".

        Args:
            items: The items.
            size: Items in a group.

        Yields:
            The groups.
        """
        source = iter(items)
        while True:
            with self.part("read"):
                group = list(islice(source, size))
            if not group:
                return
            yield group
