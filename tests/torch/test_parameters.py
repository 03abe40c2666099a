"""Draw in the worker, apply on the GPU: the result is that of the worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from torch.utils.data import DataLoader

from recolorist import Colorist
from recolorist.errors import ImageError, OptionError
from recolorist.torch import ColoristDataset, ColorMatch, ParameterCollate, Parameters
from tests.torch.data import Tiles, bank_of, tiles

COUNT = 24


class ChannelFirst(Tiles):
    """The same tiles as tensors."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return torch.from_numpy(self.images[index]).permute(2, 0, 1), index


def colorist(**options: Any) -> Colorist:
    return Colorist(bank_of(tiles(10, seed=3)), **{"p": 0.6, "seed": 1, **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"space": "yiq"},
        {"method": "covariance"},
        {"max_clip": 0.001},
        {"mask": "tissue"},
        {"strength": (0.1, 0.9)},
        {"sampler": "own_style"},
        {"sampler": "own_style", "method": "covariance"},
        {"p": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("workers", [0, 2])
def test_same_as_in_the_worker(options: dict[str, Any], workers: int) -> None:
    source, aug = ChannelFirst(COUNT), colorist(**options)
    data = ColoristDataset(source, aug, parameters=True)
    data.set_epoch(4)
    loader = DataLoader(
        data,
        batch_size=5,
        num_workers=workers,
        collate_fn=ParameterCollate(),
        multiprocessing_context="fork" if workers else None,
    )
    seen = 0
    for (images, numbers), parameters in loader:
        changed = ColorMatch.apply_parameters(images, parameters)
        for before, after, number in zip(images, changed, numbers.tolist(), strict=True):
            expected = aug(source.images[number], index=number, epoch=4)
            assert np.array_equal(before.permute(1, 2, 0).numpy(), source.images[number])
            assert np.array_equal(after.permute(1, 2, 0).numpy(), expected)
            seen += 1
    assert seen == COUNT


def test_for_floats_of_another_range() -> None:
    """The worker saw bytes; the model gets floats in 0 to 1."""
    source, aug = ChannelFirst(COUNT), colorist(p=1.0)
    data = ColoristDataset(source, aug, parameters=True, transform=lambda image: image / 255)
    (images, _), parameters = next(iter(DataLoader(data, batch_size=COUNT, collate_fn=ParameterCollate())))
    changed = ColorMatch.apply_parameters(images, parameters)
    expected = np.stack([aug(image, index=i) for i, image in enumerate(source.images)])
    assert np.abs(changed.permute(0, 2, 3, 1).numpy() * 255 - expected).max() <= 0.5001  # the worker's rounding to levels
    levels = ColorMatch.apply_parameters(images * 255, parameters, data_range=255.0)
    assert (levels - changed * 255).abs().max() <= 1e-3  # the same numbers in other units, up to float32


def test_any_dataset_with_a_colorist() -> None:
    source = ChannelFirst(COUNT)
    collate = ParameterCollate(colorist(p=1.0))
    (images, _), parameters = next(iter(DataLoader(source, batch_size=COUNT, collate_fn=collate)))  # type: ignore[arg-type,unused-ignore]
    assert bool(parameters.applied.all())
    assert len(set(map(tuple, parameters.offset.tolist()))) == COUNT
    changed = ColorMatch.apply_parameters(images, parameters)
    assert not torch.equal(changed, images)


def test_parameters_move_and_stack() -> None:
    parameters = Parameters.of([None, None], channels=2)
    assert parameters.to("meta").gain.device.type == "meta"
    assert parameters.gain.tolist() == [[1.0, 1.0]] * 2
    assert Parameters.of([], 3).gain.shape == (0, 3)


class TestRefusals:
    @pytest.mark.parametrize("options", [{"method": "histogram"}, {"space": "lab"}], ids=str)
    def test_what_is_no_map(self, options: dict[str, Any]) -> None:
        bank = bank_of(tiles(4), with_histograms=True) if "method" in options else bank_of(tiles(4), space="lab")
        aug = Colorist(bank, p=1.0, **options)
        with pytest.raises(OptionError, match="not one map"):
            ParameterCollate(aug)
        with pytest.raises(OptionError, match="not one map"):
            ColoristDataset(Tiles(3), aug, parameters=True)[0]

    def test_part_of_the_pixels(self) -> None:
        aug = colorist(p=1.0, mask="tissue", apply_to="mask")
        with pytest.raises(OptionError, match="mask"):
            ColoristDataset(Tiles(3), aug, parameters=True)[0]

    def test_samples_without_parameters(self) -> None:
        with pytest.raises(OptionError, match="carry no parameters"):
            ParameterCollate()([(torch.zeros(3, 4, 5), 0)])

    def test_parameters_of_another_batch(self) -> None:
        with pytest.raises(ImageError, match="belong together"):
            ColorMatch.apply_parameters(torch.zeros(2, 3, 4, 5), Parameters.of([None]))
