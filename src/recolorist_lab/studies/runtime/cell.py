"""Measure time and energy of one image by the paper's protocol on this machine.

There is one image per iteration, at the method's native size, after warm-up iterations that do not count. Tensors are on the
device before the clock starts, and it stops after the device has finished. Networks are drawn at random: their time hardly
depends on their weights, unless training has driven weights into subnormal numbers, with which processors are slow. A slow method
ends early when its time is up, and how many iterations it had is part of the result.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist._torchvision_ops import declare_missing_ops
from recolorist.demo.synthetic import SCANNERS, tile
from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS, build, class_of
from recolorist_lab.runs.config import Json, identity, unknown
from recolorist_lab.runs.energy import Energy, metered
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS, seed_of

__all__ = ["COLORIST", "OURS", "PEER", "PERCENTILES", "Runtime", "native_size", "run"]

Call = Callable[[int], object]

#: Rows of the method itself. The first does what the paper times: two images in, one out.
COLORIST: Final = ("colorist", "colorist_float", "colorist_bank", "colorist_batch", "colorist_aug")
PEER: Final = "colorist_aug"  # the authors' package: the same method, not our code
OURS: Final = tuple(name for name in COLORIST if name != PEER)
PERCENTILES: Final = (50, 90, 95, 99)
_OWN_SIZE: Final = 256  # at which the paper times Colorist
_DRAWN: Final = 256  # pixels a side; larger images are mirrored on, since drawing takes longer than timing
_IMAGES: Final = 4  # distinct pairs in turn, so that no cache holds the answer
_BATCH: Final = 32
_LEAST: Final = 5  # iterations, however slow
_METERED: Final = 5.0  # seconds; over less, a modelled power would be that of a single moment


@dataclass(frozen=True)
class Runtime:
    """One method on one device. ``size`` 0 is the method's own; ``seconds`` limits the timed part."""

    method: str = identity()
    device: Literal["cpu", "cuda"] = identity("cpu")
    size: int = identity(0)
    iterations: int = identity(1000)
    warmups: int = identity(50)
    seconds: float = identity(120.0)
    threads: int = identity(0)
    repeat: int = identity(0)
    seed: int = identity(SEEDS[-1])

    def __post_init__(self) -> None:
        unknown([self.method], (*METHODS, *COLORIST), "method")
        if self.size and not 32 <= self.size <= 4096:
            raise OptionError(f"size={self.size}; accepted are 0 for the method's own, and 32 to 4096 pixels a side")
        if self.iterations < _LEAST or self.warmups < 0 or self.seconds <= 0 or self.threads < 0:
            raise OptionError(
                f"iterations={self.iterations}, warmups={self.warmups}, seconds={self.seconds}, threads={self.threads}; "
                f"accepted are {_LEAST} iterations or more, no negative number, and more than 0 seconds"
            )


class Contestant(NamedTuple):
    """A timed call, and the number of images it makes."""

    call: Call
    images: int = 1


def run(config: Runtime, _: Context) -> Mapping[str, Json]:
    """Warm up, time a loop, and measure the energy of the same loop.

    Args:
        config: The configuration of the cell.

    Returns:
        The result, as the ledger stores it.
    """
    import torch

    threads = config.threads or os.cpu_count() or 1
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        size = config.size or native_size(config.method)
        contestant = _contestant(config, size)
        wait = torch.cuda.synchronize if config.device == "cuda" else _nothing
        load = os.getloadavg()[0]
        _warm_up(config, contestant, wait)
        times, calls, energy = _timed(config, contestant, wait)
    finally:
        torch.set_num_threads(before)
    return {"side": size, "threads": threads, "load_before": load, **_summary(times, calls, energy, contestant.images)}


def native_size(method: str) -> int:
    """Return the side of the images at which a method works.

    Args:
        method: The name of a method.

    Returns:
        Pixels.

    Example:
        >>> native_size("colorist"), native_size("adain")
        (256, 256)
    """
    return _OWN_SIZE if method in COLORIST else class_of(method).native_size


def _warm_up(config: Runtime, contestant: Contestant, wait: Callable[[], object]) -> None:
    """Run iterations that do not count, for at most a quarter of the time limit."""
    end = time.perf_counter() + config.seconds / 4
    for number in range(config.warmups):
        contestant.call(number)
        if number and time.perf_counter() > end:
            break
    wait()


def _timed(config: Runtime, contestant: Contestant, wait: Callable[[], object]) -> tuple[NDArray[np.float64], int, Energy]:
    """Time every iteration, and meter the energy of these and of enough further ones."""
    times: list[float] = []
    with metered(config.device) as meter:
        begun = time.perf_counter()
        for number in range(config.iterations):
            start = time.perf_counter()
            contestant.call(number)
            wait()
            times.append(time.perf_counter() - start)
            if len(times) >= _LEAST and start > begun + config.seconds:
                break
        calls = len(times)
        while time.perf_counter() < begun + min(_METERED, config.seconds):
            contestant.call(calls)
            wait()
            calls += 1
    return np.array(times), calls, meter.energy


def _summary(times: NDArray[np.float64], calls: int, energy: Energy, images: int) -> dict[str, Json]:
    per_image = 1000.0 * times / images
    metered_images = calls * images
    return {
        "iterations": len(times),
        "images": len(times) * images,
        "mean_ms": float(per_image.mean()),
        "sd_ms": float(per_image.std(ddof=1)),
        **{f"p{rank}_ms": float(np.percentile(per_image, rank)) for rank in PERCENTILES},
        "throughput_it_s": float(1000.0 / per_image.mean()),
        "metered_seconds": energy.seconds,
        "metered_images": metered_images,
        "cpu_seconds": energy.cpu_seconds / metered_images,
        "energy_mwh": 1000.0 * energy.watt_hours / metered_images,
        "energy_source": energy.source,
    }


def _contestant(config: Runtime, size: int) -> Contestant:
    if config.method in COLORIST and config.method != "colorist_batch" and config.device != "cpu":
        raise OptionError(f"{config.method} works on the CPU; on {config.device} there is colorist_batch")
    contents, styles = _images(config.seed, size)
    if config.method in COLORIST:
        return _CONTESTANTS[config.method](contents, styles, config.device)
    return _baseline(config, contents, styles)


def _images(seed: int, size: int) -> tuple[list[Any], list[Any]]:
    """Draw tiles of two hospitals; their content does not affect the time."""
    names = sorted(SCANNERS)
    seeds = [seed_of("runtime", seed, number) % 2**31 for number in range(2 * _IMAGES)]
    small = [tile(tile_seed, names[number % len(names)], min(size, _DRAWN)) for number, tile_seed in enumerate(seeds)]
    beyond = size - min(size, _DRAWN)
    tiles = [np.pad(image, ((0, beyond), (0, beyond), (0, 0)), "symmetric") for image in small]
    return tiles[:_IMAGES], tiles[_IMAGES:]


def _baseline(config: Runtime, contents: list[Any], styles: list[Any]) -> Contestant:
    model = build(config.method, encoder="random", seed=0).eval().to(config.device)
    pairs = [(_tensor(a).to(config.device), _tensor(b).to(config.device)) for a, b in zip(contents, styles, strict=True)]
    return Contestant(lambda number: model.stylise(*pairs[number % _IMAGES]))


def _two_images(contents: list[Any], styles: list[Any], _: str) -> Contestant:
    return Contestant(lambda number: rc.match(contents[number % _IMAGES], styles[number % _IMAGES]))


def _two_floats(contents: list[Any], styles: list[Any], device: str) -> Contestant:
    first, second = ([(image / 255.0).astype(np.float32) for image in images] for images in (contents, styles))
    return _two_images(first, second, device)


def _bank(contents: list[Any], styles: list[Any], _: str) -> Contestant:
    moments = [rc.measure(style) for style in styles]
    return Contestant(lambda number: rc.match(contents[number % _IMAGES], moments[number % _IMAGES]))


def _batch(contents: list[Any], styles: list[Any], device: str) -> Contestant:
    torch: Any = importlib.import_module("torch")
    module: Any = importlib.import_module("recolorist.torch")
    matcher = module.ColorMatch(rc.StyleBank.build(styles, split="train"), p=1.0).to(device).train()
    batch = torch.cat([_tensor(contents[number % _IMAGES]) for number in range(_BATCH)]).to(device)
    return Contestant(lambda _: matcher(batch), _BATCH)


def _peer(contents: list[Any], styles: list[Any], _: str) -> Contestant:
    """Time the authors' package as it documents its use, on tensors, its fastest input."""
    try:
        declare_missing_ops()
        package: Any = importlib.import_module("colorist")
        transfer = package.transfer_rgb
    except (ImportError, AttributeError) as error:
        raise OptionError(
            f"colorist-aug cannot be used here ({error}); install it without its dependencies, or leave its row out"
        ) from error
    pairs = [(_tensor(a)[0], _tensor(b)[0]) for a, b in zip(contents, styles, strict=True)]
    return Contestant(lambda number: transfer(*pairs[number % _IMAGES]))


_CONTESTANTS: Final = {
    "colorist": _two_images,
    "colorist_float": _two_floats,
    "colorist_bank": _bank,
    "colorist_batch": _batch,
    "colorist_aug": _peer,
}


def _tensor(image: NDArray[Any]) -> Any:
    torch: Any = importlib.import_module("torch")
    return torch.from_numpy(image).permute(2, 0, 1)[None].contiguous().float() / 255.0


def _nothing() -> None:
    """Return at once: on a CPU the call has finished when it returns."""
