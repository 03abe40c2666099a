from __future__ import annotations

import os
import pickle  # noqa: TID251 - a spawned loader worker gets its transforms by it
from typing import Any

import numpy as np
import pytest
from PIL import Image

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here is to be fetched
datasets = pytest.importorskip("datasets", reason="datasets is an extra")
torch = pytest.importorskip("torch", reason="loader workers are PyTorch's")

from torch.utils.data import DataLoader  # noqa: E402 - skipped without the framework

import recolorist as rc  # noqa: E402
from recolorist.augment.epochs import RepeatedEpochWarning  # noqa: E402
from recolorist.huggingface import ColoristTransform  # noqa: E402
from tests.frameworks import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)

BANK = workers.bank()
TILES = workers.tiles(12, seed=1)


def table() -> Any:
    """A dataset as it would come from the hub: PIL images, class numbers, row numbers, masks."""
    masks = [Image.fromarray((tile[..., 0] > 100).astype(np.uint8) * 255) for tile in TILES]
    columns = {
        "image": [Image.fromarray(tile) for tile in TILES],
        "label": [i % 3 for i in range(len(TILES))],
        "index": list(range(len(TILES))),
        "name": [f"scan {i}" for i in range(len(TILES))],
        "mask": masks,
    }
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(num_classes=3),
            "index": datasets.Value("int64"),
            "name": datasets.Value("string"),
            "mask": datasets.Image(),
        }
    )
    return datasets.Dataset.from_dict(columns, features=features)


def pixels(dataset: Any) -> list[bytes]:
    return [np.asarray(image).tobytes() for image in dataset[:]["image"]]


class OneByOne:
    """The callable as the harness calls it, without an index column: a batch of one."""

    def __init__(self) -> None:
        self.change = ColoristTransform(BANK, p=1.0, seed=3)

    def __call__(self, image: workers.Image, mask: workers.Image, index: int) -> tuple[Any, Any]:
        out = self.change({"image": [Image.fromarray(image)], "mask": [mask], "index": [index]})
        return out["image"][0], out["mask"][0]


class TestWorkers:
    def test_without_an_index_workers_and_epochs_differ_and_a_rerun_repeats(self) -> None:
        runs = []
        for _ in range(2):
            dataset = workers.Repeated(OneByOne())
            runs.append(workers.two_epochs(dataset))
            workers.assert_varied(runs[-1])
            workers.assert_kept(runs[-1], dataset, "Image  (20, 28, 3)")
        assert runs[0] == runs[1]

    @pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 4), (2, 1), (2, 5), (3, 12)])
    def test_with_an_index_the_same_for_any_workers_and_batches(self, count: int, size: int) -> None:
        change = ColoristTransform(BANK, p=0.5, seed=3, index_column="index", then=np.asarray)
        dataset = table().with_transform(change)
        alone = [dataset[i]["image"].tobytes() for i in range(len(dataset))]
        loader = DataLoader(dataset, batch_size=size, num_workers=count, collate_fn=list)
        loaded = [sample["image"].tobytes() for samples in loader for sample in samples]
        assert loaded == alone
        assert len(set(alone)) == len(alone)

    @pytest.mark.parametrize("copied", [False, True])
    def test_epochs_differ_and_come_back(self, copied: bool) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index")
        dataset = table()
        if copied:
            dataset = dataset.with_transform(change)
        else:
            dataset.set_transform(change)
        first = pixels(dataset)
        change.set_epoch(1)
        second = pixels(dataset)
        change.set_epoch(0)
        assert pixels(dataset) == first
        assert all(one != other for one, other in zip(first, second, strict=True))

    def test_persistent_workers_hear_of_the_epoch(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index", then=np.asarray)
        loader = DataLoader(
            table().with_transform(change),
            batch_size=4,
            num_workers=1,
            persistent_workers=True,
            collate_fn=list,
            multiprocessing_context="fork",
        )
        for epoch in range(3):
            change.set_epoch(epoch)
            loaded = [sample["image"] for samples in loader for sample in samples]
            wanted = [change.core(Image.fromarray(tile), index=i, epoch=epoch) for i, tile in enumerate(TILES)]
            assert [image.tobytes() for image in loaded] == [image.tobytes() for image in wanted]

    def test_a_forgotten_epoch_is_warned_of(self) -> None:
        dataset = table().with_transform(ColoristTransform(BANK, p=1.0, seed=3, index_column="index"))
        pixels(dataset)
        with pytest.warns(RepeatedEpochWarning, match="set_epoch"):
            pixels(dataset), pixels(dataset)

    def test_shuffling_takes_the_index_along(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index")
        straight = dict(zip(range(len(TILES)), pixels(table().with_transform(change)), strict=True))
        shuffled = table().shuffle(seed=1)
        order = shuffled["index"]
        assert list(order) != sorted(order)
        assert pixels(shuffled.with_transform(change)) == [straight[i] for i in order]


class TestBatches:
    def test_equals_the_core(self) -> None:
        core = rc.Colorist(BANK, p=0.5, seed=3)
        out = table().with_transform(ColoristTransform(BANK, p=0.5, seed=3, index_column="index"))[:]
        wanted = [core(Image.fromarray(tile), index=i) for i, tile in enumerate(TILES)]
        assert [np.asarray(image).tobytes() for image in out["image"]] == [np.asarray(image).tobytes() for image in wanted]
        assert all(isinstance(image, Image.Image) for image in out["image"])

    def test_other_columns_are_kept(self) -> None:
        plain, out = table()[:], table().with_transform(ColoristTransform(BANK, p=1.0, seed=3))[:]
        assert set(out) == set(plain)
        assert out["label"] == plain["label"]
        kept = [np.asarray(mask).tobytes() for mask in out["mask"]]
        assert kept == [np.asarray(mask).tobytes() for mask in plain["mask"]]

    def test_another_output_column(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, output="pixel_values", then=np.asarray)
        sample = table().with_transform(change)[4]
        assert np.array_equal(np.asarray(sample["image"]), TILES[4])
        assert sample["pixel_values"].shape == (20, 28, 3)
        assert not np.array_equal(sample["pixel_values"], TILES[4])

    def test_names_labels_and_masks(self) -> None:
        change = ColoristTransform(
            BANK,
            p=1.0,
            seed=3,
            sampler="same_label",
            key_column="name",
            label_column="label",
            mask_column="mask",
            apply_to="mask",
        )
        out = table().with_transform(change)[:]
        core = rc.Colorist(BANK, p=1.0, seed=3, sampler="same_label", apply_to="mask")
        for i, image in enumerate(out["image"]):
            inside = TILES[i][..., 0] > 100
            alone = core(TILES[i], key=f"scan {i}", label=str(i % 3), mask=inside)
            assert np.array_equal(np.asarray(image), alone)
            assert np.array_equal(np.asarray(image)[~inside], TILES[i][~inside])

    def test_missing_column_is_named(self) -> None:
        with pytest.raises(rc.RecoloristError, match="no column 'row'"):
            ColoristTransform(BANK, index_column="row")({"image": [TILES[0]]})

    def test_two_keys_are_refused(self) -> None:
        with pytest.raises(rc.RecoloristError, match="both"):
            ColoristTransform(BANK, index_column="index", key_column="name")

    def test_pickled(self) -> None:
        change = ColoristTransform(BANK, p=0.5, seed=3, index_column="index")
        again = pickle.loads(pickle.dumps(change))  # noqa: S301 - our own
        assert pixels(table().with_transform(again)) == pixels(table().with_transform(change))
        assert "column='image'" in repr(again)


class TestMap:
    """``map`` calls with batches, or with single rows, and writes what comes back into a cache."""

    def test_rows_and_batches_are_the_same(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index", mask_column="mask")
        change.set_epoch(0)
        rows = table().map(change, load_from_cache_file=False)
        batches = table().map(change, batched=True, batch_size=5, load_from_cache_file=False)
        assert pixels(rows) == pixels(batches) == pixels(table().with_transform(change))
        assert rows["label"][:] == table()["label"][:]

    @pytest.mark.parametrize("kind", [np.asarray, Image.fromarray], ids=["array", "picture"])
    def test_plain_dictionaries_of_one_row(self, kind: Any) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, key_column="name")
        alone = change({"image": kind(TILES[0]), "name": "a", "label": 2})
        together = change({"image": [kind(TILES[0])], "name": ["a"], "label": [2]})
        assert np.array_equal(np.asarray(alone["image"]), np.asarray(together["image"][0]))
        assert alone["label"] == 2

    def test_a_column_that_is_one_array(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index")
        out = change({"image": TILES[:4], "index": np.arange(4)})
        core = rc.Colorist(BANK, p=1.0, seed=3)
        assert all(np.array_equal(out["image"][i], core(TILES[i], index=i)) for i in range(4))

    def test_numbers_of_tensors_key_draws(self) -> None:
        """``with_format("torch")`` gives them."""
        torch = pytest.importorskip("torch")
        change, core = ColoristTransform(BANK, p=1.0, seed=3, index_column="index"), rc.Colorist(BANK, p=1.0, seed=3)
        out = change({"image": TILES[2], "index": torch.tensor(2)})
        assert np.array_equal(out["image"], core(TILES[2], index=2))

    @pytest.mark.parametrize("batched", [False, True])
    def test_lists_of_numbers_get_a_sentence(self, batched: bool) -> None:
        """Datasets gives them for arrays, unless a format is set."""
        import datasets

        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index")
        plain = datasets.Dataset.from_dict({"image": [tile.tolist() for tile in TILES[:2]], "index": [0, 1]})
        with pytest.raises(rc.RecoloristError, match=r"with_format\('numpy'\)"):
            plain.map(change, batched=batched, load_from_cache_file=False)

    def test_rows_without_an_image(self) -> None:
        change = ColoristTransform(BANK, p=1.0, seed=3, index_column="index", then=np.asarray)
        out = change({"image": [None, TILES[1]], "index": [0, 1]})
        assert out["image"][0] is None
        assert out["image"][1].shape == TILES[1].shape
        assert change({"image": None, "index": 0})["image"] is None

    @pytest.mark.parametrize(
        "options", [{}, {"index_column": "index"}, {"sampler": "same_label", "label_column": "label"}], ids=str
    )
    def test_the_hash_does_not_change_with_use(self, options: dict[str, Any]) -> None:
        """Else the cache of ``map`` is missed."""
        from datasets.fingerprint import Hasher

        change = ColoristTransform(BANK, p=0.5, seed=3, **options)
        before = Hasher.hash(change)
        for tile in TILES:
            change({"image": [tile], "index": [3], "label": ["1"]})
        assert Hasher.hash(change) == before
        assert Hasher.hash(ColoristTransform(workers.bank(), p=0.5, seed=3, **options)) == before
        assert Hasher.hash(ColoristTransform(BANK, p=0.5, seed=4, **options)) != before
        change.set_epoch(1)
        assert Hasher.hash(change) != before
