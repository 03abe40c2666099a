"""Whatever instructions the processor has, 8-bit maps write the same bytes; each route is forced in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from recolorist.core import kernels

# random maps, maps with exact ties (where float32 cannot be fitted), gains beyond the range, and every tail length of a step
SCRIPT = """
import numpy as np
from recolorist.core import kernels
from recolorist.core.kernels import fallback as kernels_numpy
rng = np.random.default_rng(11)
differ = maps = 0
for case in range(600):
    channels = int(rng.choice([1, 2, 3, 4, 5, 6, 8]))
    pixels = int(rng.integers(3072 // channels, 3400 // channels + 200))
    source = rng.integers(0, 256, (pixels, channels), dtype=np.uint8)
    if case % 3 == 0:
        gain, offset = rng.integers(-4, 21, channels) / 4, rng.integers(-400, 400, channels) / 2
    else:
        gain, offset = rng.normal(1, 1.5, channels), rng.normal(0, 120, channels)
    high = 255.0 if case % 5 else 100.0
    ours, fallback = np.empty_like(source), np.empty_like(source)
    arguments = ("B", channels, gain.tolist(), offset.tolist(), 0.0, high)
    kernels.loops.affine(source, ours, *arguments)
    kernels_numpy.affine(source, fallback, *arguments)
    differ += int((ours != fallback).sum())
    maps += 1
for case in range(60):  # 3 x 3 maps, with values on and near a half
    pixels = int(rng.integers(1, 900))
    source = rng.integers(0, 256, (pixels, 3), dtype=np.uint8)
    gain = rng.integers(-8, 9, 9) / 8 if case % 3 == 0 else rng.normal(0.3, 0.7, 9) * (1000.0 if case % 7 == 0 else 1.0)
    offset = rng.integers(-200, 200, 3) / 2 if case % 2 else rng.normal(0, 90, 3)
    ours, fallback = np.empty_like(source), np.empty_like(source)
    arguments = ("B", 3, gain.tolist(), offset.tolist(), 0.0, 255.0)
    kernels.loops.affine(source, ours, *arguments)
    kernels_numpy.affine(source, fallback, *arguments)
    differ += int((ours != fallback).sum())
for name in ("lab", "luv", "lch", "hsv", "hsi", "hed", "lalphabeta"):  # levels in and out, with values close to thresholds
    size = 5.0 if name in ("lab", "luv") else 0.05
    for pixels, low, high in ((1, 0, 255), (63, 0, 255), (64, 90, 255), (512, 0, 9), (3001, 60, 255), (20_000, 0, 255)):
        source = rng.integers(low, high, (pixels, 3), dtype=np.uint8, endpoint=True)  # near black other formulas hold
        numbers = (rng.uniform(0.3, 1.6, 3).tolist(), rng.normal(0, size, 3).tolist())
        ours, fallback = np.empty_like(source), np.empty_like(source)
        for loops, target in ((kernels.loops, ours), (kernels_numpy, fallback)):
            loops.affine_converted(source, target, "B", 3, name, 255.0, numbers, (0.0, 255.0))
        differ += int((ours != fallback).sum())
        planes = np.empty((3, pixels))
        kernels.loops.split(source, "B", 3, name, 255.0, planes)
        planes *= rng.uniform(0.3, 1.6, (3, 1))
        for loops, target in ((kernels.loops, ours), (kernels_numpy, fallback)):
            loops.join(planes, target, "B", 3, name, 255.0, (0.0, 255.0), ([], []))
        differ += int((ours != fallback).sum())
        for reach in (1, 2, 3):
            differ += kernels.loops.moments_levels(source, 3, name, reach) != kernels_numpy.moments_levels(source, 3, name, reach)
print(kernels.active(), maps, differ)
"""


@pytest.mark.parametrize("level", ["", "avx2", "none"])
def test_every_route_writes_the_same_bytes(level: str) -> None:
    if kernels._compiled is None:
        pytest.skip("the compiled loops were not built here")
    environment = {**os.environ, "RECOLORIST_SIMD": level, "RECOLORIST_KERNEL": "c"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == ["c", "600", "0"]
