"""Every draw belongs to (seed, epoch, index): not to the process, the worker, the order, or what else was drawn."""

from __future__ import annotations

import pickle  # noqa: TID251 - what torch does with a dataset for a worker that is not forked
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from recolorist.errors import ImageError
from recolorist_lab.augmentations import Augmentation, build
from tests.lab.augmentations.parts import CHAINS, EVERY, RANDOM, built, images


def drawn(change: Augmentation, epoch: int = 0, count: int = 24) -> list[bytes]:
    return [change(images().pixels(index), index=index, epoch=epoch).tobytes() for index in range(count)]


class Everything(Dataset[Any]):
    """One image, under many numbers, through every augmentation."""

    def __init__(self) -> None:
        self.image = images().pixels(0)

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        torch.rand(index + 1)  # other parts of a pipeline draw too, and not the same in each worker
        return {name: torch.from_numpy(built(name)(self.image, index=index, epoch=3)) for name in EVERY}


def loaded(workers: int) -> list[dict[str, torch.Tensor]]:
    return list(DataLoader(Everything(), batch_size=2, num_workers=workers))


@pytest.mark.parametrize("name", EVERY)
def test_the_same_call_gives_the_same_bits(name: str) -> None:
    assert drawn(built(name)) == drawn(build(name, images(), seed=7))
    backwards = [built(name)(images().pixels(index), index=index, epoch=0).tobytes() for index in reversed(range(24))]
    assert backwards[::-1] == drawn(built(name))


@pytest.mark.parametrize("name", [*RANDOM, *CHAINS])
def test_epochs_and_seeds_differ(name: str) -> None:
    first = drawn(built(name))
    assert first != drawn(built(name), epoch=1)
    assert first != drawn(built(name, 8))
    assert len(set(first)) > 12


def test_any_number_of_workers_gives_the_same_bits_and_no_two_workers_the_same_draws() -> None:
    alone = loaded(0)
    for workers in (1, 2):
        for one, other in zip(alone, loaded(workers), strict=True):
            assert all(torch.equal(one[name], other[name]) for name in EVERY)
    for name in [*RANDOM, *CHAINS]:  # with two workers, batches 0, 2, 4 are the first's, the others the second's
        first, second = (torch.cat([alone[place][name] for place in places]) for places in ((0, 2, 4), (1, 3, 5)))
        assert not torch.equal(first, second), name


@pytest.mark.parametrize("name", EVERY)
def test_nobody_elses_random_numbers_are_touched_or_used(name: str) -> None:
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global generator is what is watched
    random.seed(1)
    first = drawn(built(name), count=6)
    after = torch.rand(3), np.random.random(3), random.random()  # noqa: NPY002
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    untouched = torch.rand(3), np.random.random(3), random.random()  # noqa: NPY002
    assert torch.equal(after[0], untouched[0])
    assert np.array_equal(after[1], untouched[1])
    assert after[2] == untouched[2]
    assert first == drawn(built(name), count=6)


@pytest.mark.parametrize("name", [name for name in EVERY if name not in CHAINS])
def test_with_p_zero_it_is_none_bit_for_bit(name: str) -> None:
    off = build(name, images(), seed=7, p=0.0)
    assert drawn(off) == drawn(built("none"))
    batch = torch.rand(4, 3, 8, 8)
    assert off.batch(batch, epoch=0, step=0) is batch


@pytest.mark.parametrize("name", EVERY)
def test_the_image_that_comes_is_left_alone(name: str) -> None:
    image = images().pixels(1)
    before = image.copy()
    for epoch in range(6):
        result = built(name)(image, index=1, epoch=epoch)
        assert result.dtype == np.uint8
        assert result.shape == image.shape
        assert result.flags.c_contiguous
        assert result is image or not np.shares_memory(result, image)
    assert np.array_equal(image, before)


@pytest.mark.parametrize("name", EVERY)
def test_arrays_that_cannot_be_written_to_are_taken(name: str) -> None:
    image = images().pixels(2).copy()
    image.flags.writeable = False
    assert np.array_equal(built(name)(image, index=2, epoch=0), built(name)(image.copy(), index=2, epoch=0))


@pytest.mark.parametrize("name", EVERY)
def test_a_copy_for_another_process_draws_the_same(name: str) -> None:
    copy = pickle.loads(pickle.dumps(built(name)))  # noqa: S301
    assert drawn(copy) == drawn(built(name))


@pytest.mark.parametrize("name", EVERY)
def test_images_need_not_be_square(name: str) -> None:
    image = images().pixels(3)[:20]
    if name in ("randstainna", "own_style") or "colorist" in name:
        pytest.skip("the bank says, with a warning, that images of another size are not what it measured")
    for epoch in range(8):
        assert built(name)(np.ascontiguousarray(image), index=3, epoch=epoch).shape == (20, 32, 3)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "none"])
@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.float32), [[0]]], ids=["grey", "float", "list"]
)
def test_other_images_are_refused(name: str, image: Any) -> None:
    with pytest.raises(ImageError, match="8-bit RGB"):
        built(name)(image, index=0, epoch=0)


def test_two_parts_of_one_name_draw_by_themselves() -> None:
    twice, once = build("random_flip+random_flip", images(), seed=7), build("random_flip", images(), seed=7)
    back_again = [built("none")(images().pixels(i), index=i, epoch=0).tobytes() for i in range(24)]
    assert drawn(twice) != back_again
    assert drawn(twice) != drawn(once)


def test_the_first_part_draws_as_it_would_alone() -> None:
    both = build("colorist+random_erasing(chance=0.0)", images(), seed=7)
    assert drawn(both) == drawn(built("colorist"))
