"""Epochs: no key gets the same colours in every epoch unnoticed, and running workers hear of a new one."""

from __future__ import annotations

import copy
import multiprocessing
import pickle  # noqa: TID251 - a spawned process gets its objects by it
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.epochs import RETURNS, SLOTS, RepeatedEpochWarning, SharedEpoch
from recolorist.errors import OptionError

TILES = np.random.default_rng(9).integers(0, 200, (40, 9, 7, 3), dtype=np.uint8)
BANK = StyleBank.build(TILES // 2, split="train")


class Pasted:
    """The line of the README in a dataset of one's own."""

    def __init__(self, colorist: Colorist) -> None:
        self.colorist = colorist

    def __len__(self) -> int:
        return len(TILES)

    def __getitem__(self, index: int) -> Any:
        return self.colorist(TILES[index], key=str(index))


def one_pass(data: Pasted) -> list[bytes]:
    return [data[i].tobytes() for i in range(len(data))]


def caught(action: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        action()
    return [str(record.message) for record in records if record.category is RepeatedEpochWarning]


class TestForgottenEpoch:
    def test_is_warned_of_once(self) -> None:
        data = Pasted(Colorist(BANK, p=0.3, seed=0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one_pass(data)
        (message,) = caught(lambda: (one_pass(data), one_pass(data)))
        assert "set_epoch" in message

    def test_of_one_key_for_all_images(self) -> None:
        aug = Colorist(BANK, p=0.3, seed=0)
        (message,) = caught(lambda: [aug(tile, key="0") for tile in TILES])
        assert "'0'" in message

    def test_a_few_looks_are_free(self) -> None:
        aug = Colorist(BANK, p=1.0, seed=0)
        for _ in range(5):
            for i in range(3):
                aug(TILES[i], index=i)

    def test_asking_what_would_be_done_is_free(self) -> None:
        aug = Colorist(BANK, p=1.0, seed=0)
        for _ in range(100):
            aug.params(TILES[0], key="0")

    def test_no_warning_where_epochs_are_set_or_passed(self) -> None:
        aug = Colorist(BANK, p=1.0, seed=0)
        for epoch in range(3):
            aug.set_epoch(epoch)
            for i in np.random.default_rng(epoch).integers(0, 4, 60).tolist():  # a sampler that draws with replacement
                aug(TILES[i], index=i)
                aug(TILES[i], index=i, epoch=epoch)

    def test_set_once_is_warned_of_once_in_the_fourth_pass(self) -> None:
        data = Pasted(Colorist(BANK, p=0.3, seed=0))
        data.colorist.set_epoch(0)
        assert caught(lambda: [one_pass(data) for _ in range(3)]) == []
        (message,) = caught(lambda: [one_pass(data) for _ in range(3)])
        assert "the epoch has been 0 for 4 passes" in message

    def test_draws_with_replacement_are_not_taken_for_it(self) -> None:
        aug = Colorist(BANK, p=0.0, seed=0)
        rng = np.random.default_rng(4)
        for epoch in range(3):
            aug.set_epoch(epoch)
            weights = np.repeat([1.0, 5.0], 20)
            for i in rng.choice(40, 40, p=weights / weights.sum()).tolist():
                aug(TILES[i], index=i)

    def test_keys_beyond_the_memory_cost_nothing_and_the_others_are_known(self) -> None:
        epoch = SharedEpoch()
        assert not caught(lambda: [epoch.note(number) for number in range(3 * SLOTS)])
        assert caught(lambda: [epoch.note(number) for number in range(RETURNS)])


class TestSetEpoch:
    def test_gives_new_colours(self) -> None:
        data = Pasted(Colorist(BANK, p=1.0, seed=0))
        first = one_pass(data)
        data.colorist.set_epoch(1)
        second = one_pass(data)
        data.colorist.set_epoch(0)
        assert one_pass(data) == first
        assert sum(a == b for a, b in zip(first, second, strict=True)) < 6  # 40 styles, by chance one

    def test_is_the_epoch_of_the_call(self) -> None:
        aug, other = Colorist(BANK, p=1.0, seed=0), Colorist(BANK, p=1.0, seed=0)
        aug.set_epoch(7)
        assert aug.epoch == 7
        assert np.array_equal(aug(TILES[0], index=0), other(TILES[0], index=0, epoch=7))
        assert aug.params(TILES[0], index=0) == other.params(TILES[0], index=0, epoch=7)

    @pytest.mark.parametrize("epoch", [-1, 1.5, "1", 2**64])
    def test_nonsense_is_refused(self, epoch: Any) -> None:
        with pytest.raises(OptionError, match="epoch="):
            Colorist(BANK).set_epoch(epoch)

    def test_a_copy_has_an_epoch_of_its_own(self) -> None:
        aug = Colorist(BANK, p=1.0, seed=0)
        aug.set_epoch(3)
        for other in (copy.deepcopy(aug), pickle.loads(pickle.dumps(aug))):  # noqa: S301 - our own
            assert other.epoch == 3
            other.set_epoch(4)
            assert aug.epoch == 3

    def test_calls_do_not_change_the_pickle(self) -> None:
        """Hugging Face datasets hash it; another hash would miss the cache."""
        aug = Colorist(BANK, p=1.0, seed=0)
        before = pickle.dumps(aug._epoch)
        aug(TILES[0], key="0")
        assert pickle.dumps(aug._epoch) == before


def _listen(epoch: SharedEpoch, pipe: Any) -> None:
    for _ in range(2):
        pipe.recv()
        pipe.send(epoch.now)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_running_process_hears_of_it(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    epoch = SharedEpoch()
    here, there = context.Pipe()
    process = context.Process(target=_listen, args=(epoch, there))
    process.start()
    heard = []
    for number in (5, 6):
        epoch.set(number)
        here.send(None)
        assert here.poll(60)
        heard.append(here.recv())
    process.join()
    assert heard == [5, 6]
