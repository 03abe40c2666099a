"""Which images make a minibatch."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.training.batches import Order, draw_by_domain, parts_of, shuffle_all
from tests.lab.training.contexts import small


@pytest.mark.parametrize(("domains", "size"), [(3, 12), (5, 12), (12, 12), (40, 12)])
def test_a_batch_by_domain_is_never_larger_than_asked_for(domains: int, size: int) -> None:
    numbers = np.arange(120) % domains
    batches = draw_by_domain(numbers, size, seed=1, epoch=0)
    assert len(batches) == 10
    for batch in batches:
        counts = np.unique(numbers[batch], return_counts=True)[1]
        assert len(batch) == min(domains, size) * max(1, size // domains)
        assert set(counts) == {max(1, size // domains)}
    if domains > size:
        assert len({tuple(sorted(set(numbers[batch]))) for batch in batches}) > 1  # not the same domains each time


def test_an_epoch_has_every_image_once() -> None:
    batches = shuffle_all(50, 8, 2, seed=3, epoch=1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(50))
    assert not np.array_equal(batches[0], shuffle_all(50, 8, 2, seed=3, epoch=2)[0])


def test_an_order_goes_on_where_it_was() -> None:
    settings = small(batch=8, accumulate=2)
    whole, rest = Order(settings, ["a"] * 20), Order(settings, ["a"] * 20)
    whole.go_to(0, 0)
    rest.go_to(0, 1)
    assert list(whole)[2:] == list(rest)
    assert len(rest) == len(whole) - 2
    assert [len(part) for part in whole] == [4, 4, 4, 4, 2, 2]


def test_parts_share_out_a_batch() -> None:
    parts = [parts_of(np.arange(10), 2, 2, rank) for rank in (0, 1)]
    assert [part.tolist() for device in parts for part in device] == [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]


def test_too_few_images_are_refused() -> None:
    with pytest.raises(OptionError, match="there are 3 images to train on; with these devices and parts 4 are needed"):
        Order(small(accumulate=2), ["a"] * 3)
