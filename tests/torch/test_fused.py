"""The fused route gives the bits of the separate steps."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from PIL import Image

import recolorist as rc
from recolorist._torchvision_ops import declare_missing_ops
from recolorist.core.kernels import KernelName
from recolorist.errors import ImageError, OptionError
from recolorist.torch import ToNormalizedTensor
from tests.torch.data import bank_of, tiles

declare_missing_ops()
v2 = pytest.importorskip("torchvision.transforms.v2", reason="the steps it stands for are torchvision's")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def steps(image: Any, mean: Any = MEAN, std: Any = STD) -> torch.Tensor:
    convert = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(list(mean), list(std))])
    return torch.as_tensor(convert(image)).as_subclass(torch.Tensor)


def colorist(**options: Any) -> rc.Colorist:
    return rc.Colorist(bank_of(tiles(20, seed=3, size=(40, 30))), **{"p": 1.0, "seed": 5, **options})


IMAGES = tiles(8, seed=1, size=(40, 30))


def as_kind(image: Any, kind: str) -> Any:
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    return {
        "array": image,
        "strided array": np.ascontiguousarray(image[:, ::-1])[:, ::-1],
        "channel-first memory": np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0),
        "pil": Image.fromarray(image),
        "tensor": tensor.contiguous(),
        "channels-last tensor": tensor,
    }[kind]


KINDS = ("array", "strided array", "channel-first memory", "pil", "tensor", "channels-last tensor")


class TestBits:
    @pytest.mark.parametrize("kind", KINDS)
    def test_without_colours(self, kind: str, kernel: KernelName) -> None:
        assert kernel
        result = ToNormalizedTensor(MEAN, STD)(as_kind(IMAGES[0], kind))
        assert result.dtype == torch.float32
        assert result.is_contiguous()
        assert torch.equal(result, steps(IMAGES[0]))

    @pytest.mark.parametrize("kind", KINDS)
    def test_with_colours(self, kind: str, kernel: KernelName) -> None:
        assert kernel
        aug = colorist()
        fused = ToNormalizedTensor(MEAN, STD, aug)
        for i, image in enumerate(IMAGES):
            changed = aug(image, index=i)
            assert not np.array_equal(changed, image)
            assert torch.equal(fused(as_kind(image, kind), index=i), steps(changed))

    def test_as_match_gives_them(self) -> None:
        """Not only as the augmentation: the plan is that of `match` with the drawn style."""
        aug = colorist()
        for i, image in enumerate(IMAGES):
            decision = aug.params(image, index=i)
            assert decision.row is not None
            matched = rc.match(image, aug.bank.moments(decision.row))
            assert torch.equal(ToNormalizedTensor(MEAN, STD, aug)(image, index=i), steps(matched))

    @pytest.mark.parametrize(
        "options",
        [
            {"strength": 0.4},
            {"strength": (0.2, 0.9)},
            {"max_gain": 0.8},
            {"max_clip": 0.001},
            {"space": "yiq"},
            {"method": "covariance"},
            {"mask": "tissue"},
            {"mask": "tissue", "apply_to": "mask"},
            {"sampler": "gaussian"},
            {"sampler": "own_style"},
            {"sampler": "own_style", "method": "covariance", "max_clip": 0.001},
            {"p": 0.5},
        ],
        ids=str,
    )
    def test_for_every_kind_of_colorist(self, options: dict[str, Any]) -> None:
        aug = colorist(**options)
        fused = ToNormalizedTensor(MEAN, STD, aug)
        for i, image in enumerate(IMAGES):
            assert torch.equal(fused(image, index=i, epoch=2), steps(aug(image, index=i, epoch=2)))

    def test_in_a_space_that_is_not_linear(self) -> None:
        bank = bank_of(tiles(6, seed=3), space="lab")
        aug = rc.Colorist(bank, p=1.0, space="lab", seed=1)
        image = tiles(1, seed=8)[0]
        assert torch.equal(ToNormalizedTensor(MEAN, STD, aug)(image, index=0), steps(aug(image, index=0)))

    def test_with_histograms(self) -> None:
        bank = bank_of(tiles(6, seed=3), with_histograms=True)
        aug = rc.Colorist(bank, p=1.0, method="histogram", seed=1)
        image = tiles(1, seed=8)[0]
        assert torch.equal(ToNormalizedTensor(MEAN, STD, aug)(image, index=0), steps(aug(image, index=0)))

    def test_with_a_mask_in_the_call(self) -> None:
        aug = colorist(apply_to="mask")
        mask = np.zeros(IMAGES[0].shape[:2], bool)
        mask[5:20] = True
        result = ToNormalizedTensor(MEAN, STD, aug)(IMAGES[0], index=0, mask=mask)
        assert torch.equal(result, steps(aug(IMAGES[0], index=0, mask=mask)))

    @pytest.mark.parametrize("shape", [(6, 5), (6, 5, 1), (1, 1)])
    def test_grey(self, shape: tuple[int, ...]) -> None:
        image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        assert torch.equal(ToNormalizedTensor([0.3], [0.7])(image), steps(image.reshape(*shape[:2], 1), [0.3], [0.7]))

    def test_one_pixel(self) -> None:
        image = np.array([[[1, 2, 255]]], np.uint8)
        assert torch.equal(ToNormalizedTensor(MEAN, STD)(image), steps(image))

    def test_every_level_without_torchvision(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)
        monkeypatch.setitem(sys.modules, "torchvision.transforms.v2", None)
        alone = ToNormalizedTensor(MEAN, STD)
        monkeypatch.undo()
        assert torch.equal(alone(ramp), steps(ramp))


class TestDraws:
    def test_the_input_is_not_written_to(self) -> None:
        image = IMAGES[0].copy()
        ToNormalizedTensor(MEAN, STD, colorist())(image, index=0)
        assert np.array_equal(image, IMAGES[0])

    def test_without_an_index_draws_go_on(self) -> None:
        fused = ToNormalizedTensor(MEAN, STD, colorist())
        assert not torch.equal(fused(IMAGES[0]), fused(IMAGES[0]))

    def test_keys_select_streams(self) -> None:
        fused = ToNormalizedTensor(MEAN, STD, colorist())
        assert torch.equal(fused(IMAGES[0], key="a"), fused(IMAGES[0], key="a"))
        assert not torch.equal(fused(IMAGES[0], key="a"), fused(IMAGES[0], key="b"))

    def test_copies_do_the_same(self) -> None:
        fused = ToNormalizedTensor(MEAN, STD, colorist())
        assert torch.equal(copy.deepcopy(fused)(IMAGES[0], index=1), fused(IMAGES[0], index=1))
        assert "seed=5" in repr(fused)


class TestRefusals:
    @pytest.mark.parametrize(
        "image",
        [
            IMAGES[0].astype(np.uint16),
            torch.zeros(3, 4, 5),
            torch.zeros(1, 4, 5, dtype=torch.uint8),
            torch.zeros(2, 3, 4, 5, dtype=torch.uint8),
            Image.new("RGBA", (4, 5)),
            Image.new("L", (4, 5)),
        ],
        ids=["uint16", "float", "grey", "batch", "rgba", "grey pil"],
    )
    def test_other_images(self, image: Any) -> None:
        with pytest.raises(ImageError):
            ToNormalizedTensor(MEAN, STD)(image)

    @pytest.mark.parametrize(("mean", "std"), [((), ()), ((0.1,), (0.1, 0.2)), ((0.1,), (0.0,)), ((float("nan"),), (1.0,))])
    def test_other_numbers(self, mean: Any, std: Any) -> None:
        with pytest.raises(OptionError):
            ToNormalizedTensor(mean, std)
