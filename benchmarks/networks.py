"""Time each of the thirteen networks beside a straightforward form of the released one, with the same weights.

`python -m benchmarks.networks [--rounds 5] [--side 64]`; then `python -m tools.networks_page` fills docs/networks.md.

The authors' code is not here. The other arm is written from descriptions of it: plain torch calls in the order in which the
released forward pass makes them, with its detours where they are known (all coefficients of Styleformer's bank, the passes for
the losses of StyTr2, singular values in WCT2, an unused last block in StylizingViT, whole images in ModFlows). Both arms run in
turn in shuffled rounds on one thread; the figure is the median over rounds of the ratio of CPU times, ours over theirs, with its
quartiles. Outputs must agree.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.loader_report import stamp
from recolorist_lab.baselines import METHODS, build
from recolorist_lab.baselines.networks.modflows_flow import ColourFlow
from recolorist_lab.baselines.networks.styleformer_modulation import COEFFICIENTS, GROUPS, LUMA, Bank, composed, grouped, sliced
from recolorist_lab.baselines.networks.styleformer_vgg import unstandardised
from recolorist_lab.baselines.statistics import adain
from recolorist_lab.baselines.vit import resized, synthesise

__all__ = ["REASONS", "RESULTS", "STRAIGHT", "compare", "main", "markdown"]

RESULTS: Final = Path(__file__).parent / "results" / "networks"

_AGREE: Final = 2e-3  # largest difference of two outputs, of a range of 1


def _adain(model: Any, content: Tensor, style: Tensor) -> Any:
    return model.decoder(adain(model.encoder(content), model.encoder(style)))


def _efdm(model: Any, content: Tensor, style: Tensor) -> Any:
    ours, theirs = model.encoder(content), model.encoder(style)
    order = ours.flatten(2).sort(dim=-1, stable=True).indices
    values = theirs.flatten(2).sort(-1).values
    return model.decoder(values.gather(-1, order.argsort(-1)).reshape(ours.shape))


def _attention(block: Any, content: Tensor, style: Tensor) -> Any:
    def norm(maps: Tensor) -> Tensor:
        deviation, mean = (maps.flatten(2).var(2) + 1e-5).sqrt()[..., None, None], maps.mean((2, 3), keepdim=True)
        return (maps - mean) / deviation

    query, key = block.f(norm(content)).flatten(2).permute(0, 2, 1), block.g(norm(style)).flatten(2)
    weights = functional.softmax(torch.bmm(query, key), -1)
    return block.out_conv(torch.bmm(block.h(style).flatten(2), weights.permute(0, 2, 1)).reshape(content.shape)) + content


def _sanet(model: Any, content: Tensor, style: Tensor) -> Any:
    ours, theirs, part = model.encoder.taps(content), model.encoder.taps(style), model.transform
    deep = functional.interpolate(_attention(part.sanet5_1, ours[4], theirs[4]), ours[3].shape[-2:], mode="nearest")
    joined = _attention(part.sanet4_1, ours[3], theirs[3]) + deep
    return model.decoder(part.merge_conv(functional.pad(joined, (1, 1, 1, 1), mode="reflect")))


def _mast(model: Any, content: Tensor, style: Tensor) -> Any:
    ours, theirs, part = model.encoder.taps(content, 4)[3], model.encoder.taps(style, 4)[3], model.transform
    return model.decoder(_attention(part.CA, _attention(part.CSA, ours, ours), part.SSA(theirs)))


def _artflow(model: Any, content: Tensor, style: Tensor) -> Any:
    return model.glow.reverse(adain(model.glow(content), model.glow(style)))


def _wct2(model: Any, content: Tensor, style: Tensor) -> Any:
    def transformed(site: str, ours: Tensor, theirs: Tensor, labels: object) -> Tensor:
        del site, labels
        out = []
        for one, other in zip(ours, theirs, strict=True):
            flat, goal = one.flatten(1).double(), other.flatten(1).double()
            centre, mean, unit = flat.mean(1, keepdim=True), goal.mean(1, keepdim=True), torch.eye(len(flat), dtype=torch.float64)
            own, values, _ = torch.linalg.svd((flat - centre) @ (flat - centre).T / (flat.shape[1] - 1) + unit)
            frame, wanted, _ = torch.linalg.svd((goal - mean) @ (goal - mean).T / (goal.shape[1] - 1) + unit)
            white = own @ torch.diag(values**-0.5) @ own.T @ (flat - centre)
            coloured = frame @ torch.diag(wanted**0.5) @ frame.T @ white + mean
            out.append(coloured.clamp(flat.min(), flat.max()).reshape(one.shape).to(one.dtype))
        return torch.stack(out)

    model.match, kept = transformed, model.match
    try:
        return model.transfer(content, style)
    finally:
        model.match = kept


def _styleformer(model: Any, content: Tensor, style: Tensor) -> Any:
    part = model.modulation
    ours, theirs = (model.encoder.taps(image)[2] for image in (content, resized(style, model.style_size)))
    values = part.att.convsr(part.coeffs(theirs).flatten(1, 2)).flatten(2)
    keys = part.att.keys(grouped(part.fcs(theirs))).flatten(2)
    own = grouped(part.fcc(ours))
    queries = part.att.queries(own)
    bank = Bank(values.unflatten(0, (-1, GROUPS)), keys.unflatten(0, (-1, GROUPS)))
    grid = composed(queries.flatten(2).unflatten(0, (-1, GROUPS)), bank).flatten(0, 1)
    grid = grid.reshape(*grid.shape[:2], *queries.shape[-2:])
    read = sliced(grid.reshape(len(grid), COEFFICIENTS, LUMA, *grid.shape[2:]), part.guide(own)[:, 0])
    out = own.sum(1, keepdim=True) * read[:, 0:32:2] + read[:, 1:32:2]
    return unstandardised(model.decoder(out.reshape(ours.shape)))


def _stytr2(model: Any, content: Tensor, style: Tensor) -> Any:
    out = model.transfer(content, style)
    again = [model.transfer(image, image) for image in (content, style)]
    for image in (content, style, out, *again):  # the released forward pass computes every loss, also to stylise
        model.encoder.taps(image)
    return out


def _modflows(model: Any, content: Tensor, style: Tensor) -> Any:
    def speed(flow: ColourFlow, colours: Tensor, at: float) -> Tensor:
        joined = torch.cat([colours, torch.full_like(colours[..., :1], at)], -1)
        hidden = torch.tanh(joined @ flow.first.transpose(1, 2) + flow.first_bias[:, None])
        return hidden @ flow.second.transpose(1, 2) + flow.second_bias[:, None]

    colours = content.flatten(2).transpose(1, 2)
    flows, steps = [model.flow_of(image) for image in (content, style)], model.steps
    for number in range(steps):
        colours = colours + speed(flows[0], colours, number / steps) / steps
    for number in range(steps):
        colours = colours - speed(flows[1], colours, 1 - number / steps) / steps
    return colours.clamp(0, 1).transpose(1, 2).reshape(content.shape)


def _contrimix(model: Any, content: Tensor, style: Tensor) -> Any:
    maps, stain = (
        net(-torch.log10(image.clamp(min=1e-6))) for net, image in zip(model.children(), (content, style), strict=True)
    )
    made = torch.bmm(stain, maps.flatten(2)).reshape(content.shape)
    return torch.pow(10.0, -made.clamp(-0.2, 6.0))


def _sgvits(model: Any, content: Tensor, style: Tensor) -> Any:
    tokens = [model.encoder(model.normalisation(resized(image, model.size))) for image in (content, style)]
    half = tokens[0].shape[-1] // 2
    out = model.normalisation.undo(synthesise(tokens[0][..., :half], tokens[1][..., half:]))
    return resized(out, (content.shape[-2], content.shape[-1]))


def _stylizingvit(model: Any, content: Tensor, style: Tensor) -> Any:
    encoder = model.encoder
    own, other = (encoder._tokens(model.normalisation(resized(image, model.size))) for image in (content, style))
    way = mixed = own
    for block in encoder.blocks:
        mixed = block(way, other)
        own, other = block(own, own), block(other, other)
        way = block(own, mixed)  # also after the last block, where nothing reads it
    out = model.normalisation.undo(model.decoded([encoder.norm(tokens) for tokens in (own, other, mixed)][2]))
    return resized(out, (content.shape[-2], content.shape[-1]))


#: The straightforward forward pass of every network.
STRAIGHT: Final[dict[str, Callable[[Any, Tensor, Tensor], Any]]] = {
    "adain": _adain,
    "artflow": _artflow,
    "efdm": _efdm,
    "iecontrast": _sanet,
    "mast": _mast,
    "sanet": _sanet,
    "styleformer": _styleformer,
    "stytr2": _stytr2,
    "contrimix": _contrimix,
    "sgvits": _sgvits,
    "stylizingvit": _stylizingvit,
    "modflows": _modflows,
    "wct2": _wct2,
}


#: Why a ratio is not 1, where both do not make the same calls.
REASONS: Final = {
    "efdm": "one sort less",
    "iecontrast": "the same calls as SANet",
    "styleformer": "of the bank, only the coefficients that are read",
    "stytr2": "the released forward pass also computes every loss",
    "stylizingvit": "no block whose output nobody reads",
    "modflows": "time is a part of the bias, tanh in place, 2,048 colours at a time",
    "wct2": "eigenvalues instead of singular values; features in float32",
}


def compare(name: str, side: int, rounds: int, **options: Any) -> dict[str, Any]:
    """Time one network in both forms, in shuffled rounds; return medians of CPU seconds, their ratio and the difference."""
    model = build(name, encoder="random", **options).eval()
    draw = torch.Generator().manual_seed(0)
    content, style = (torch.rand(1, 3, side, side, generator=draw) for _ in range(2))
    arms: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: model.transfer(content, style),
        "straightforward": lambda: STRAIGHT[name](model, content, style),
    }
    times: dict[str, list[float]] = {arm: [] for arm in arms}
    with torch.no_grad():
        outputs = {arm: call() for arm, call in arms.items()}  # also the warm-up
        difference = float((outputs["ours"] - outputs["straightforward"]).abs().max())
        for _ in range(rounds):
            for arm in random.sample(list(arms), len(arms)):
                start = time.process_time()
                arms[arm]()
                times[arm].append(time.process_time() - start)
    ratios = np.percentile(np.divide(times["ours"], times["straightforward"]), [25, 50, 75])
    return {
        "network": name,
        "side": side,
        **{arm: statistics.median(taken) for arm, taken in times.items()},
        "ratio": [round(float(ratio), 4) for ratio in ratios],
        "difference": difference,
    }


def markdown(result: dict[str, Any]) -> str:
    """Write the result as the part of docs/networks.md that it is."""
    load = result["load_average"][0]
    lines = ["| network | ours | straightforward | ratio | quartiles | why |", "|---|---:|---:|---:|---:|---|"]
    for row in result["rows"]:
        low, median, high = row["ratio"]
        figures = f"{row['ours']:.3g} | {row['straightforward']:.3g} | {median:.2f} | {low:.2f}–{high:.2f}"
        lines.append(f"| {METHODS[row['network']].title} | {figures} | {REASONS.get(row['network'], 'the same calls')} |")
    slower = [METHODS[row["network"]].title for row in result["rows"] if row["ratio"][0] > 1]
    worst = max(row["difference"] for row in result["rows"])
    words = [
        f"CPU seconds of one image of {result['rows'][0]['side']} pixels, one thread, medians of {result['rounds']} rounds.",
        f"Slower than the straightforward form, with all quartiles above 1: {', '.join(slower) or 'none'}.",
        f"Outputs agree to {worst:.0e}.",
        f"{result['cpu']}, {'quiet' if load <= 1.5 else 'busy'} (load {load:.1f}), torch {result['versions']['torch']},",
        f"commit {result['commit']}, {result['date'][:10]}.",
    ]
    text = textwrap.fill(" ".join(words), 150, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*lines, "", text]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare all networks, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", type=int, default=64, help="of the images; the transformers work at 224 inside")
    parser.add_argument("--only", nargs="*", default=list(METHODS.built_in), help="networks to compare")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    result: dict[str, Any] = {**stamp(), "command": "python -m benchmarks.networks", "rounds": given.rounds, "rows": []}
    for name in given.only:
        row = compare(name, given.side, given.rounds)
        if row["difference"] >= _AGREE:
            raise SystemExit(f"{name}: the outputs differ by {row['difference']:.1e}")
        result["rows"].append(row)
        print(f"{name}: {row['ratio'][1]:.2f}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"{result['date'][:10]}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(markdown(result))


if __name__ == "__main__":
    main()
