"""What every method must survive; each test file calls these with its own model, sizes and numbers.

Sizes are small, because the networks are not: 32 pixels a side show the same faults as 256.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import list_images, read_image
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.recipe import TrainingRecipe
from recolorist_lab.data.pixels import resize_square, to_rgb8
from tests.commands import picture, shared_data

ODD: tuple[tuple[int, int], ...] = ((33, 47), (32, 32), (5, 40))


def tiles(count: int = 2, size: int | tuple[int, int] = 32, seed: int = 0) -> Tensor:
    """Smooth random pictures, each with colours of its own: (count, 3, H, W) in [0, 1]."""
    shape = (size, size) if isinstance(size, int) else size
    stack = np.stack([picture(seed * 1000 + place, shape) for place in range(count)])
    return torch.from_numpy(stack).permute(0, 3, 1, 2).contiguous().float() / 255.0


def real_tiles(count: int = 8, size: int = 64) -> Tensor:
    """Real blood cells, evenly taken from the classes; skipped where they are not."""
    paths = list_images(shared_data("blood") / "acevedo20")
    chosen = paths[:: max(1, len(paths) // count)][:count]
    stack = np.stack([resize_square(to_rgb8(read_image(path)), size)[0] for path in chosen])
    return torch.from_numpy(stack).permute(0, 3, 1, 2).contiguous().float() / 255.0


# ---- images -----------------------------------------------------------------------------------------------------------------


def check_images(model: Baseline, sizes: Sequence[tuple[int, int]] = ODD, style_size: tuple[int, int] | None = (40, 36)) -> None:
    """Any size in, the same size out, in [0, 1], finite, the mode and the inputs untouched, bad input refused.

    ``style_size=None`` where the method wants both of one size and resizes by itself at a cost the test should not pay.
    """
    model.train()
    for size in sizes:
        content, style = tiles(2, size), tiles(2, style_size or size, seed=1)
        before = content.clone(), style.clone()
        out = model.stylise(content, style)
        assert out.shape == content.shape
        assert out.dtype == content.dtype
        assert bool(out.isfinite().all())
        assert float(out.min()) >= 0
        assert float(out.max()) <= 1
        assert torch.equal(before[0], content)
        assert torch.equal(before[1], style)
        assert not out.requires_grad
    assert model.training, "stylise must leave the mode as it was"
    _check_refusals(model)


def _check_refusals(model: Baseline) -> None:
    good = tiles(2, 32)
    for bad in (good * 2, good - 0.5, good.mul(255).byte(), good[:, :1], good[0], good[:0], good * float("nan")):
        with pytest.raises(ImageError, match="accepted"):
            model.stylise(bad, good)
        with pytest.raises(ImageError, match="accepted"):
            model.stylise(good, bad)
    with pytest.raises(ImageError, match="styles"):
        model.stylise(tiles(3, 32), good)


def check_batch_is_loop(model: Baseline, size: int = 32, tolerance: float = 1e-5) -> None:
    """A batch gives what its images give one by one; one style for all is that style repeated."""
    content, style = tiles(3, size), tiles(3, size, seed=1)
    whole = model.stylise(content, style)
    single = torch.cat([model.stylise(one[None], other[None]) for one, other in zip(content, style, strict=True)])
    assert float((whole - single).abs().max()) <= tolerance
    shared = model.stylise(content, style[:1])
    repeated = model.stylise(content, style[:1].repeat(3, 1, 1, 1))
    assert float((shared - repeated).abs().max()) <= tolerance


def check_follows(model: Baseline, size: int = 32) -> None:
    """Both inputs matter: another content, or another style, gives another image."""
    content, style = tiles(2, size), tiles(2, size, seed=1)
    out = model.stylise(content, style)
    assert not torch.equal(out, model.stylise(content.flip(0), style))
    assert not torch.equal(out, model.stylise(content, style.flip(0)))


# ---- parts ------------------------------------------------------------------------------------------------------------------


def check_counts(model: Baseline, expected: Mapping[str, int]) -> None:
    """Parameters by part, to the last digit. The model may live on the meta device."""
    assert model.parameters_by_part() == dict(expected)
    assert set(model.trained_parts()) <= set(expected)
    assert set(model.training_only) <= set(expected)


def snapshot(module: nn.Module) -> dict[str, Tensor]:
    """A copy of every tensor."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def changed(module: nn.Module, before: Mapping[str, Tensor]) -> set[str]:
    """The tensors that are no longer what they were."""
    return {name for name, value in module.state_dict().items() if not torch.equal(value, before[name])}


# ---- training ---------------------------------------------------------------------------------------------------------------


def train(
    model: Baseline, content: Tensor, style: Tensor, *, steps: int, recipe: TrainingRecipe | None = None, prepare: bool = True
) -> list[dict[str, float]]:
    """The steps of the trainer without its surroundings; the record of every step, with the sum of losses as ``loss``."""
    made = model.configure_optimiser((recipe or model.defaults).resolved(len(content)))
    model.train()
    if prepare:
        model.prepare(content, style)
    record = []
    for step in range(1, steps + 1):  # the very first iteration of some networks changes nothing
        parts: dict[str, float] = {}
        for one in model.training_step(content, style, step):
            optimiser, rate, clip = made[one.optimiser]
            for group in optimiser.param_groups:
                group["lr"] = rate(step)
            optimiser.zero_grad(set_to_none=True)
            one.loss.backward()
            if clip:
                nn.utils.clip_grad_norm_([value for group in optimiser.param_groups for value in group["params"]], clip)
            optimiser.step()
            parts |= {name: float(value.detach()) for name, value in one.parts.items()}
            parts["loss"] = parts.get("loss", 0.0) + float(one.loss.detach())
        record.append(parts)
    return record


def check_gradients(model: Baseline, content: Tensor, style: Tensor, *, unused: Sequence[str] = ()) -> None:
    """Gradients reach every trained tensor, finite, and no other. ``unused``: trained tensors that may have none or zeros."""
    model.train()
    model.prepare(content, style)
    for one in model.training_step(content, style, 1):
        one.loss.backward()
    for name, part in model.parts().items():
        for key, value in part.named_parameters():
            if name not in model.trained_parts() or not value.requires_grad:
                assert value.grad is None, f"{name}.{key} is frozen and got a gradient"
                continue
            if f"{name}.{key}" in unused:
                continue
            assert value.grad is not None, f"{name}.{key} is trained and got no gradient"
            assert bool(value.grad.isfinite().all()), f"{name}.{key}"
            assert bool((value.grad != 0).any()), f"{name}.{key} got a gradient of nothing but zeros"
    model.zero_grad(set_to_none=True)


def check_step(model: Baseline, content: Tensor, style: Tensor) -> None:
    """One iteration changes every trained part and not a bit of the others."""
    before = {name: snapshot(part) for name, part in model.parts().items()}
    train(model, content, style, steps=1)
    for name, part in model.parts().items():
        moved = changed(part, before[name])
        assert bool(moved) == (name in model.trained_parts()), (name, sorted(moved)[:3])


def check_learns(
    model: Baseline,
    content: Tensor,
    style: Tensor,
    *,
    steps: int = 30,
    rate: float | None = None,
    key: str = "loss",
    to: float = 0.9,
) -> list[dict[str, float]]:
    """The mean loss of the last five steps is below ``to`` times that of the first five; all finite."""
    record = train(model, content, style, steps=steps, recipe=model.defaults.but(rate=rate))
    check_falls(record, key, to=to)
    return record


def check_falls(record: Sequence[Mapping[str, float]], key: str, *, to: float = 1.0) -> None:
    """Compare means of five steps: a single step differs between processors, whose sums round differently."""
    values = [step[key] for step in record]
    assert np.isfinite(values).all()
    assert np.mean(values[-5:]) < to * np.mean(values[:5]), (key, values)


# ---- official files ---------------------------------------------------------------------------------------------------------


def check_layout(model: Baseline, part: str, expected: Mapping[str, tuple[int, ...]]) -> None:
    """Names in order and shapes, as the official file has them. The model may live on the meta device."""
    assert {name: tuple(value.shape) for name, value in model.to_official(part).items()} == dict(expected)
    assert list(model.to_official(part)) == list(expected)


def check_official(
    fresh: Callable[[int], Baseline],
    folder: Path,
    *,
    wrap: Callable[[str, dict[str, Tensor]], object] = lambda _, state: state,
    size: int = 32,
) -> None:
    """Files laid out as the official ones are loaded strictly and give the donor's images bit for bit; wrong ones are refused.

    ``fresh(seed)`` builds the model; two seeds must differ in every part that has an official file. ``wrap(part, state)`` turns a
    part's tensors into what the official file holds, where that is more than one dictionary.
    """
    donor, heir = fresh(1), fresh(2)
    content, style = tiles(1, size), tiles(1, size, seed=1)
    wanted = donor.stylise(content, style)
    assert not torch.equal(heir.stylise(content, style), wanted)
    files = {}
    for file in donor.official:
        files[file.part] = folder / file.file
        files[file.part].parent.mkdir(parents=True, exist_ok=True)
        torch.save(wrap(file.part, donor.to_official(file.part)), files[file.part])
    heir.load_official(files)
    assert torch.equal(heir.stylise(content, style), wanted)
    _check_wrong_files(fresh(3), files, wrap)


def _check_wrong_files(model: Baseline, files: Mapping[str, Path], wrap: Callable[[str, dict[str, Tensor]], object]) -> None:
    before = snapshot(model)
    for part, path in files.items():
        state = model.to_official(part)
        last = list(state)[-1]
        for wrong in (
            {name: value for name, value in state.items() if name != last},
            {**state, "stranger": torch.zeros(1)},
            {**state, last: torch.zeros(7, 7)},
        ):
            bad = path.with_name(f"wrong-{path.name}")
            torch.save(wrap(part, wrong), bad)
            with pytest.raises(RecoloristError):
                model.load_official({**files, part: bad})
            assert not changed(model, before), "a refused file must leave the model as it was"
    with pytest.raises(RecoloristError, match="no official file"):
        model.load_official({**files, "stranger": Path("x.pth")})
