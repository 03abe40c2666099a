"""Every metric refuses what it cannot measure, in one sentence, and leaves its inputs alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab import metrics as m
from tests.lab.metrics.pictures import noisy, scene, unit

Pairwise = Callable[[Any, Any], torch.Tensor]

LIGHT: dict[str, Pairwise] = {
    "ssim": m.ssim,
    "ssim torchmetrics": lambda a, b: m.ssim(a, b, form="torchmetrics"),
    "ssim_luminance": m.ssim_luminance,
    "gradient_similarity": m.gradient_similarity,
    "wasserstein": m.wasserstein,
}
ALL: dict[str, Pairwise] = {**LIGHT, "lpips": m.lpips, "features": lambda a, _: torch.from_numpy(m.features(a))}

GOOD = unit(scene(1), scene(2)).float()
BAD: dict[str, tuple[Any, str]] = {
    "levels in floats": (GOOD * 255, r"values from .* to 2\d\d.*; images are float tensors .* in \[0, 1\]: rescale"),
    "shifted": (GOOD * 2 - 1, "hold values from -"),
    "just above": (GOOD.clone().fill_(1.0 + 1e-6), "rescale or clip"),
    "not a number": (GOOD.clone().fill_(float("nan")), "values from nan"),
    "one not a number": (torch.where(torch.arange(53) == 7, float("nan"), GOOD), "values from nan"),
    "infinite": (torch.where(torch.arange(53) == 7, float("inf"), GOOD), "to inf"),
    "bytes": ((GOOD * 255).to(torch.uint8), "are uint8; .* divide 8-bit levels by 255"),
    "an array": (GOOD.numpy(), "are a ndarray; .* torch.from_numpy"),
    "one image": (GOOD[0], r"have shape \(3, 37, 53\)"),
    "channels last": (GOOD.permute(0, 2, 3, 1), r"have shape \(2, 37, 53, 3\)"),
    "grey": (GOOD[:, :1], "repeat grey images three times"),
    "none": (GOOD[:0], r"have shape \(0, 3, 37, 53\)"),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", BAD)
def test_bad_images_are_refused_by_every_metric(name: str, kind: str) -> None:
    images, why = BAD[kind]
    with pytest.raises(m.RangeError, match=why) as caught:
        ALL[name](images, images)
    assert isinstance(caught.value, OptionError)
    with pytest.raises(m.RangeError):
        ALL[name](images, GOOD)


@pytest.mark.parametrize("name", [name for name in ALL if name != "features"])
def test_pairs_are_of_one_shape(name: str) -> None:
    with pytest.raises(m.RangeError, match=r"a has shape \(2, 3, 37, 53\) and b \(1, 3, 37, 53\)"):
        ALL[name](GOOD, GOOD[:1])
    with pytest.raises(m.RangeError, match="pairs are of one shape"):
        ALL[name](GOOD, GOOD[..., :50])


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("ssim", 7),
        ("ssim torchmetrics", 11),
        ("ssim_luminance", 7),
        ("gradient_similarity", 6),
        ("lpips", 31),
        ("wasserstein", 1),
    ],
)
def test_images_may_be_too_small(name: str, least: int) -> None:
    small = torch.full((1, 3, least, least + 5), 0.5)
    with pytest.raises(m.RangeError, match=f"needs {least} pixels|have shape"):
        ALL[name](small[:, :, 1:], small[:, :, 1:])


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_equal_images_have_the_best_value(name: str, dtype: torch.dtype) -> None:
    images = GOOD.to(dtype)
    best = 0.0 if name == "wasserstein" else 1.0
    assert LIGHT[name](images, images) == pytest.approx([best, best], abs=1e-12)


@pytest.mark.parametrize("name", LIGHT)
def test_batched_is_one_by_one_and_nothing_is_written(name: str) -> None:
    a, b = unit(scene(1), scene(2), scene(3)), unit(noisy(scene(1), 20), scene(4), scene(5))
    kept = a.clone(), b.clone()
    together = LIGHT[name](a, b)
    assert together.shape == (3,)
    assert together.dtype == torch.float64
    assert torch.equal(together, torch.cat([LIGHT[name](x[None], y[None]) for x, y in zip(a, b, strict=True)]))
    assert torch.equal(a, kept[0])
    assert torch.equal(b, kept[1])


@pytest.mark.parametrize("name", LIGHT)
def test_metrics_are_symmetric(name: str) -> None:
    a, b = unit(scene(1)), unit(scene(2))
    assert LIGHT[name](a, b) == pytest.approx(LIGHT[name](b, a).numpy(), abs=1e-13)


@pytest.mark.parametrize("name", LIGHT)
def test_memory_layout_does_not_matter(name: str) -> None:
    a, b = unit(scene(1)), unit(scene(2))
    assert torch.equal(LIGHT[name](a, b), LIGHT[name](a.contiguous(memory_format=torch.channels_last), b.flip(0).flip(0)))


def test_gradients_are_not_kept() -> None:
    assert not m.ssim(GOOD.clone().requires_grad_(), GOOD).requires_grad


def test_unknown_forms_are_told_what_is_known() -> None:
    with pytest.raises(OptionError, match="form='gauss' is unknown; choose from 'skimage', 'torchmetrics'"):
        m.ssim(GOOD, GOOD, form="gauss")
    with pytest.raises(OptionError, match="net='squeeze' is unknown; choose from 'alex', 'vgg'"):
        m.lpips(GOOD, GOOD, net="squeeze")
    with pytest.raises(OptionError, match="fid_backend='clean' is unknown; choose from 'classic', 'torchvision', "):
        m.features(GOOD, "clean")


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8)])
def test_levels_are_8_bit_colour(image: Any) -> None:
    with pytest.raises(RecoloristError, match=r"it must be uint8 of shape \(H, W, 3\)"):
        m.wasserstein_levels(image, image)
