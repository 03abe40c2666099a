"""`python -m benchmarks.training_loader`: does data loading starve the model, and what is Colorist's share of it?

The loader is the trainer's own: samples from image files, resized, augmented, collated. One pass over the images is timed with
each augmentation, all in one process and in shuffled rounds; the figure is thread CPU time per sample. Beside it stands one
training step of the network, per image, on the same core; a graphics card, where there is one, is timed by the clock.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import environment
from benchmarks.loader_report import stamp
from benchmarks.measure import time_calls

ROUNDS: Final = 15
AUGMENTATIONS: Final = ("none", "colorist", "color_jitter", "randaugment")
MOST: Final = 0.03  # of the loader's time, for Colorist at its p = 0.3
COMMAND: Final = "python -m benchmarks.training_loader"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write the figures."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--dataset", default="", help="a dataset with image files; else synthetic tiles written as JPEG")
    parser.add_argument("--root", default="", help="folder of the data; else RECOLORIST_DATA")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=8, help="images in the training step that is timed")
    parser.add_argument("--models", nargs="+", default=["densenet121", "test_resnet"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training_loader")
    asked = parser.parse_args(given)
    if environment.missing_settings():
        environment.restart_with_settings("benchmarks.training_loader", given)
    with tempfile.TemporaryDirectory() as folder, environment.one_core() as pinned:
        dataset, root, source = (asked.dataset, asked.root, asked.dataset) if asked.dataset else _synthetic(Path(folder))
        result = {
            **stamp(),
            "command": COMMAND,
            "source": source,
            "size": asked.size,
            "samples": asked.samples,
            "rounds": asked.rounds,
            "pinned": pinned,
            "loader": _loader(dataset, root, asked.size, asked.samples, asked.rounds),
            "steps": _steps(asked.models, asked.size, asked.batch, max(3, asked.rounds // 3)),
        }
    _write(result, asked.out)
    print(markdown(result))
    return 0


def _synthetic(folder: Path, tiles: int = 64, side: int = 256) -> tuple[str, str, str]:
    """Write tiles in JPEG files of quality 90, with a manifest."""
    from PIL import Image

    from recolorist_lab.data import synthetic
    from recolorist_lab.data.manifest import Entry, Manifest

    recipe = synthetic.Recipe(hospitals=3, tiles=tiles, size=side)
    made, entries = synthetic.make(recipe), []
    for entry in made.manifest:
        path = f"{entry.row:04d}.jpg"
        Image.fromarray(made.images[entry.row or 0]).save(folder / path, quality=90)
        entries.append(Entry("synthetic", entry.split, entry.domain, path, entry.labels))
    Manifest.of(entries, made.manifest.facts).write(folder / "tiles.parquet")
    return "tiles.parquet", str(folder), f"synthetic tiles, {side} x {side}, JPEG quality 90"


def _loader(dataset: str, root: str, size: int, samples: int, rounds: int) -> list[dict[str, Any]]:
    """Passes over the first images of the training split, with each augmentation in turn."""
    passes = {name: _pass(dataset, root, size, samples, name) for name in AUGMENTATIONS}
    taken: dict[str, list[float]] = {name: [] for name in passes}
    order = random.Random(1)
    for call in passes.values():
        call()
    for _ in range(rounds):
        for name in order.sample(AUGMENTATIONS, len(AUGMENTATIONS)):
            taken[name].append(time_calls(passes[name], 1).cpu / samples)
    return [_row(name, taken[name], taken["none"]) for name in AUGMENTATIONS]


def _pass(dataset: str, root: str, size: int, samples: int, augmentation: str) -> Callable[[], object]:
    """The trainer's loader in this process, over its own order."""
    from recolorist_lab.training.feed import loader
    from recolorist_lab.training.prepare import prepare
    from recolorist_lab.training.settings import Settings

    settings = Settings(
        dataset, 1, augmentation=augmentation, size=size, model="test_resnet", batch=32, root=root, validation="train"
    )
    ready = prepare(settings)
    places = [int(place) for batch in ready.order.batches(0) for place in batch]
    chosen = [places[number % len(places)] for number in range(samples)]
    batches = [[(0, place) for place in chosen[start : start + 32]] for start in range(0, samples, 32)]
    made = loader(ready.feed, batches, 0)
    return lambda: sum(len(batch.targets) for batch in made)


def _row(name: str, taken: Sequence[float], plain: Sequence[float]) -> dict[str, Any]:
    low, median, high = (float(value) for value in np.percentile(taken, [25, 50, 75]))
    added = [one - other for one, other in zip(taken, plain, strict=True)]
    return {
        "augmentation": name,
        "us_per_sample": [round(value, 1) for value in (low, median, high)],
        "added_us": round(statistics.median(added), 1),
        "share": round(statistics.median(one / whole for one, whole in zip(added, taken, strict=True)), 4),
    }


def _steps(models: Sequence[str], size: int, batch: int, rounds: int) -> list[dict[str, Any]]:
    """One update of each network: forward, backward, AdamW; microseconds per image."""
    import torch

    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    return [_step(name, device, size, batch, rounds) for name in models for device in devices]


def _step(name: str, device: str, size: int, batch: int, rounds: int) -> dict[str, Any]:
    import torch

    from recolorist_lab.training.algorithms import class_of
    from recolorist_lab.training.algorithms.base import Task
    from recolorist_lab.training.models import build
    from recolorist_lab.training.optimise import adamw
    from recolorist_lab.training.settings import Settings

    torch.set_num_threads(1)
    algorithm = class_of("plain")(build(name, 9, own_head=False), Task(9, multilabel=False)).to(device)
    optimiser = adamw(algorithm, Settings("synthetic", 0))
    images = torch.randn(batch, 3, size, size, device=device)
    targets, domains = torch.arange(batch, device=device) % 9, torch.zeros(batch, dtype=torch.int64, device=device)

    def update() -> None:
        optimiser.zero_grad()
        algorithm(images, targets, domains).loss.backward()
        optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    update()
    taken = [_seconds(update, device) * 1e6 / batch for _ in range(rounds)]
    low, median, high = (float(value) for value in np.percentile(taken, [25, 50, 75]))
    return {"model": name, "device": device, "batch": batch, "us_per_image": [round(value) for value in (low, median, high)]}


def _seconds(call: Callable[[], None], device: str) -> float:
    if device == "cpu":
        return time_calls(call, 1).cpu / 1e6
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def verdicts(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What was asked for, what was found, and whether that is enough."""
    colorist = next(row for row in result["loader"] if row["augmentation"] == "colorist")
    share = colorist["share"]
    rows = [
        (
            "Colorist's share of the loader's time at p = 0.3",
            f"{share:.1%}",
            "met" if share < MOST else f"missed (under {MOST:.0%})",
        )
    ]
    for step in result["steps"]:
        ratio = step["us_per_image"][1] / colorist["us_per_sample"][1]
        needed = math.ceil(1 / ratio)
        rows.append(
            (
                f"{step['model']} on {step['device']}: time of a training step to that of loading, per image",
                f"{ratio:.1f}",
                f"{needed} worker{'s keep' if needed > 1 else ' keeps'} it fed",
            )
        )
    return rows


def markdown(result: dict[str, Any]) -> str:
    """The result as a page."""
    machine = f"{result['cpu']} ({result['simd']}), kernel {result['kernel']}, load average {result['load_average'][0]:.2f}"
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    method = "Thread CPU time on one core, medians over shuffled rounds; added time and shares are of paired rounds."
    lines = [
        "# Loading against training",
        "",
        f"{result['date']}, commit {result['commit']}, {machine}, `{result['command']}`.",
        f"Source: {result['source']}, {result['samples']} images at {result['size']} pixels, {result['rounds']} rounds. {method}",
        f"Versions: {versions}.",
        "",
        "| asked for | found | verdict |",
        "|---|---|---|",
        *(f"| {what} | {found} | {verdict} |" for what, found, verdict in verdicts(result)),
        "",
        "| augmentation | µs per sample | quartiles | added µs | share of the loader's time |",
        "|---|---|---|---|---|",
    ]
    for row in result["loader"]:
        low, median, high = row["us_per_sample"]
        lines.append(
            f"| {row['augmentation']} | {median:.0f} | {low:.0f}–{high:.0f} | {row['added_us']:+.0f} | {row['share']:.1%} |"
        )
    lines += ["", "| network | device | images | µs per image of a training step | quartiles |", "|---|---|---|---|---|"]
    for row in result["steps"]:
        low, median, high = row["us_per_image"]
        lines.append(f"| {row['model']} | {row['device']} | {row['batch']} | {median:,} | {low:,}–{high:,} |")
    return "\n".join(lines) + "\n"


def _write(result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{result['date'][:10]}-{'synthetic' if result['source'].startswith('synthetic') else result['source']}"
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    (folder / f"{name}.md").write_text(markdown(result), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
