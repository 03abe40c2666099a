"""Whatever instructions the processor has, loops give the same bits; each route is forced in a process of its own."""

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
for case in range(120):  # 3 x 3 maps, with values on and near a half, from gains that vanish to gains beyond what the loops hold
    pixels = int(rng.integers(1, 900))
    source = rng.integers(0, 256, (pixels, 3), dtype=np.uint8)
    gain = rng.integers(-8, 9, 9) / 8 if case % 3 == 0 else rng.normal(0.3, 0.7, 9) * 2.0 ** (case % 20 - 6)
    offset = rng.integers(-200, 200, 3) / 2 if case % 2 else rng.normal(0, 90, 3)
    ours, fallback = np.empty_like(source), np.empty_like(source)
    arguments = ("B", 3, gain.tolist(), offset.tolist(), 0.0, 255.0)
    kernels.loops.affine(source, ours, *arguments)
    kernels_numpy.affine(source, fallback, *arguments)
    differ += int((ours != fallback).sum())
for case in range(2000):  # pixels so close to a half that rounded coefficients would put them on its other side
    source = np.full((300, 3), rng.choice([0, 255], 3) if case % 2 else rng.integers(0, 256, 3), np.uint8)
    gain = rng.normal(0.3, 0.7, 9) * 2.0 ** (case % 9 - 4)
    near = rng.choice([0.0, 1e-12, 1e-7, 1e-6, 1e-5], 3) * rng.choice([-1, 1], 3)
    offset = rng.integers(10, 240, 3) + 0.5 + near - gain.reshape(3, 3) @ source[0]
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


# sums against whole numbers of Python at the ends of steps, and where 32 bits would overflow; floats against the fallback
SUMS = """
import numpy as np
import recolorist as rc
from recolorist.core import kernels
from recolorist.core.kernels import fallback as kernels_numpy
rng = np.random.default_rng(12)
checks = differ = 0

def exact(image, reach):
    planes = [[int(value) for value in plane] for plane in image.T]
    near = [(i, i + d) if i + d < len(planes) else None for d in range(reach) for i in range(len(planes))]
    products = [0 if pair is None else sum(a * b for a, b in zip(planes[pair[0]], planes[pair[1]])) for pair in near]
    return tuple(map(sum, planes)), tuple(products)

def compare(ours, wanted):
    global checks, differ
    checks, differ = checks + 1, differ + (ours != wanted)

for pixels in (1, 2, 5, 15, 16, 17, 21, 22, 63, 64, 65, 69, 70, 71, 127, 128, 255, 257, 1000):
    for channels in (1, 2, 3, 4, 5):
        for image in (rng.integers(0, 256, (pixels, channels), dtype=np.uint8), np.zeros((pixels, channels), np.uint8),
                      np.full((pixels, channels), 255, np.uint8)):
            for reach in {1, channels}:
                compare(kernels.loops.moments_integer(image, 1, channels, reach), exact(image, reach))
            gain, offset = rng.uniform(0, 3, channels).tolist(), rng.normal(0, 200, channels).tolist()
            numbers = (image, channels, gain, offset)
            compare(kernels.loops.map_moments(*numbers), kernels_numpy.map_moments(*numbers))
            if channels == 4:
                compare(kernels.loops.moments_rgba(image), exact(np.ascontiguousarray(image[:, :3]), 3))
for channels, pixels in ((1, 2**21 + 67), (3, 2**19 + 67), (4, 2**19 + 67)):  # more steps than a sum of 32 bits holds
    for level in (255, 0):
        image = np.full((pixels, channels), level, np.uint8)
        image[pixels // 2 :, 0] = 255 - level // 3
        first = [(pixels - pixels // 2, 255 - level // 3), (pixels // 2, level)]
        sums, squares = (sum(n * x**k for n, x in first) for k in (1, 2))
        alike, both = pixels * level, pixels * level**2
        found = kernels.loops.moments_integer(image, 1, channels, 1)
        compare(found, ((sums, *[alike] * (channels - 1)), (squares, *[both] * (channels - 1))))
        if channels > 1:
            crossed = level * sums
            found = kernels.loops.moments_integer(image, 1, 3, 3) if channels == 3 else kernels.loops.moments_rgba(image)
            compare(found, ((sums, alike, alike), (squares, both, both, crossed, both, 0, crossed, 0, 0)))
image = rng.integers(0, 256, (61, 83, 3), dtype=np.uint8)
inside = rng.random((30, 81)) < 0.4
inner = image[::2, 1:-1][:30]
for part, mask in ((inner, None), (inner, inside), (image[::-1, ::-1], None), (image[:, :1], None)):
    pixels = part.reshape(-1, 3) if mask is None else part[mask]
    compare(rc.measure(part, mask)._sums, exact(pixels, 3))
for case in range(60):  # floats, some of which are no numbers
    pixels, channels = int(rng.integers(1, 9000)), int(rng.choice([1, 2, 3, 4, 5]))
    image = rng.normal(0.5, 0.4, (pixels, channels)).astype(np.float32)
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0] if case % 2 else [-0.0, 1e30]
    image[rng.random(image.shape) < 0.01] = rng.choice(np.array(special, np.float32))
    with np.errstate(all="ignore"):
        ours, wanted = (loops.sums_float(image, 4, channels) for loops in (kernels.loops, kernels_numpy))
    compare(str(ours), str(wanted))
    low, high = ((0.0, 1.0), (-np.inf, np.inf))[case % 3 == 0]
    results = [np.empty_like(image) for _ in range(2)]
    numbers = ("f", channels, rng.normal(1, 1, channels).tolist(), rng.normal(0, 0.3, channels).tolist(), low, high)
    with np.errstate(all="ignore"):
        for loops, target in zip((kernels.loops, kernels_numpy), results):
            loops.affine(image, target, *numbers)
    number = ~np.isnan(results[1])  # a NaN has no bits of its own
    compare(results[0][number].tobytes() + number.tobytes(), results[1][number].tobytes() + (~np.isnan(results[0])).tobytes())
print(kernels.active(), checks, differ)
"""


def run(script: str, level: str) -> list[str]:
    environment = {**os.environ, "RECOLORIST_SIMD": level, "RECOLORIST_KERNEL": "c"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.split()


@pytest.mark.skipif(kernels._compiled is None, reason="the compiled loops were not built here")
@pytest.mark.parametrize("level", ["", "avx2", "none"])
class TestEveryRoute:
    def test_writes_the_same_bytes(self, level: str) -> None:
        assert run(SCRIPT, level) == ["c", "600", "0"]

    def test_sums_exactly(self, level: str) -> None:
        assert run(SUMS, level) == ["c", "989", "0"]
