"""The dataset wrapper: equal bits for any number of workers, started in any way, and after a resume."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from PIL import Image
from torch.utils.data import DataLoader, WeightedRandomSampler

from recolorist import Colorist
from recolorist.errors import OptionError
from recolorist.torch import ColoristDataset, RepeatedEpochWarning, ToNormalizedTensor
from tests.torch.data import Tiles, bank_of, digest, tiles

COUNT, EPOCHS = 60, 2


def dataset(count: int = COUNT, **options: Any) -> ColoristDataset:
    source = Tiles(count)
    return ColoristDataset(source, Colorist(bank_of(source.images), p=0.6, seed=11), **options)


def passes(data: ColoristDataset, **options: Any) -> list[dict[int, str]]:
    loader = DataLoader(data, **options)
    result = []
    for epoch in range(EPOCHS):
        data.set_epoch(epoch)
        result.append(digest(loader))
    return result


@pytest.fixture(scope="module")
def reference() -> list[dict[int, str]]:
    return passes(dataset(), batch_size=4)


LOADERS: dict[str, dict[str, Any]] = {
    "one worker": {"num_workers": 1, "batch_size": 7},
    "two workers, fork, shuffled": {"num_workers": 2, "batch_size": 5, "shuffle": True, "multiprocessing_context": "fork"},
    "two workers, fork, persistent": {
        "num_workers": 2,
        "batch_size": 1,
        "persistent_workers": True,
        "multiprocessing_context": "fork",
    },
    "two workers, spawn, persistent": {
        "num_workers": 2,
        "batch_size": 16,
        "persistent_workers": True,
        "multiprocessing_context": "spawn",
    },
    "no worker, one batch": {"batch_size": COUNT, "shuffle": True},
}


class TestSameBits:
    @pytest.mark.parametrize("options", LOADERS.values(), ids=LOADERS.keys())
    def test_for_every_loader(self, reference: list[dict[int, str]], options: dict[str, Any]) -> None:
        assert passes(dataset(), **options) == reference

    @pytest.mark.filterwarnings("ignore:This DataLoader will create 8 worker")  # more than this machine may have cores
    def test_for_eight_workers(self, reference: list[dict[int, str]]) -> None:
        assert passes(dataset(), num_workers=8, batch_size=3, multiprocessing_context="fork") == reference

    def test_epochs_differ(self, reference: list[dict[int, str]]) -> None:
        first, second = reference
        assert set(first) == set(second) == set(range(COUNT))
        assert sum(first[i] != second[i] for i in first) > COUNT / 2  # both coins say no to 16 % of them

    def test_as_the_colorist_itself(self) -> None:
        data = dataset()
        data.set_epoch(3)
        for i in range(COUNT):
            assert np.array_equal(data[i][0], data.colorist(data.dataset.images[i], index=i, epoch=3))

    @pytest.mark.parametrize("start", range(0, COUNT, 3))  # twenty points
    def test_after_a_resume(self, reference: list[dict[int, str]], start: int) -> None:
        order = np.random.default_rng(5).permutation(COUNT).tolist()
        resumed = dataset()
        resumed.set_epoch(1)
        rest = digest(DataLoader(resumed, batch_size=8, sampler=order[start:]))  # type: ignore[arg-type,unused-ignore]
        assert rest == {i: reference[1][i] for i in order[start:]}

    def test_of_a_copy(self) -> None:
        data = dataset()
        data.set_epoch(1)
        other = copy.deepcopy(data)
        other.set_epoch(1)
        assert digest(DataLoader(other)) == digest(DataLoader(data))
        other.set_epoch(2)
        assert data.epoch == 1
        assert data._counts.data_ptr() != other._counts.data_ptr()
        assert other._counts.is_shared()


class TestBatches:
    def test_are_the_samples_one_by_one(self) -> None:
        one, many = dataset(9), dataset(9)
        wanted = [one[i][0] for i in (3, 8, 0)]
        got = many.__getitems__([3, -1, 0])
        assert [label for _, label in got] == [one.dataset[i][1] for i in (3, 8, 0)]
        for (image, _), expected in zip(got, wanted, strict=True):
            assert np.array_equal(image, expected)

    def test_are_fetched_before_the_first_is_recoloured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = dataset(6)
        done: list[str] = []
        fetch, draw = Tiles.__getitem__, Colorist.draw

        def fetched(self: Tiles, index: int) -> Any:
            done.append("fetch")
            return fetch(self, index)

        def drawn(self: Colorist, **given: Any) -> Any:
            done.append("draw")
            return draw(self, **given)

        monkeypatch.setattr(Tiles, "__getitem__", fetched)
        monkeypatch.setattr(Colorist, "draw", drawn)
        next(iter(DataLoader(data, batch_size=3)))
        assert done == ["fetch"] * 3 + ["draw"] * 3

    def test_come_from_a_dataset_that_gives_them_whole(self) -> None:
        class Whole(Tiles):
            asked: tuple[int, ...] = ()

            def __getitems__(self, indices: list[int]) -> list[Any]:
                self.asked = tuple(indices)
                return [self[i] for i in indices]

        source = Whole(6)
        data = ColoristDataset(source, Colorist(bank_of(source.images), p=0.6, seed=11))
        first = next(iter(DataLoader(data, batch_size=4)))
        assert source.asked == (0, 1, 2, 3)
        assert len(first[0]) == 4

    def test_count_their_samples(self) -> None:
        data = dataset(6)
        _, first, second = data.__getitems__([1, 2, 2])
        assert np.array_equal(first[0], data.colorist(data.dataset.images[2], index=2, epoch=0))
        assert np.array_equal(second[0], data.colorist(data.dataset.images[2], index=2, epoch=1))


class TestForgottenEpoch:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"num_workers": 2, "multiprocessing_context": "fork"},
            {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": True},
        ],
        ids=["no worker", "two workers", "persistent worker"],
    )
    def test_gives_the_colours_of_the_right_use(self, options: dict[str, Any]) -> None:
        """Plain Lightning, and loops that know nothing of epochs: passes are counted, in workers too."""
        loader = DataLoader(dataset(12), batch_size=3, **options)
        assert [digest(loader) for _ in range(EPOCHS)] == passes(dataset(12))

    def test_a_look_before_training_changes_no_epoch_that_is_set(self) -> None:
        data = dataset(12)
        looks = [data[0][0] for _ in range(5)]
        assert len({look.tobytes() for look in looks}) > 1
        assert passes(data) == passes(dataset(12))

    def test_an_epoch_may_be_begun_again(self) -> None:
        data = dataset(6)
        first = digest(DataLoader(data))
        data.set_epoch(0)
        assert digest(DataLoader(data)) == first

    def test_by_the_colorist_is_as_good(self) -> None:
        data = dataset(12)
        data.colorist.set_epoch(1)
        assert digest(DataLoader(data)) == passes(dataset(12))[1]

    @pytest.mark.parametrize("epochs", [0, 3])
    def test_sampling_with_replacement(self, epochs: int) -> None:
        data = dataset(30)
        sampler = WeightedRandomSampler([1.0] * 25 + [8.0] * 5, num_samples=30)
        for epoch in range(epochs):
            data.set_epoch(epoch)
            assert len(list(DataLoader(data, sampler=sampler))) == 30
        assert len(list(DataLoader(data, sampler=sampler))) == 30

    def test_after_it_was_set_once_is_warned_of(self) -> None:
        data = dataset(6)
        data.set_epoch(2)
        for _ in range(2):
            list(DataLoader(data))
        with pytest.warns(RepeatedEpochWarning, match=r"set_epoch\(2\)"):
            list(DataLoader(data))
        list(DataLoader(data))  # once

    def test_of_several_processes_is_warned_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WORLD_SIZE", "2")
        data = dataset(3)
        list(DataLoader(data))
        with pytest.warns(RepeatedEpochWarning, match="sample 0 came again"):
            data[0]

    def test_after_a_pass_left_early(self) -> None:
        """Persistent workers go on fetching for a while; that must not look like a forgotten epoch."""
        data = dataset(24)
        loader = DataLoader(
            data, batch_size=2, num_workers=2, persistent_workers=True, prefetch_factor=4, multiprocessing_context="fork"
        )
        expected = passes(dataset(24))
        for _ in loader:
            break
        for epoch in range(EPOCHS):
            data.set_epoch(epoch)
            assert digest(loader) == expected[epoch]

    def test_a_missing_sample_is_not_counted(self) -> None:
        data = dataset(4)
        with pytest.raises(IndexError):
            data[4]
        assert np.array_equal(data[-1][0], data.colorist(data.dataset.images[3], index=3))


class Sample(NamedTuple):
    picture: Any
    label: int


class Listed:
    """A dataset over a list, with a length and samples by number."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


def containers() -> Iterator[tuple[str, Any, int | str]]:
    image = tiles(1)[0]
    yield "tuple", (image, 3), 0
    yield "second in a tuple", (3, image), 1
    yield "list", [image, 3], 0
    yield "named tuple", Sample(image, 3), 0
    yield "dictionary", {"label": 3, "image": image}, "image"
    yield "bare", image, 0


class TestSamples:
    @pytest.mark.parametrize(("sample", "place"), [c[1:] for c in containers()], ids=[c[0] for c in containers()])
    def test_containers_keep_their_type_and_the_rest(self, sample: Any, place: int | str) -> None:
        image = tiles(1)[0]
        aug = Colorist(bank_of(tiles(5, seed=1)), p=1.0, seed=2)
        changed = ColoristDataset(Listed([sample]), aug, image=place)[0]
        assert type(changed) is type(sample)
        expected = aug(image, index=0)
        assert not np.array_equal(expected, image)
        found = changed if isinstance(changed, np.ndarray) else changed[place]
        assert np.array_equal(found, expected)
        if not isinstance(sample, np.ndarray):
            assert [v for v in (changed.values() if isinstance(changed, dict) else changed) if isinstance(v, int)] == [3]
        original = sample if isinstance(sample, np.ndarray) else sample[place]
        assert np.array_equal(original, image)

    @pytest.mark.parametrize("kind", ["pil", "array", "tensor", "float tensor", "bfloat16 tensor"])
    @pytest.mark.parametrize("sampler", ["uniform", "own_style"])
    def test_kinds_of_image(self, kind: str, sampler: str) -> None:
        image = tiles(1)[0]
        tensor = torch.from_numpy(image).permute(2, 0, 1).contiguous()
        given: Any = {
            "pil": Image.fromarray(image),
            "array": image,
            "tensor": tensor,
            "float tensor": tensor / 255,
            "bfloat16 tensor": (tensor / 255).bfloat16(),
        }[kind]
        aug = Colorist(bank_of(tiles(5, seed=1)), p=1.0, sampler=sampler, seed=2)
        changed = ColoristDataset(Listed([given]), aug)[0]
        assert type(changed) is type(given)
        expected = aug(image, index=0)
        if isinstance(changed, torch.Tensor):
            assert changed.dtype == given.dtype
            assert changed.shape == given.shape
            if changed.dtype == torch.uint8:
                assert np.array_equal(changed.permute(1, 2, 0).numpy(), expected)
            else:
                levels = changed.float().permute(1, 2, 0).numpy() * 255
                assert np.abs(levels - expected).max() <= (0.51 if kind == "float tensor" else 1.51)  # rounding to levels
        else:
            assert np.array_equal(np.asarray(changed), expected)

    def test_labels_and_domains_reach_the_sampler(self) -> None:
        images = tiles(12)
        domains = [str(i % 3) for i in range(12)]
        aug = Colorist(bank_of(images, domains=domains), p=1.0, sampler="other_domain", seed=4)
        unknown = Listed([(image, torch.tensor([i % 3])) for i, image in enumerate(tiles(12, seed=9))])
        data = ColoristDataset(unknown, aug, domain=1, key=lambda sample: f"new {int(sample[1])}", parameters=False)
        for i in range(12):
            assert np.array_equal(data[i][0], aug(unknown[i][0], index=i, key=f"new {i % 3}", domain=str(i % 3)))

    def test_the_number_is_the_key(self) -> None:
        """With two styles in the bank, a sample of it can only get the other one."""
        source = Tiles(2)
        data = ColoristDataset(source, bank_of(source.images), p=1.0, seed=0)
        for epoch in range(20):
            data.set_epoch(epoch)
            assert not np.array_equal(data[0][0], source.images[0])

    def test_mask_of_the_sample(self) -> None:
        image = tiles(1)[0]
        mask = np.zeros(image.shape[:2], bool)
        mask[:4] = True
        aug = Colorist(bank_of(tiles(5, seed=1)), p=1.0, seed=2, apply_to="mask")
        changed, kept = ColoristDataset(Listed([(image, mask)]), aug, mask=1)[0]
        assert kept is mask
        assert np.array_equal(changed[4:], image[4:])
        assert np.array_equal(changed, aug(image, index=0, mask=mask))

    def test_transform_comes_afterwards(self) -> None:
        data = dataset(4, transform=lambda image: image.astype(np.float32).sum())
        assert data[2][0] == data.colorist(data.dataset.images[2], index=2).astype(np.float32).sum()

    def test_transform_is_fused(self) -> None:
        to_tensor = ToNormalizedTensor((0.5, 0.4, 0.6), (0.2, 0.3, 0.1))
        data = dataset(20, transform=to_tensor)
        for i in range(20):
            assert torch.equal(data[i][0], to_tensor(data.colorist(data.dataset.images[i], index=i)))


class TestRefusals:
    def test_what_is_no_dataset(self) -> None:
        with pytest.raises(OptionError, match="length"):
            ColoristDataset(iter([]), bank_of(tiles(2)))  # type: ignore[arg-type]

    def test_options_beside_a_colorist(self) -> None:
        with pytest.raises(OptionError, match="strength"):
            ColoristDataset(Tiles(2), Colorist(bank_of(tiles(2))), strength=0.5)

    def test_a_part_that_is_not_there(self) -> None:
        with pytest.raises(OptionError, match="no part 'picture'"):
            ColoristDataset(Listed([{"image": tiles(1)[0]}]), bank_of(tiles(2)), image="picture")[0]

    @pytest.mark.parametrize("epoch", [-1, 1.5])
    def test_an_epoch_that_is_none(self, epoch: Any) -> None:
        with pytest.raises(OptionError, match="epoch="):
            dataset(2).set_epoch(epoch)


@pytest.mark.parametrize("index", [-7, 6, 100])
def test_numbers_outside_are_index_errors(index: int) -> None:
    """So that iteration without a length ends, and callers may catch what they know."""
    data = ColoristDataset(Tiles(6), bank_of(tiles(6)), p=1.0, seed=1)
    with pytest.raises(IndexError, match="6 samples"):
        data[index]
    with pytest.raises(IndexError, match="6 samples"):
        data.__getitems__([0, index])
