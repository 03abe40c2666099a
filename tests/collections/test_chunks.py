"""Work on a few images: every image has a result, and only an unwritable target ends the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from recolorist.collections.chunks import Failure, chunks_of, do_chunk, process_failure
from recolorist.collections.items import Item
from recolorist.collections.target import OutputError
from recolorist.errors import ImageError

ITEMS = [Item(str(i), "") for i in range(5)]


@dataclass(frozen=True)
class Doubling:
    """Work that raises one error at one item, and doubles the other numbers when it finishes."""

    error: Exception | None = None
    at: str = "2"

    def __call__(self, item: Item) -> int:
        if item.key == self.at and self.error is not None:
            raise self.error
        return int(item.key)

    def finish(self, values: list[Any]) -> list[Any]:
        return [2 * value for value in values]


def test_results_stand_in_the_order_of_the_items() -> None:
    assert do_chunk(Doubling(), ITEMS) == [0, 2, 4, 6, 8]


def test_no_items_give_no_results() -> None:
    assert do_chunk(Doubling(), []) == []


def test_a_refused_image_fails_with_its_own_sentence_and_the_rest_is_finished() -> None:
    assert do_chunk(Doubling(ImageError("it is empty")), ITEMS) == [0, 2, Failure("2", "it is empty"), 6, 8]


def test_an_unexpected_error_is_named_by_its_class() -> None:
    assert do_chunk(Doubling(KeyError("x")), ITEMS)[2] == Failure("2", "KeyError: 'x'")


def test_an_unwritable_target_ends_the_run() -> None:
    with pytest.raises(OutputError, match="the disk is full"):
        do_chunk(Doubling(OutputError("the disk is full")), ITEMS)


def test_an_interrupt_is_not_a_failed_image() -> None:
    @dataclass(frozen=True)
    class Interrupted(Doubling):
        def __call__(self, item: Item) -> int:
            raise KeyboardInterrupt(item.key)

    with pytest.raises(KeyboardInterrupt):
        do_chunk(Interrupted(), ITEMS)


def test_a_lost_worker_is_reported_by_the_name_of_its_image() -> None:
    failure = process_failure(Item("a/b.png", "elsewhere/b.png"))
    assert failure.key == "a/b.png"
    assert "died twice" in failure.message


@pytest.mark.parametrize("jobs", [1, 2, 64])
def test_chunks_hold_everything_in_order(jobs: int) -> None:
    items = [Item(str(i), "") for i in range(1001)]
    chunks = chunks_of(items, jobs)
    assert [item for _, chunk in chunks for item in chunk] == items
    assert all(items[start] is chunk[0] for start, chunk in chunks)
    assert max(len(chunk) for _, chunk in chunks) <= 32


def test_no_items_make_no_chunks() -> None:
    assert chunks_of([], 4) == []
