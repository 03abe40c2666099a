"""`python -m benchmarks.training_feed`: how many images a second reach the device, and how long the network waits for them.

The trainer's own loader reads images from files, from a pack of the same files, and from a MedMNIST archive, augments them with
Colorist at its p = 0.3 and moves them to the device. One pass over all images is timed by the clock for each source and number
of workers, in shuffled rounds of one run, after one pass that does not count. Beside it stands a training step of DenseNet-121.
The share of time that the network waits is measured in a loop of loading and training, and worked out for quicker devices.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import environment
from benchmarks.loader_report import stamp

COMMAND: Final = "python -m benchmarks.training_feed"
LARGE: Final = (1736, 1824)  # height and width of the enlarged photographs
RATES: Final = (50, 200, 800)  # images a second of devices that are not here
BATCH: Final = 16


@dataclass(frozen=True)
class Source:
    """Where images come from: a manifest, and the size that training asks for."""

    name: str
    manifest: Path
    size: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write the figures."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--images", type=Path, help="folder with JPEG files; else synthetic tiles")
    parser.add_argument("--medmnist", type=Path, help="folder with retinamnist.npz, the official archive of 28 pixels")
    parser.add_argument("--count", type=int, default=64, help="images of each source")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--model", default="densenet121")
    parser.add_argument("--steps", type=int, default=3, help="training steps of the loop that measures waiting")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training_feed")
    asked = parser.parse_args(given)
    if environment.missing_settings():
        environment.restart_with_settings("benchmarks.training_feed", given)
    with tempfile.TemporaryDirectory() as folder:
        sources, origin = make_sources(Path(folder), asked.images, asked.medmnist, asked.count, asked.size)
        result = {
            **stamp(),
            "command": " ".join([COMMAND, *(Path(word).name if "/" in word else word for word in given)]),
            "origin": origin,
            "cores": len(os.sched_getaffinity(0)),
            "count": asked.count,
            "rounds": asked.rounds,
            "feeds": feeds(sources, asked.workers, asked.rounds),
            "waits": waits([source for source in sources if source.size == asked.size], asked.model, asked.steps),
        }
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"{result['date'][:10]}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    path.with_suffix(".md").write_text(markdown(result), "utf-8")
    print(markdown(result))
    return 0


def make_sources(folder: Path, images: Path | None, medmnist: Path | None, count: int, size: int) -> tuple[list[Source], str]:
    """Write photographs of two sizes as JPEG, pack both, and index the archive."""
    from PIL import Image

    from recolorist_lab.data.index import index
    from recolorist_lab.data.loader import Samples
    from recolorist_lab.data.own import IndexOptions, index_folder
    from recolorist_lab.data.pack import pack
    from recolorist_lab.data.registry import card_of

    pictures = list(itertools.islice(itertools.cycle(_pictures(images)), count))
    sources = []
    for name, shape in (("small", None), ("large", LARGE)):
        root = folder / name
        for number, picture in enumerate(pictures):
            place = root / f"class{number % 2}" / f"{number:04d}.jpg"
            place.parent.mkdir(parents=True, exist_ok=True)
            (picture if shape is None else picture.resize(shape[::-1], Image.Resampling.BICUBIC)).save(place, quality=90)
        height, width = shape or pictures[0].size[::-1]
        manifest = index_folder(root, IndexOptions("files")).write(root / "files.parquet")
        packed = index_folder(root, IndexOptions("packed")).write(root / "packed.parquet")
        pack(Samples(packed, size=size, resize="letterbox"))
        sources += [Source(f"files, {height} × {width}", manifest, size), Source(f"packed, {height} × {width}", packed, size)]
    if medmnist is not None:
        archive = index(card_of("retinamnist_28"), medmnist, into=folder).write(folder / "retinamnist_28.parquet")
        sources.append(Source("MedMNIST archive, 28 × 28", archive, 28))
    return sources, "synthetic tiles" if images is None else f"photographs in {images.name}, enlarged for the large ones"


def _pictures(images: Path | None) -> list[Any]:
    from PIL import Image

    if images is not None:
        return [Image.open(path).convert("RGB") for path in sorted(images.rglob("*.jpg"))[:256]]
    from recolorist_lab.data.synthetic import Recipe, make

    return [Image.fromarray(tile) for tile in make(Recipe(hospitals=1, tiles=16, size=64)).images]


def _loader(source: Source, workers: int, count: int | None = None) -> tuple[Any, Any]:
    """Make the trainer's loader over the first images of the training split, and what normalises them."""
    from recolorist_lab.augmentations import TrainingImages, build
    from recolorist_lab.data.loader import Samples
    from recolorist_lab.training.feed import Feed, InOrder, loader
    from recolorist_lab.training.normalise import Normalise

    samples = Samples(source.manifest, "train", size=source.size, resize="letterbox")
    images = TrainingImages(samples)
    feed = Feed(samples, augmentation=build("colorist", images, seed=1))
    return loader(feed, InOrder(min(count or len(feed), len(feed)), BATCH), workers), Normalise.of(images.bank())


def feeds(sources: Sequence[Source], workers: Sequence[int], rounds: int) -> list[dict[str, Any]]:
    """Time passes over every source with every number of workers, in shuffled rounds."""
    cases = {(source, number): _loader(source, number) for source in sources for number in workers}
    taken: dict[Any, list[float]] = {case: [] for case in cases}
    order = random.Random(1)
    for number in range(rounds + 1):
        for case in order.sample(list(cases), len(cases)):
            rate = _images_a_second(*cases[case])
            if number:
                taken[case].append(rate)
    return [
        {"source": source.name, "workers": number, "images_a_second": _quartiles(taken[source, number])}
        for source, number in cases
    ]


def _images_a_second(batches: Any, normalise: Any) -> float:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    start, seen = time.perf_counter(), 0
    for batch in batches:
        seen += len(normalise(normalise.unit(batch.images.to(device))))
    return seen / (time.perf_counter() - start)


def _quartiles(values: Sequence[float]) -> list[float]:
    return [round(float(value), 2) for value in np.percentile(values, [25, 50, 75])]


def waits(sources: Sequence[Source], model: str, steps: int) -> list[dict[str, Any]]:
    """Load and train in turns without workers, as a network that has to wait for every image, and say for how long it does."""
    import torch

    from recolorist_lab.training.models import build

    torch.set_num_threads(1)
    network = build(model, 2, own_head=False)
    optimiser = torch.optim.AdamW(network.parameters())
    found = []
    for source in sources:
        batches, normalise = _loader(source, 0, (steps + 1) * BATCH)
        waited, trained = [], []
        start = time.perf_counter()
        for batch in itertools.islice(batches, steps + 1):
            images = normalise(normalise.unit(batch.images))[:4]  # four to a step: a step of sixteen takes seconds here
            loaded = time.perf_counter()
            optimiser.zero_grad()
            torch.autograd.backward(torch.nn.functional.cross_entropy(network(images), batch.targets[:4]))
            optimiser.step()
            waited.append((loaded - start) / len(batch.targets))
            start = time.perf_counter()
            trained.append((start - loaded) / 4)
        wait, step = (statistics.median(values[1:] or values) for values in (waited, trained))  # the first opens files
        found.append({"source": source.name, "model": model, "load_ms": round(1e3 * wait, 3), "step_ms": round(1e3 * step, 1)})
    return found


def share_waited(rate: float, device: float) -> float:
    """Return the share of time that a device of so many images a second waits for a feed of so many.

    >>> share_waited(50, 200), share_waited(300, 200)
    (0.75, 0.0)
    """
    return max(0.0, 1 - rate / device)


def markdown(result: dict[str, Any]) -> str:
    """Write the result as a page."""
    load = result["load_average"][0]
    state = "busy machine" if load > 1.5 else "quiet machine"
    machine = f"{result['cpu']} ({result['simd']}), {result['cores']} cores, load average {load:.2f}: {state}"
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [
        "# Feeding a classifier",
        "",
        f"{result['date']}, commit {result['commit']}, {machine}, `{result['command']}`.",
        f"Versions: {versions}.",
        f"Source: {result['origin']}; {result['count']} images a pass, {result['rounds']} shuffled rounds, medians by the clock,",
        "with Colorist at p = 0.3, to a normalised tensor. Compare rows of this page only. *Files* is before, *packed* after",
        "`recolorist-lab data pack`.",
        "",
        f"| source | workers | images a second | quartiles | {' | '.join(f'a device of {rate}/s waits' for rate in RATES)} |",
        f"|---|---|---|---|{'---|' * len(RATES)}",
    ]
    for row in result["feeds"]:
        low, median, high = row["images_a_second"]
        shares = " | ".join(f"{share_waited(median, rate):.0%}" for rate in RATES)
        lines.append(f"| {row['source']} | {row['workers']} | {median:,.0f} | {low:,.0f}–{high:,.0f} | {shares} |")
    lines += [
        "",
        "The last columns are worked out, one minus the quotient of both rates: no such device was here.",
        "",
        "## Loading and training in turns",
        "",
        "On this processor, one thread, no workers: the share of time that the network waits for images.",
        "",
        "| source | network | loading, ms an image | training step, ms an image | waits |",
        "|---|---|---|---|---|",
    ]
    for row in result["waits"]:
        share = row["load_ms"] / (row["load_ms"] + row["step_ms"])
        lines.append(f"| {row['source']} | {row['model']} | {row['load_ms']:.2f} | {row['step_ms']:.0f} | {share:.1%} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
