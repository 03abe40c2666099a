"""ModFlows against its sheet: counts, the flow's algebra, the layout of what the encoder sees, fitting, training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.modflows import ModFlows, seen_by_encoder
from recolorist_lab.baselines.networks.modflows_flow import ColourFlow, FlowFit, backward, fit, forward
from tests.full import IS_FULL, full
from tests.lab.baselines import kit

QUICK: dict[str, Any] = {"kind": "B0", "fit_steps": 60, "fit_pixels": 256, "fit_hidden": 16, "size": 32}


def fresh(seed: int = 0, **options: Any) -> ModFlows:
    made = build("modflows", encoder="random", seed=seed, **(QUICK | options))
    assert isinstance(made, ModFlows)
    return made


def awake(seed: int = 0, **options: Any) -> ModFlows:
    """With norms that have seen pictures: those of a new network let next to nothing through."""
    made = fresh(seed, **options)
    state = torch.random.get_rng_state()
    made.encoder.train()
    with torch.no_grad():
        for norm in made.encoder.modules():
            if isinstance(norm, torch.nn.BatchNorm2d):
                norm.momentum = 1.0
        made.predicted(kit.tiles(4, 64))
    torch.random.set_rng_state(state)
    return made


@pytest.fixture(scope="module")
def model() -> ModFlows:
    return awake(size=64)


class TestCounts:
    @pytest.mark.parametrize(("kind", "count", "tensors"), [("B6", 59_625_179, 986), ("B0", 4_667_263, 360)])
    def test_counts_and_layout(self, kind: str, count: int, tensors: int) -> None:
        with torch.device("meta"):
            made = build("modflows", encoder="random", kind=kind)
        kit.check_counts(made, {"encoder": count})
        state = made.to_official("encoder")
        assert len(state) == tensors
        if kind == "B6":
            assert state["model.features.0.0.weight"].shape == (56, 3, 3, 3)
            assert state["model.features.8.0.weight"].shape == (2304, 576, 1, 1)
            assert state["model.classifier.1.weight"].shape == (8195, 2304)

    def test_norms_and_dropout(self) -> None:
        for kind, epsilon, momentum, dropout in (("B6", 1e-3, 0.01, 0.5), ("B0", 1e-5, 0.1, 0.2)):
            with torch.device("meta"):
                made = fresh(kind=kind)
            norms = {(one.eps, one.momentum) for one in made.encoder.modules() if isinstance(one, torch.nn.BatchNorm2d)}
            assert norms == {(epsilon, momentum)}
            assert [one.p for one in made.encoder.modules() if isinstance(one, torch.nn.Dropout)] == [dropout]

    def test_sizes_the_encoder_sees(self) -> None:
        with torch.device("meta"):
            large, small = build("modflows", encoder="random"), build("modflows", encoder="random", kind="B0")
        assert isinstance(large, ModFlows)
        assert isinstance(small, ModFlows)
        assert (large.size, large.crop, small.size, small.crop) == (528, 528, 256, 224)


class TestFitting:
    def test_colours_fill_the_cube(self) -> None:
        draw = torch.Generator().manual_seed(0)
        centres = torch.tensor([[0.25, 0.3, 0.6], [0.8, 0.5, 0.3]])
        colours = (centres[torch.randint(2, (4000,), generator=draw)] + 0.05 * torch.randn(4000, 3, generator=draw)).clamp(0, 1)
        flow = fit(colours, FlowFit(hidden=64, steps=1200, rate=5e-3, pixels=512), seed=1)
        cube = forward(flow, colours[None], 50)[0]
        assert torch.allclose(cube.mean(0), torch.full((3,), 0.5), atol=0.08)
        assert torch.allclose(
            cube.std(0), torch.full((3,), 12**-0.5), atol=0.045
        )  # fewer steps than the sheet's, so a wider bound
        back = backward(flow, cube[None], 50)[0]
        assert float((back - colours).abs().mean()) < 0.01

    def test_the_same_seed_gives_the_same_flow(self) -> None:
        colours, how = torch.rand(100, 3), FlowFit(8, 5, 1e-2, 32)
        assert torch.equal(fit(colours, how, 3).packed(), fit(colours, how, 3).packed())
        assert not torch.equal(fit(colours, how, 3).packed(), fit(colours, how, 4).packed())

    def test_fitted_flows_move_the_colours_to_the_styles(self) -> None:
        made = fresh(flows="fit", fit_steps=300, fit_pixels=512, steps=20)
        content, style = 0.6 * kit.tiles(1, 24), 0.3 + 0.7 * kit.tiles(1, 24, seed=5)
        out = made.stylise(content, style)
        before, after = ((image.mean((2, 3)) - style.mean((2, 3))).abs().max() for image in (content, out))
        assert float(after) < 0.4 * float(before)

    def test_it_needs_no_weights(self) -> None:
        assert fresh(flows="fit").works_untrained
        assert not fresh().works_untrained


def test_images(model: ModFlows) -> None:
    kit.check_images(model)
    kit.check_follows(model)
    made = awake(size=64).double()  # in single precision the sums of a deep network differ with the size of the batch
    kit.check_batch_is_loop(made, tolerance=1e-6)


def test_equal_colours_stay_equal(model: ModFlows) -> None:
    content, style = torch.full((1, 3, 20, 20), 0.4), kit.tiles(1, 32, seed=1)
    out = model.stylise(content, style)
    assert torch.allclose(out, out[..., :1, :1].expand_as(out), atol=1e-6)


def test_strength_blends(model: ModFlows) -> None:
    content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)
    full = model.stylise(content, style)
    half, none = (awake(size=64, strength=strength).stylise(content, style) for strength in (0.5, 0.0))
    assert torch.allclose(half, 0.5 * full + 0.5 * content, atol=1e-5)
    assert torch.equal(none, content)
    legacy = awake(size=64, strength=0.25, strength_rule="legacy").stylise(content, style)
    assert not torch.allclose(legacy, 0.25 * full + 0.75 * content, atol=1e-3)


def test_the_encoder_sees_interleaved_colours_as_planes() -> None:
    height, width = 4, 6
    flat = torch.arange(height * width * 3.0)
    image = flat.view(1, height, width, 3).permute(0, 3, 1, 2)  # a picture whose bytes in memory count up
    mean, std = torch.tensor((0.485, 0.456, 0.406)), torch.tensor((0.229, 0.224, 0.225))
    seen = seen_by_encoder(image) * std[:, None, None] + mean[:, None, None]
    assert torch.allclose(seen.flatten(), flat, atol=1e-4)
    plain = seen_by_encoder(image, scrambled=False) * std[:, None, None] + mean[:, None, None]
    assert torch.allclose(plain, image, atol=1e-4)


class TestTraining:
    def test_only_the_encoder_learns_and_all_of_it_does(self) -> None:
        images = kit.tiles(2, 32)
        kit.check_gradients(fresh(), images, images)
        kit.check_step(fresh(teacher="none"), images, images)

    def test_a_teacher_is_fitted_once_a_picture(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from recolorist_lab.baselines.networks import modflows

        fitted: list[int] = []

        def counting(*given: Any) -> ColourFlow:
            fitted.append(1)
            return fit(*given)

        monkeypatch.setattr(modflows, "fit", counting)
        made, images = fresh(), kit.tiles(2, 32)
        for step in range(3):
            list(made.training_step(images, images, step))
        assert len(fitted) == 2

    @pytest.mark.parametrize("teacher", ["fit", "none"])
    def test_it_learns(self, teacher: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from recolorist_lab.baselines.networks import modflows

        monkeypatch.setattr(modflows, "_turned", lambda images: images)  # so that few steps show it
        made, images = fresh(teacher=teacher, size=64), kit.tiles(4, 32)
        for layer in made.encoder.modules():
            if hasattr(layer, "p"):  # dropout and stochastic depth
                layer.p = 0.0  # type: ignore[assignment]
        kit.check_learns(made, images, images, steps=full(10, 16), rate=1e-4)


def test_official(tmp_path: Path) -> None:
    kit.check_official(awake, tmp_path, size=64)


@pytest.mark.parametrize("options", [{"kind": "B7"}, {"flows": "guess"}, {"inverse_time": "x"}, {"strength": 2.0}, {"steps": 0}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="accepted"):
        fresh(**options)


LARGE = """
import resource, torch
from recolorist_lab.baselines import build
model = build("modflows", encoder="random", steps=1).eval()
out = model.stylise(torch.rand(1, 3, 512, 512), torch.rand(1, 3, 512, 512))
assert out.shape == (1, 3, 512, 512)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(not IS_FULL, reason="takes half a minute; set RECOLORIST_FULL_TESTS=1")
def test_a_picture_of_512_pixels_stays_below_two_gigabytes() -> None:
    """The whole network, the published size, in a process of its own; more steps take longer and no more memory."""
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", LARGE], capture_output=True, text=True, check=True, timeout=1200
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout.split()[-1]) * unit < 2e9
