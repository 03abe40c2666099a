"""`python -m benchmarks.training_step`: what `channels_last` and `torch.compile` change in the time of a training step.

A step is what the trainer does with a minibatch of random images: forward, cross-entropy, backward, AdamW. The cases of a model
take turns in shuffled rounds of one run. The first step of a case is timed apart: compiled, it includes the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.loader_report import stamp

COMMAND: Final = "python -m benchmarks.training_step"
FORMS: Final = (("contiguous", False), ("channels_last", False), ("channels_last", True))  # memory format, and whether compiled


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write the figures."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--models", nargs="+", default=["resnet18", "densenet121"])
    parser.add_argument("--compiled", nargs="*", default=["resnet18", "densenet121"], help="models that are also compiled")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training_step")
    asked = parser.parse_args(arguments)
    import torch

    result = {
        **stamp(),
        "command": " ".join([COMMAND, *(sys.argv[1:] if arguments is None else arguments)]),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "batch": asked.batch,
        "size": asked.size,
        "rounds": asked.rounds,
        "steps": [row for model in asked.models for row in steps(model, asked, is_compiled=model in asked.compiled)],
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"{result['date'][:10]}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    path.with_suffix(".md").write_text(markdown(result), "utf-8")
    print(markdown(result))
    return 0


def steps(model: str, asked: argparse.Namespace, *, is_compiled: bool) -> list[dict[str, Any]]:
    """Time the steps of one model in every form."""
    forms = [form for form in FORMS if is_compiled or not form[1]]
    cases = {form: _make_step(model, *form, batch=asked.batch, size=asked.size) for form in forms}
    first = {case: _seconds(step) for case, step in cases.items()}
    taken: dict[Any, list[float]] = {case: [] for case in cases}
    order = random.Random(1)
    for _ in range(asked.rounds):
        for case in order.sample(list(cases), len(cases)):
            taken[case].append(_seconds(cases[case]))
    return [
        {
            "model": model,
            "memory_format": form,
            "compiled": compiled,
            "first_s": round(first[form, compiled], 2),
            "image_ms": [
                round(float(1e3 * value / asked.batch), 2) for value in np.percentile(taken[form, compiled], [25, 50, 75])
            ],
        }
        for form, compiled in cases
    ]


def _make_step(model: str, form: str, compiled: bool, *, batch: int, size: int) -> Callable[[], None]:
    import torch

    from recolorist_lab.training.models import build

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = build(model, 8, own_head=False).to(device)
    if form == "channels_last":
        network.use_channels_last()
    if compiled:
        network.compile()
    optimiser = torch.optim.AdamW(network.parameters())
    images, targets = torch.rand(batch, 3, size, size, device=device), torch.arange(batch, device=device) % 8

    def step() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(network(images), targets))
        optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def _seconds(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def markdown(result: dict[str, Any]) -> str:
    """Write the result as a page."""
    load = result["load_average"][0]
    machine = f"{result['cpu']} ({result['simd']}), {result['cores']} cores, load average {load:.2f} at the start"
    lines = [
        "# A training step: memory format and compilation",
        "",
        f"{result['date']}, commit {result['commit']}, {machine}, torch {result['versions']['torch']}, `{result['command']}`.",
        f"{result['batch']} images of {result['size']} pixels, {result['threads']} threads, device {result['device']};",
        f"medians of {result['rounds']} shuffled rounds. Compare rows of one model only.",
        "The first step of a compiled network includes the compiler.",
        "",
        "| model | memory format | compiled | first step, s | ms an image | quartiles | against contiguous, not compiled |",
        "|---|---|---|---|---|---|---|",
    ]
    plain = {row["model"]: row["image_ms"][1] for row in reversed(result["steps"])}  # of the first form, which comes last here
    for row in result["steps"]:
        low, median, high = row["image_ms"]
        form = f"{row['memory_format']} | {'yes' if row['compiled'] else 'no'} | {row['first_s']:.1f}"
        lines.append(f"| {row['model']} | {form} | {median:.1f} | {low:.1f}–{high:.1f} | {median / plain[row['model']]:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
