"""Samples of streams: keys decide, whoever brings the sample and whenever."""

from __future__ import annotations

import io
import tarfile
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from recolorist import Colorist
from recolorist.augment.epochs import RepeatedEpochWarning
from recolorist.errors import OptionError
from recolorist.torch import ColoristIterable, ColoristMapper, ToNormalizedTensor
from tests.frameworks import workers
from tests.torch.data import bank_of, tiles

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)

TILES = tiles(8, seed=1)
BANK = bank_of(tiles(30, seed=2), labels=[i % 2 for i in range(30)])
SAMPLES = [{"__key__": f"scan {i}", "png": tile, "cls": i % 2} for i, tile in enumerate(TILES)]
OPTIONS: dict[str, Any] = {"image": "png", "key": "__key__", "p": 1.0, "seed": 3}


class Stream(IterableDataset[Any]):
    """Samples divided among workers."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        return iter(SAMPLES if info is None else SAMPLES[info.id :: info.num_workers])


def by_key(samples: Any) -> dict[str, bytes]:
    return {sample["__key__"]: np.asarray(sample["png"]).tobytes() for sample in samples}


def expected(epoch: int = 0) -> dict[str, bytes]:
    core = Colorist(BANK, p=1.0, seed=3)
    return {s["__key__"]: core(s["png"], key=s["__key__"], epoch=epoch).tobytes() for s in SAMPLES}


class TestMapper:
    def test_keys_decide(self) -> None:
        change = ColoristMapper(BANK, **OPTIONS)
        assert by_key(map(change, SAMPLES)) == expected()
        assert by_key(map(change, reversed(SAMPLES))) == expected()
        change.set_epoch(4)
        assert change.epoch == 4
        assert by_key(map(change, SAMPLES)) == expected(4) != expected()

    def test_without_a_key_every_call_draws_anew(self) -> None:
        change = ColoristMapper(BANK, p=1.0, seed=3)
        assert len({change(TILES[0]).tobytes() for _ in range(8)}) > 4

    def test_containers_keep_their_type(self) -> None:
        pair = namedtuple("pair", "image label")  # noqa: PYI024 - as in torchvision's datasets
        change = ColoristMapper(BANK, p=1.0, seed=3)
        for sample in ((TILES[0], 1), [TILES[0], 1], pair(TILES[0], 1)):
            changed = change(sample)
            assert type(changed) is type(sample)
            assert changed[1] == 1
            assert not np.array_equal(changed[0], TILES[0])

    def test_labels_masks_and_transforms(self) -> None:
        to_tensor = ToNormalizedTensor((0.5,) * 3, (0.5,) * 3)
        change = ColoristMapper(BANK, **OPTIONS, label="cls", sampler="same_label", transform=to_tensor)
        core = Colorist(BANK, p=1.0, seed=3, sampler="same_label")
        for sample in SAMPLES:
            wanted = to_tensor(core(sample["png"], key=sample["__key__"], label=str(sample["cls"]), epoch=0))
            assert torch.equal(change(sample)["png"], wanted)

    def test_a_forgotten_epoch_is_announced(self) -> None:
        change = ColoristMapper(BANK, **OPTIONS)
        with pytest.warns(RepeatedEpochWarning):
            list(map(change, SAMPLES * 4))

    def test_refusals(self) -> None:
        with pytest.raises(OptionError, match="no part 'name'"):
            ColoristMapper(BANK, key="name")(SAMPLES[0])
        with pytest.raises(OptionError, match="has options of its own"):
            ColoristMapper(Colorist(BANK), p=0.5)
        with pytest.raises(OptionError, match="iterated"):
            ColoristIterable(3, BANK)  # type: ignore[arg-type]

    def test_texts(self) -> None:
        for made in (ColoristMapper(BANK, **OPTIONS), ColoristIterable(Stream(), BANK, **OPTIONS)):
            assert all(part in repr(made) for part in ("image='png'", "key='__key__'", "transform=None", "seed=3"))


class TestIterable:
    @pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], ids=str)
    def test_passes_are_epochs_for_any_number_of_workers(self, options: dict[str, Any]) -> None:
        data = ColoristIterable(Stream(), BANK, **OPTIONS)
        loader: DataLoader[Any] = DataLoader(data, batch_size=None, **options)
        assert by_key(loader) == expected(0)
        assert by_key(loader) == expected(1)
        if not options:
            data.set_epoch(7)
            assert by_key(loader) == by_key(loader) == expected(7)

    def test_lengths_are_those_of_the_dataset(self) -> None:
        assert len(ColoristIterable(SAMPLES, BANK)) == len(SAMPLES)
        with pytest.raises(TypeError):
            len(ColoristIterable(Stream(), BANK))


class TestPipelines:
    @pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its open shards
    def test_webdataset(self, tmp_path: Path) -> None:
        webdataset = pytest.importorskip("webdataset", reason="webdataset is an extra")
        for shard in range(2):
            with tarfile.open(tmp_path / f"{shard}.tar", "w") as archive:
                for i in range(4 * shard, 4 * shard + 4):
                    file = io.BytesIO()
                    Image.fromarray(TILES[i]).save(file, "png")
                    entry = tarfile.TarInfo(f"scan {i}.png")
                    entry.size = file.tell()
                    archive.addfile(entry, io.BytesIO(file.getvalue()))
        shards = [str(tmp_path / f"{shard}.tar") for shard in range(2)]
        change = ColoristMapper(BANK, **OPTIONS)
        data = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).decode("pil").map(change)
        assert by_key(data) == expected()
        change.set_epoch(1)
        assert by_key(DataLoader(data, batch_size=None, num_workers=2)) == expected(1)

    @pytest.mark.parametrize("parallel", [False, True])
    def test_torchdata(self, parallel: bool) -> None:
        nodes = pytest.importorskip("torchdata.nodes", reason="torchdata is an extra")
        change = ColoristMapper(BANK, **OPTIONS)
        source = nodes.IterableWrapper(SAMPLES)
        node = nodes.ParallelMapper(source, change, num_workers=2, method="thread") if parallel else nodes.Mapper(source, change)
        assert by_key(nodes.Loader(node)) == expected()
