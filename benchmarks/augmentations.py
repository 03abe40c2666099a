"""What each augmentation of the lab costs for a 224 × 224 image, beside decoding its JPEG file and beside Colorist.

`python -m benchmarks.augmentations [--rounds 9] [--out FILE.json]`

The contract is that of `README.md`: one run, one thread, shuffled rounds, medians of thread CPU time, ratios. Every augmentation
is timed always applied, and also at its own share `p` where training does not apply it to all. The image changes its number from
call to call, so that policies whose cost varies are met in all their moods. `histogram` finds its style in memory here; in
training it decodes another file.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from benchmarks import environment, measure
from recolorist_lab.augmentations import NAMES, Augmentation, TrainingImages, build
from recolorist_lab.augmentations.table import AUGMENTATIONS
from recolorist_lab.data.pixels import Bytes
from recolorist_lab.data.synthetic import Recipe, make

SIDE: Final = 224
QUALITY: Final = 90
_LEAST_CALLS: Final = 40  # in a round, so that every operation of a policy has its turn
DECODE: Final = "decode JPEG"


class Call:
    """A subject of :mod:`benchmarks.measure`."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call

    def time(self, calls: int) -> measure.Sample:
        return measure.time_calls(self.call, calls)


def applied(change: Augmentation, image: Bytes, count: int) -> Callable[[], object]:
    """The image under the next number, in one epoch after another."""
    numbers = itertools.count()

    def call() -> object:
        number = next(numbers)
        return change(image, index=number % count, epoch=number // count)

    return call


def subjects(images: TrainingImages) -> dict[str, Callable[[], object]]:
    image = images.pixels(0)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=QUALITY)
    found: dict[str, Callable[[], object]] = {DECODE: lambda: np.asarray(Image.open(file))}
    for name in NAMES:
        found[f"{name}, always"] = applied(build(name, images, seed=1, p=1.0), image, len(images))
        if AUGMENTATIONS[name].p < 1:
            found[name] = applied(build(name, images, seed=1), image, len(images))
    return found


def measured(rounds: int) -> dict[str, measure.Timing]:
    images = TrainingImages(make(Recipe(hospitals=4, tiles=12, size=SIDE)).samples("train"))
    calls = subjects(images)
    timed = [Call(call) for call in calls.values()]
    counts = [measure.calls_for(one, measure.Effort(), _LEAST_CALLS) for one in timed]
    return dict(zip(calls, measure.time_subjects(timed, counts, rounds, random.Random(0)), strict=True))


def table(medians: dict[str, float]) -> list[str]:
    """Markdown, the cheapest first."""
    decode, colorist = medians[DECODE], medians["colorist, always"]
    lines = ["| augmentation | µs | of decoding | of Colorist |", "|---|---|---|---|"]
    for name, median in sorted(medians.items(), key=lambda item: item[1]):
        lines.append(f"| {name} | {median:.0f} | {median / decode:.2f} | {median / colorist:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import cv2
    import torch

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    found = measured(options.rounds)
    print("\n".join(table({name: one.cpu.median for name, one in found.items()})))
    record = {
        "cpu": environment.cpu_name(),
        "versions": environment.versions(),
        "side": SIDE,
        "jpeg_quality": QUALITY,
        "rounds": options.rounds,
        "busy": max(one.wall.median / max(one.cpu.median, 1e-9) for one in found.values()),
        "microseconds": {name: one.cpu._asdict() for name, one in found.items()},
    }
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    if environment.missing_settings():
        import sys

        environment.restart_with_settings("benchmarks.augmentations", sys.argv[1:])
    main()
