"""`python -m benchmarks.loader`: what a training loop pays per sample, with and without Colorist, and what each adapter adds.

Real JPEG files (``--data``, a folder; else synthetic tiles) are decoded from memory by Pillow and end as normalised float32
tensors. All arms share one DataLoader set-up, one tail, one process, and take turns in shuffled rounds; the figure is thread CPU
time per sample. Ratios are of paired rounds.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

import recolorist as rc
from benchmarks import environment
from benchmarks.loader_report import markdown, stamp
from benchmarks.measure import time_calls
from recolorist.demo import synthetic

MEAN: Final = (0.485, 0.456, 0.406)
STD: Final = (0.229, 0.224, 0.225)
ROUNDS: Final = 25
Call = Callable[[], object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write the figures."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loader", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("RECOLORIST_DATA"), help="folder of JPEG files")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "loader")
    options = parser.parse_args(given)
    if environment.missing_settings():
        environment.restart_with_settings("benchmarks.loader", given)
    files, source = _files(options.data, options.samples)
    with environment.one_core() as pinned:
        sections = {
            "pipelines": _timed(_pipelines(files), options.rounds, len(files)),
            "adapters": _timed(_adapters(files), options.rounds, 1, calls=100),
            "batches": _timed(_batches(), max(5, options.rounds // 3), 64),
        }
    result = {"source": source, "samples": len(files), "rounds": options.rounds, "pinned": pinned, **stamp(), **sections}
    _write(result, options.out)
    _print(result, Console())
    return 0


def _files(folder: Path | None, count: int) -> tuple[list[bytes], str]:
    """JPEG files in memory, and where they came from."""
    paths = sorted(Path(folder).rglob("*.jpg")) if folder else []
    if paths:
        chosen = random.Random(0).sample(paths, min(count, len(paths)))
        return [path.read_bytes() for path in chosen], f"{len(chosen)} JPEG files of {Path(folder or '.').name}"
    tiles = [synthetic.tile(seed, list(synthetic.SCANNERS.values())[seed % 4], 256) for seed in range(8)]
    encoded = [_jpeg(tile) for tile in tiles]
    return [encoded[i % 8] for i in range(count)], "synthetic tiles, 256 x 256, JPEG quality 90"


def _jpeg(tile: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(tile).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _decoded(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _pipelines(files: list[bytes]) -> dict[str, Call]:
    """Whole passes over the files through a DataLoader in this process."""
    torch, v2 = environment.load("torch"), environment.load("torchvision.transforms.v2")
    from recolorist.torch import ToNormalizedTensor
    from recolorist.torchvision import Colorist as VisionColorist

    images = [_decoded(data) for data in files]
    bank = rc.StyleBank.build(images, split="train")
    core = rc.Colorist(bank, p=0.3, seed=0)
    tail = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    vision = v2.Compose(
        [v2.ToImage(), VisionColorist(bank, p=0.3), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    )
    fused, plain_fused = ToNormalizedTensor(MEAN, STD, core), ToNormalizedTensor(MEAN, STD)
    arms: dict[str, Callable[[int], Any]] = {
        "decode, ToImage, ToDtype, Normalize (no augmentation)": lambda i: tail(_decoded(files[i])),
        "with recolorist.Colorist, p = 0.3": lambda i: tail(core(_decoded(files[i]), index=i)),
        "with recolorist.torchvision.Colorist, p = 0.3": lambda i: vision(_decoded(files[i])),
        "ToNormalizedTensor with Colorist, p = 0.3 (fused)": lambda i: fused(_decoded(files[i]), index=i),
        "ToNormalizedTensor without augmentation (fused)": lambda i: plain_fused(_decoded(files[i])),
    }
    passes = {name: _pass(torch, get, len(files)) for name, get in arms.items()}
    for name, p in (("p = 0.3", 0.3), ("p = 0, which augments nothing", 0.0)):
        wrapped = rc.Colorist(bank, p=p, seed=0)
        passes[f"with recolorist.torch.ColoristDataset, batches of 32, {name}"] = _batched(torch, files, wrapped, tail)
    return passes | _authors(files, torch, v2)


def _batched(torch: Any, files: list[bytes], core: rc.Colorist, tail: Callable[[Any], Any]) -> Call:
    """The dataset wrapper, which fetches a batch before it matches; samples are not stacked, as in the other arms."""
    from recolorist.torch import ColoristDataset

    class Files(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(files)

        def __getitem__(self, i: int) -> NDArray[np.uint8]:
            return _decoded(files[i])

    data = ColoristDataset(Files(), core, transform=tail)
    loader = torch.utils.data.DataLoader(data, batch_size=32, collate_fn=list)
    return lambda: sum(1 for _ in loader)


def _authors(files: list[bytes], torch: Any, v2: Any) -> dict[str, Call]:
    """The authors' own wrapper, as its documentation shows it, on the same files and tail."""
    try:
        colorist = environment.load("colorist")
    except ImportError:
        return {}
    tv_tensors = environment.load("torchvision.tv_tensors")

    class Base(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(files)

        def __getitem__(self, i: int) -> Any:
            return tv_tensors.Image(torch.from_numpy(np.array(_decoded(files[i]))).permute(2, 0, 1)), 0

    steps = [
        v2.ToDtype(torch.float32, scale=True),
        colorist.RandomColorTransfer(color_space="rgb", p=0.3),
        v2.Normalize(MEAN, STD),
    ]
    wrapped = colorist.ColorTransferDataset(Base(), transform=v2.Compose(steps))
    return {
        "with colorist-aug's RandomColorTransfer and dataset wrapper, p = 0.3": _pass(torch, lambda i: wrapped[i][0], len(files))
    }


def _pass(torch: Any, get: Callable[[int], Any], count: int) -> Call:
    class Samples(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return count

        def __getitem__(self, i: int) -> Any:
            return get(i)

    loader = torch.utils.data.DataLoader(Samples(), batch_size=None)
    return lambda: sum(1 for _ in loader)


def _adapters(files: list[bytes]) -> dict[str, Call]:
    """One image through each adapter, always applied and never applied; images in the framework's own form, made beforehand."""
    torch = environment.load("torch")
    image = np.ascontiguousarray(_decoded(files[0])[:256, :256])
    bank = rc.StyleBank.build(
        [image, *(_decoded(data)[: image.shape[0], : image.shape[1]] for data in files[1:9])], split="train"
    )
    tensor = torch.from_numpy(image).permute(2, 0, 1).contiguous()
    moments = bank.moments(1)
    calls: dict[str, Call] = {"bare core: match(image, moments)": lambda: rc.match(image, moments)}
    for p in (1.0, 0.0):
        core = rc.Colorist(bank, p=p, seed=0)
        calls[f"recolorist.Colorist, p = {p:g}"] = lambda core=core: core(image)  # type: ignore[misc]
        for name, made in _frameworks(bank, p, image, tensor).items():
            calls[f"{name}, p = {p:g}"] = made
    return calls


def _frameworks(bank: rc.StyleBank, p: float, image: NDArray[np.uint8], tensor: Any) -> dict[str, Call]:
    frameworks: dict[str, Call] = {}
    try:
        environment.load("torchvision")
        from recolorist.torchvision import Colorist as Vision

        vision = Vision(bank, p=p)
        frameworks["torchvision"] = lambda: vision(tensor)
        environment.load("albumentations")
        from recolorist.albumentations import Colorist as Albumented

        album = Albumented(bank, p=p)
        frameworks["Albumentations"] = lambda: album(image=image)["image"]
        from recolorist.monai import RandColorist

        monai = RandColorist(bank, prob=p)
        frameworks["MONAI"] = lambda: monai(tensor)
    except ImportError:
        return frameworks
    return frameworks


def _batches() -> dict[str, Call]:
    """64 images of 224 x 224, uint8, on the processor: our module, the bare kernel in a loop, and the loop people write."""
    torch = environment.load("torch")
    from recolorist.torch import ColorMatch

    tiles = np.stack([synthetic.tile(seed, size=224) for seed in range(4)])
    bank = rc.StyleBank.build(tiles, split="train")
    batch = torch.from_numpy(np.concatenate([tiles] * 16)).permute(0, 3, 1, 2).contiguous()
    images, moments = list(np.concatenate([tiles] * 16)), bank.moments(0)
    module = ColorMatch(bank, p=1.0)
    mean, std = (torch.tensor(values[0] * 255, dtype=torch.float32)[:, None, None] for values in (bank.mean, bank.std))

    def naive() -> Any:
        results = []
        for one in batch:
            x = one.float()
            centre, spread = x.mean((1, 2), keepdim=True), x.std((1, 2), keepdim=True)
            results.append(((x - centre) / (spread + 1e-8) * std + mean).round().clamp(0, 255).to(torch.uint8))
        return torch.stack(results)

    return {
        "recolorist.torch.ColorMatch": lambda: module(batch),
        "match() image by image": lambda: [rc.match(one, moments) for one in images],
        "the formula in torch, image by image": naive,
    }


def _timed(arms: dict[str, Call], rounds: int, samples: int, calls: int = 1) -> list[dict[str, Any]]:
    """Shuffled rounds; microseconds of CPU time per sample, and each arm's paired ratio to the first."""
    order = random.Random(1)
    names = list(arms)
    for call in arms.values():
        call()
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            taken[name].append(time_calls(arms[name], calls).cpu / samples)
    first = taken[names[0]]
    rows = []
    for name in names:
        low, median, high = (float(v) for v in np.percentile(taken[name], [25, 50, 75]))
        differences = [a - b for a, b in zip(taken[name], first, strict=True)]
        rows.append(
            {
                "arm": name,
                "us_per_sample": [round(v, 2) for v in (low, median, high)],
                "time_ratio": round(statistics.median(a / b for a, b in zip(taken[name], first, strict=True)), 4),
                "added_us": round(statistics.median(differences), 2),
            }
        )
    return rows


def _write(result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = result["date"][:10]
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(markdown(result), encoding="utf-8")


def _print(result: dict[str, Any], console: Console) -> None:
    for section in ("pipelines", "adapters", "batches"):
        table = Table("arm", "µs per sample", "time, first = 1", "added µs", title=section)
        for row in result[section]:
            table.add_row(row["arm"], f"{row['us_per_sample'][1]:.1f}", f"{row['time_ratio']:.2f}", f"{row['added_us']:+.1f}")
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
