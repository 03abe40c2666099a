from __future__ import annotations

import copy
import itertools
import pickle  # noqa: TID251 - a spawned loader worker gets its transforms by it
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="Kornia stands on PyTorch")
pytest.importorskip("kornia", reason="kornia is an extra")

import kornia.augmentation as K  # noqa: E402, N812 - skipped without the framework, and named as its users do

import recolorist as rc  # noqa: E402
from recolorist.augment.samplers import SAMPLERS, Content, Style, own_style_by  # noqa: E402
from recolorist.core.style_change import StyleChange  # noqa: E402
from recolorist.errors import OptionError  # noqa: E402
from recolorist.kornia import RandomColorist  # noqa: E402
from tests.frameworks import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)

BANK = workers.bank()
KORNIA = tuple(map(int, version("kornia").split(".")[:2]))
CLOSE = {"rtol": 0, "atol": 2e-6}  # float32 steps against the core's float64


def batch(count: int = 6, seed: int = 0, dtype: Any = None) -> Any:
    images = workers.tiles(count, seed=seed + 1) / 255
    return torch.from_numpy(np.moveaxis(images, -1, 1).copy()).to(torch.float32 if dtype is None else dtype)


def expected(images: Any, params: Any, **options: Any) -> Any:
    """The bare core for the same decision, image by image."""
    styles = zip(params["style_mean"], params["style_cov"], params["strength"], strict=True)
    matched = [
        rc.match(
            np.moveaxis(image.numpy(), 0, -1),
            rc.Moments(560, mean.numpy(), cov.numpy(), 1.0),
            strength=float(strength),
            **options,
        )
        for image, (mean, cov, strength) in zip(images, styles, strict=True)
    ]
    return torch.from_numpy(np.moveaxis(np.stack(matched), -1, 1).copy())


class Loaded:
    """The module as the harness calls it."""

    def __init__(self) -> None:
        self.change = RandomColorist(BANK, p=1.0, keepdim=True)

    def __call__(self, image: workers.Image, mask: workers.Image, index: int) -> tuple[Any, Any]:  # noqa: ARG002
        return self.change(torch.from_numpy(np.moveaxis(image, -1, 0) / np.float32(255))), mask


def test_workers_and_epochs_differ_and_a_rerun_repeats() -> None:
    runs = []
    for _ in range(2):
        dataset = workers.Repeated(Loaded())
        runs.append(workers.two_epochs(dataset))
        workers.assert_varied(runs[-1])
        workers.assert_kept(runs[-1], dataset, "Tensor torch.float32 (3, 20, 28)")
    assert runs[0] == runs[1]


class TestEqualsTheCore:
    @pytest.mark.parametrize("space", ["rgb", "ycbcr", "yiq", "ydbdr"])
    @pytest.mark.parametrize("strength", [1.0, (0.2, 0.8)])
    def test_spaces(self, space: str, strength: Any) -> None:
        change = RandomColorist(BANK, p=1.0, space=space, strength=strength)
        images = batch()
        out = change(images)
        assert torch.allclose(out, expected(images, change._params, space=space), **CLOSE)
        assert not torch.allclose(out, images, **CLOSE)

    @pytest.mark.parametrize("space", ["rgb", "yiq"])
    @pytest.mark.parametrize("shade", [1.0, 0.03])
    def test_changes_of_the_own_style(self, space: str, shade: float) -> None:
        """Dark samples have changes that are held to what an image can have."""
        change = RandomColorist(BANK, p=1.0, space=space, sampler=own_style_by(3.0), blank="match")
        images = batch(dtype=torch.float64) * shade
        out = change(images)
        numbers = zip(*(change._params[name].tolist() for name in ("step", "gains")), strict=True)
        matched = []
        for image, (step, gains) in zip(np.moveaxis(images.numpy(), 1, -1), numbers, strict=True):
            relative = StyleChange(tuple(step), tuple(gains), tuple(map(tuple, np.diag(gains).tolist())))
            style = relative.change(rc.measure(image), 1.0, "mean_std").style
            matched.append(rc.match(image, style, space=space))
        assert np.allclose(np.moveaxis(out.numpy(), 1, -1), np.stack(matched), rtol=0, atol=1e-9)
        assert not torch.allclose(out, images, **CLOSE)

    def test_changes_and_styles_in_one_batch(self) -> None:
        """A function of the user may return either; each sample gets its own."""
        names = itertools.cycle(["uniform", "own_style"])

        def alternate(bank: rc.StyleBank, rng: np.random.Generator, content: Content) -> Style:
            return SAMPLERS[next(names)](bank, rng, content)

        change = RandomColorist(BANK, p=1.0, sampler=alternate)
        images = batch(dtype=torch.float64)
        out = change(images)
        assert change._params["is_change"].tolist() == [False, True] * 3
        styles = {name: value[::2] for name, value in change._params.items() if name in ("style_mean", "style_cov", "strength")}
        assert torch.allclose(out[::2], expected(images[::2], styles), rtol=0, atol=1e-9)
        step = change._params["step"][1::2, :, None, None]
        gains = change._params["gains"][1::2, :, None, None]
        mean = images[1::2].mean((2, 3), keepdim=True)
        wanted = ((images[1::2] - mean) * gains + mean + step).clamp(0, 1)
        assert torch.allclose(out[1::2], wanted, rtol=0, atol=1e-9)

    def test_double_is_closer(self) -> None:
        change = RandomColorist(BANK, p=1.0)
        images = batch(dtype=torch.float64)
        out = change(images)
        assert out.dtype == torch.float64
        assert torch.allclose(out, expected(images, change._params), rtol=0, atol=1e-12)

    def test_half_keeps_its_type(self) -> None:
        out = RandomColorist(BANK, p=1.0)(batch(dtype=torch.float16))
        assert out.dtype == torch.float16
        assert bool(torch.isfinite(out).all())

    def test_the_cap_on_gain(self) -> None:
        images = 0.5 + (batch() - 0.5) / 50
        change = RandomColorist(BANK, p=1.0, max_gain=3.0, blank="match")
        assert torch.allclose(change(images), expected(images, change._params, max_gain=3.0), **CLOSE)

    @pytest.mark.parametrize("mask", [None, "tissue"])
    def test_a_blank_sample_stays_as_it_is(self, mask: str | None) -> None:
        images = batch()
        images[1] = 0.95 + images[1] / 500
        out = RandomColorist(BANK, p=1.0, mask=mask)(images)
        assert torch.equal(out[1], images[1])
        assert not torch.equal(out[0], images[0])

    def test_flat_channels_move_and_are_not_amplified(self) -> None:
        images = batch()
        images[:, 1] = 0.7
        change = RandomColorist(BANK, p=1.0)
        out = change(images)
        assert torch.allclose(out, expected(images, change._params), **CLOSE)
        assert float(out[:, 1].amax((1, 2)).sub(out[:, 1].amin((1, 2))).max()) == 0

    @pytest.mark.parametrize("rule", ["tissue", "fundus"])
    @pytest.mark.parametrize("apply_to", ["all", "mask"])
    def test_foreground(self, rule: str, apply_to: Any) -> None:
        images = batch()
        outside = torch.zeros(20, 28, dtype=torch.bool)
        outside[:9] = True
        images[:, :, outside] = 0.99 if rule == "tissue" else 0.01
        change = RandomColorist(BANK, p=1.0, mask=rule, apply_to=apply_to)
        out = change(images)
        inside = ~outside.numpy()
        assert torch.allclose(out, expected(images, change._params, mask=inside, apply_to=apply_to), **CLOSE)
        assert torch.equal(out[:, :, outside], images[:, :, outside]) == (apply_to == "mask")

    def test_foreground_by_function(self) -> None:
        images = batch()
        change = RandomColorist(BANK, p=1.0, mask=lambda pixels: pixels[:, 0] > 0.4)
        out = change(images)
        one = rc.Moments(560, change._params["style_mean"][2].numpy(), change._params["style_cov"][2].numpy(), 1.0)
        alone = rc.match(np.moveaxis(images[2].numpy(), 0, -1), one, mask=images[2, 0].numpy() > 0.4)
        assert np.allclose(np.moveaxis(out[2].numpy(), 0, -1), alone, rtol=0, atol=2e-6)


class TestHost:
    def test_per_sample_probability(self) -> None:
        torch.manual_seed(1)
        images = batch(1).expand(200, -1, -1, -1)
        out = RandomColorist(BANK, p=0.3)(images)
        changed = (out != images).flatten(1).any(1)
        assert 30 <= int(changed.sum()) <= 90  # of 200 at 0.3: over four deviations
        assert torch.equal(out[~changed], images[~changed])

    def test_same_on_batch(self) -> None:
        change = RandomColorist(BANK, p=1.0, same_on_batch=True)
        change(batch())
        assert len(torch.unique(change._params["style_mean"], dim=0)) == 1
        other = RandomColorist(BANK, p=1.0)
        other(batch())
        assert len(torch.unique(other._params["style_mean"], dim=0)) > 1

    def test_the_seed_decides(self) -> None:
        change = RandomColorist(BANK, p=0.5)
        runs = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            runs.append(change(batch()))
        assert torch.equal(runs[0], runs[1])
        assert not torch.equal(runs[0], runs[2])

    def test_replay(self) -> None:
        change = RandomColorist(BANK, p=0.5)
        images = batch()
        out = change(images)
        kept = copy.deepcopy(change._params)
        change(batch(seed=3))
        assert torch.equal(change(images, params=kept), out)

    def test_in_a_sequence_with_masks_and_boxes(self) -> None:
        images, masks = batch(), (batch()[:, :1] > 0.5).float()
        boxes = torch.tensor([[[1.0, 2.0, 9.0, 8.0]]]).expand(len(images), -1, -1)
        alone = K.AugmentationSequential(RandomColorist(BANK, p=1.0), data_keys=["input", "mask", "bbox_xyxy"])
        out, kept, same = alone(images, masks, boxes)
        assert not torch.equal(out, images)
        assert kept.numpy().tobytes() == masks.numpy().tobytes()
        assert torch.equal(same, boxes)
        both = K.AugmentationSequential(K.RandomHorizontalFlip(p=0.5), RandomColorist(BANK, p=0.5), data_keys=["input", "mask"])
        once = both(images, masks)
        again = both(images, masks, params=both._params)
        assert all(map(torch.equal, once, again))

    def test_one_image(self) -> None:
        image = batch(1)[0]
        assert RandomColorist(BANK, p=1.0, keepdim=True)(image).shape == (3, 20, 28)
        assert RandomColorist(BANK, p=1.0)(image).shape == (1, 3, 20, 28)

    def test_no_image_at_all(self) -> None:
        assert RandomColorist(BANK, p=1.0)(batch()[:0]).shape == (0, 3, 20, 28)

    def test_gradients(self) -> None:
        images = batch(2, dtype=torch.float64)[:, :, :4, :5].clone().requires_grad_()
        change = RandomColorist(BANK, p=1.0, strength=0.9)
        change(images)
        kept = change._params
        assert torch.autograd.gradcheck(lambda pixels: change(pixels, params=kept), (images,))

    def test_gradients_of_flat_images_are_finite(self) -> None:
        images = torch.full((2, 3, 8, 9), 0.4, requires_grad=True)
        RandomColorist(BANK, p=1.0)(images).sum().backward()
        assert bool(torch.isfinite(images.grad).all())

    def test_pickled(self) -> None:
        change = pickle.loads(pickle.dumps(RandomColorist(BANK, p=0.5, mask="tissue")))  # noqa: S301 - our own
        assert change(batch()).shape == batch().shape
        assert "64 styles" in repr(change)


class TestRefused:
    def test_bytes_in_floats(self) -> None:
        with pytest.raises(rc.RecoloristError, match="divide them first"):
            RandomColorist(BANK, p=1.0)(batch() * 255)

    def test_a_little_outside_is_only_clipped(self) -> None:
        out = RandomColorist(BANK, p=1.0)(batch() * 1.05)
        assert 0 <= float(out.min()) <= float(out.max()) <= 1

    def test_other_channels(self) -> None:
        with pytest.raises(rc.RecoloristError, match="1 channel"):
            RandomColorist(BANK, p=1.0)(batch()[:, :1])

    @pytest.mark.parametrize("wrong", [{"space": "lab"}, {"space": "hsv"}, {"mask": "sky"}, {"apply_to": "some"}])
    def test_options(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(rc.RecoloristError, match=next(iter(wrong.values()))):
            RandomColorist(BANK, **wrong)

    @pytest.mark.parametrize("limit", ["max_clip", "max_loss"])
    def test_limits_name_what_keeps_them(self, limit: str) -> None:
        with pytest.raises(rc.RecoloristError, match=rf"pass {limit} to .*ColoristDataset"):
            RandomColorist(BANK, **dict[str, Any]({limit: 0.02}))

    def test_samplers_that_need_to_know_the_image(self) -> None:
        with pytest.raises(rc.RecoloristError, match="needs the label"):
            RandomColorist(BANK, p=1.0, sampler="same_label")(batch())


class TestCompiled:
    """With ``params=`` the whole is one graph; without, tests/frameworks/test_contracts.py compiles every option set."""

    @pytest.mark.skipif(KORNIA < (0, 9), reason="Kornia traces into one graph from 0.9 on")
    @pytest.mark.parametrize("space", ["rgb", "ycbcr"])
    @pytest.mark.parametrize("sampler", ["uniform", "own_style"])
    def test_one_graph_with_parameters(self, space: str, sampler: str) -> None:
        change = RandomColorist(BANK, p=1.0, space=space, sampler=sampler)
        wanted, kept = change(batch()), copy.deepcopy(change._params)
        compiled = torch.compile(lambda images: change(images, params=kept), backend="eager", fullgraph=True)
        assert torch.allclose(compiled(batch()), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_called_so(value: float) -> None:
    images = batch()
    images[1, 0, 3, 4] = value
    with pytest.raises(rc.RecoloristError, match="NaN or infinite"):
        RandomColorist(BANK, p=1.0)(images)


def test_a_space_that_is_not_linear_is_refused_with_those_that_are() -> None:
    bank = rc.StyleBank.build(workers.tiles(6), split="train", space="lab")
    with pytest.raises(OptionError, match=r"space='lab' is not linear; in Kornia choose from rgb, ycbcr, .*yiq"):
        RandomColorist(bank, space="lab")


def test_the_module_says_what_it_draws_from() -> None:
    assert repr(BANK) in repr(RandomColorist(BANK))
