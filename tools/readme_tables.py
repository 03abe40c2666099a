"""Fill the marked parts of README.md from the files of measurements and results. Run as `python -m tools.readme_tables`.

Each part stands between `<!-- table: name -->` and `<!-- end -->`. The part of a study without a file in docs/results is empty;
when its JSON is there, this command fills it, title included. A test holds README.md against what this makes.
"""

from __future__ import annotations

import json
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import collections_report, loader_report
from benchmarks.arms import PUBLIC_CALL
from benchmarks.report import losses
from recolorist_lab.report.pages import fill
from recolorist_lab.report.table import Table
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies import publish
from recolorist_lab.studies.classify import hospitals as hospitals_table
from recolorist_lab.studies.properties import table as properties_table
from recolorist_lab.studies.runtime import table as runtime_table
from recolorist_lab.studies.transfer import table as transfer_table
from tools import blood_results

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
RESULTS: Final = ROOT / "docs" / "results"
BENCHMARKS: Final = ROOT / "benchmarks" / "results"
SIZE: Final = 256
WIDTH: Final = 130
PEERS: Final = (
    *("numpy", "pillow", "opencv-python-headless", "scikit-image", "albumentations", "torch", "torchvision"),
    "colorist-aug",
)
Plain = Mapping[str, Any]

#: Arms of the benchmark, and what the README calls them.
ARMS: Final = {
    "memcpy (np.copyto)": "`memcpy`, the floor",
    PUBLIC_CALL: "**`recolorist.match`, style known**",
    "recolorist.match, style image": "`recolorist.match`, style measured too",
    "recolorist.match, covariance, style known": "`recolorist.match`, full covariance, style known",
    "NumPy twin: match, style known": "`recolorist.match` without a compiler (NumPy twin)",
    "OpenCV meanStdDev + transform, style known": "OpenCV `meanStdDev` + `transform`, style known",
    "JPEG decode, Pillow": "decoding the tile's JPEG with Pillow",
    "Albumentations ColorJitter": "Albumentations `ColorJitter`",
    "scikit-image match_histograms": "scikit-image `match_histograms`",
    "Albumentations HistogramMatching": "Albumentations `HistogramMatching`",
    "colorist-aug, tensor": "`colorist-aug`, its fastest input (tensor)",
    "torchvision ColorJitter, Pillow": "torchvision `ColorJitter`, its faster input (Pillow)",
    "NumPy float64, style known": "the formula in plain NumPy, style known",
    "Albumentations PixelDistributionAdaptation(standard)": "Albumentations `PixelDistributionAdaptation`",
}
#: Pipelines of the loader's benchmark.
PIPELINES: Final = {
    "decode, ToImage, ToDtype, Normalize (no augmentation)": "the usual torchvision pipeline, no augmentation",
    "ToNormalizedTensor with Colorist, p = 0.3 (fused)": "**with Colorist, fused (`recolorist.torch.ToNormalizedTensor`)**",
    "with recolorist.Colorist, p = 0.3": "with Colorist, not fused",
    "with recolorist.torchvision.Colorist, p = 0.3": "with `recolorist.torchvision.Colorist`",
    "with recolorist.torch.ColoristDataset, batches of 32, p = 0.3": "with `recolorist.torch.ColoristDataset`, by batches",
    "with recolorist.torch.ColoristDataset, batches of 32, p = 0, which augments nothing": "the same, augmenting nothing",
    "with colorist-aug's RandomColorTransfer and dataset wrapper, p = 0.3": "with `colorist-aug`'s dataset wrapper",
}
#: Rows of the study of blood cells: the best, the baseline, every plain use of Colorist, and what lost.
BLOOD: Final[tuple[blood_results.Key, ...]] = (
    ("plain", "colorist+color_jitter"),
    ("plain", "augmix"),
    ("plain", "trivialaugment"),
    ("erm", "colorist"),
    ("plain", "autoaugment"),
    ("plain", "colorist(p=1.0)"),
    ("plain", "color_jitter"),
    ("plain", "colorist"),
    ("erm", "none"),
    ("plain", "none"),
    ("plain", "histogram"),
    ("plain", "gray_scale"),
)
#: Sets of images of the study of properties.
IMAGES: Final = {
    "pathmnist28": "histology, PathMNIST test, 28 pixels enlarged",
    "histology": "histology, public H&E tiles",
    "acevedo20": "blood cells, Acevedo 2020",
    "tecom": "blood cells, Zheng 2018 (rapid stain)",
    "deepdrid": "fundus, DeepDRiD",
    "idrid": "fundus, IDRiD",
    "breast_ultrasound": "breast ultrasound, grey",
    "pneumoniamnist28": "chest X-ray, PneumoniaMNIST, 28 pixels enlarged",
    "synthetic": "synthetic hospitals",
}


def newest(folder: Path) -> tuple[Path, Plain] | None:
    """The newest result file of a benchmark, and what is in it; names begin with their date, quick runs do not count."""
    found = sorted(path for path in folder.glob("*.json") if "quick" not in path.stem)
    return (found[-1], json.loads(found[-1].read_text("utf-8"))) if found else None


def rows_of(name: str) -> list[Any] | None:
    """The rows of a study, if its results are here."""
    path = RESULTS / f"{name}.json"
    return list(publish.read(path.read_bytes())[0]) if path.is_file() else None


def digits(value: float, count: int = 3) -> str:
    """A number to so many digits that count.

    >>> digits(27.69), digits(4577.9), digits(0.158, 2)
    ('27.7', '4,580', '0.16')
    """
    rounded = float(f"{value:.{count}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (count - 1) else f"{rounded:g}"


def versions(plain: Plain, *names: str) -> str:
    """Named versions of a record."""
    return ", ".join(f"{name} {plain['versions'][name]}" for name in names)


def machine() -> str:
    """Where and with what the table of speed was measured."""
    path, plain = _timed()
    shown = versions(plain, *PEERS)
    quiet = f"wall time over processor time {plain['wall_over_cpu']:.2f}"
    words = (
        f"One {SIZE} × {SIZE} × 3 tile of 8 bits, one thread, one run (`make bench`) on {plain['date']}: {plain['cpu']} "
        f"({plain['simd']}), {plain['system']}, {quiet}, Python {plain['versions']['python']}, {shown}."
    )
    page = f"Every size, float32, memory and all arms: [{path.stem}]({path.with_suffix('.md').relative_to(ROOT).as_posix()})."
    return textwrap.fill(f"{words} {page}", WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def speed() -> str:
    """Medians at 256 × 256, 8 bits, and how far the output's mean is from the style's."""
    _, plain = _timed()
    found = {row["arm"]: row for row in plain["results"] if (row["dtype"], row["size"]) == ("uint8", SIZE)}
    ours = found[PUBLIC_CALL]["cpu_us"][1]
    body = []
    for arm, name in sorted(ARMS.items(), key=lambda item: found[item[0]]["cpu_us"][1]):
        row = found[arm]
        error = "" if row["mean_error"] is None else f"{row['mean_error']:.2f}"
        body.append([name, digits(row["cpu_us"][1]), digits(row["cpu_us"][1] / ours, 2), error])
    return blood_results.text_table(["one tile", "µs", "× ours", "mean off by, levels"], body)


def lost() -> str:
    """Every arm that is faster than ours somewhere."""
    ratios: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for arm, dtype, size, ratio in losses(_timed()[1]):
        ratios.setdefault((arm, dtype), []).append((size, ratio))
    lines = []
    for (arm, dtype), places in ratios.items():
        sizes, shares = [size for size, _ in places], [share for _, share in places]
        where = f"at {sizes[0]} pixels" if len(sizes) == 1 else f"from {min(sizes)} to {max(sizes)} pixels"
        span = f"{min(shares):.2f}" if len(shares) == 1 else f"{min(shares):.2f} to {max(shares):.2f}"
        lines.append(f"- {arm}, {dtype}, {where}: {span} of our time.\n")
    return "".join(lines)


def loader() -> str:
    """Whole samples through a loader, and the targets that were missed."""
    newer = newest(BENCHMARKS / "loader")
    if newer is None:
        return ""
    path, plain = newer
    found = {row["arm"]: row for row in plain["pipelines"]}
    body = [
        [name, digits(found[arm]["us_per_sample"][1]), f"{1 / found[arm]['time_ratio']:.2f}"]
        for arm, name in PIPELINES.items()
        if arm in found
    ]
    judged = loader_report.verdicts(dict(plain))
    missed = [f"{what}: {got} {said.removeprefix('missed ')}" for what, got, said in judged if said != "met"]
    words = f" Missed: {'; '.join(missed)}." if missed else ""
    page = f"[All of it]({path.with_suffix('.md').relative_to(ROOT).as_posix()}), {plain['source']}.{words}\n"
    return blood_results.text_table(["JPEG file to normalised tensor, p = 0.3", "µs a sample", "throughput"], body) + "\n" + page


def collections() -> str:
    """Folders of files beside a loop that only decodes, or decodes and encodes."""
    newer = newest(BENCHMARKS / "collections")
    if newer is None:
        return ""
    path, plain = newer
    body = []
    for found in plain["folders"]:
        for arm, (yardstick, least) in collections_report.TARGETS.items():
            shares = [f"{collections_report.ratio(found[clock], arm, yardstick):.2f}" for clock in ("cpu", "wall")]
            body.append([f"{arm}, {found['folder']}", yardstick, *shares, f"{least:.2f}"])
    head = ["command, images", "beside a loop that does", "throughput, one process", "all cores", "aim"]
    page = path.with_suffix(".md").relative_to(ROOT).as_posix()
    return f"\nWhole folders of files ([all of it]({page})):\n\n" + blood_results.text_table(head, body)


def blood() -> str:
    """Balanced accuracy on the other laboratory."""
    document = json.loads((RESULTS / "blood.json").read_text("utf-8"))
    runs = blood_results.grouped(document)
    base = [blood_results.accuracy("target")(row) for row in runs[blood_results.NOTHING]]
    body = []
    for key in sorted(BLOOD, key=lambda key: -statistics.mean(map(blood_results.accuracy("target"), runs[key]))):
        target = [blood_results.accuracy("target")(row) for row in runs[key]]
        matched = [blood_results.accuracy("target_harmonised")(row) for row in runs[key]]
        better = sum(own > other for own, other in zip(target, base, strict=True))
        against = "" if key == blood_results.NOTHING else f"{better} of {len(base)}"
        body.append([blood_results.named(key), blood_results.spread(target), against, blood_results.spread(matched)])
    return blood_results.text_table(
        ["trained with", "other laboratory, %", "better than `none`", "the same, images harmonised"], body
    )


def properties() -> str:
    """What clipping leaves of the correlation, on our images under the paper's equation."""
    rows = rows_of("properties") or []
    chosen = [row for row in rows if str(row["grid"]).partition("-")[0] == "paper" and row["size"] == 224]
    body = [
        [
            IMAGES[properties_table.titled(str(row["dataset"]))],
            str(row["result.pairs"]),
            f"{row['result.pearson_after_mean']:.4f}",
            f"{row['result.pearson_after_min']:.2f}",
            f"{100 * row['result.clipped_values']:.2f} %",
        ]
        for row in chosen
    ]
    return blood_results.text_table(["images", "pairs", "mean correlation kept", "worst channel", "values clipped"], body)


def hospitals() -> str:
    """Synthetic hospitals, if they were run."""
    words = "Drawings, not patients: three hospitals train, two are never seen. Balanced accuracy; guessing gives 0.25."
    return _study("hospitals", "Does it help on synthetic hospitals?", words, hospitals_table.methods)


def transfer() -> str:
    """Colorist beside the thirteen networks, if that was run."""
    rows = rows_of("transfer") or []
    steps = sorted({row["result.steps"] for row in rows if "result.steps" in row})
    words = (
        f"**A small budget and not what the networks can do:** {' to '.join(map(str, steps))} training steps each, on blood "
        "cells and two cores. In brackets the paper's figures, from full training on other images. The last row does nothing at "
        "all: FID and ArtFID like that best, the Wasserstein distance to the style does not."
    )
    return _study("transfer", "Is it a good transfer?", words, transfer_table.table)


def runtime() -> str:
    """Time of one image beside the networks, if that was run."""
    words = (
        "One image at a time at each network's own size, two cores, no GPU. Ratios differ from the paper's mostly because "
        "Colorist is faster here."
    )
    return _study("runtime", "What does it cost?", words, _latency)


def _latency(rows: Sequence[Any]) -> str:
    chosen = [row for row in rows if (row["grid"], row["device"]) == ("latency", "cpu")]
    ours = next(runtime_table.figure_of(row, "mean_ms") for row in chosen if row["method"] == "colorist")
    paper = runtime_table.printed_of("colorist", "cpu")
    body = []
    for row in chosen:
        mean, printed = runtime_table.figure_of(row, "mean_ms"), runtime_table.printed_of(str(row["method"]), "cpu")
        theirs = "" if printed is None or paper is None else digits(printed.mean / paper.mean, 2)
        body.append([runtime_table.title(str(row["method"])), digits(mean), digits(mean / ours, 2), theirs])
    return blood_results.text_table(["method, one image on a processor", "ms", "× Colorist", "× Colorist in the paper"], body)


def _study(name: str, title: str, words: str, table: Callable[[list[Any]], Table | str]) -> str:
    rows = rows_of(name)
    if rows is None:
        return ""
    place = f"docs/results/{name}.md" if (RESULTS / f"{name}.md").is_file() else f"docs/results/{name}.json"
    made = table(rows)
    return f"\n**{title}** {words} [All of it]({place}).\n\n{made if isinstance(made, str) else markdown(made)}"


def _timed() -> tuple[Path, Plain]:
    found = newest(BENCHMARKS)
    if found is None:
        raise SystemExit("there is no result of `make bench` in benchmarks/results")
    return found


#: Every part by its mark.
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "speed-machine": machine,
    "speed": speed,
    "speed-lost": lost,
    "loader": loader,
    "collections": collections,
    "blood": blood,
    "properties": properties,
    "hospitals": hospitals,
    "transfer": transfer,
    "runtime": runtime,
}


def filled(page: str) -> str:
    """The page with every part made anew."""
    return fill(page, {name: part() for name, part in PARTS.items()})


def main() -> None:
    """Write it."""
    README.write_text(filled(README.read_text("utf-8")), "utf-8")
    print(f"{README.name}: {len(PARTS)} parts made from benchmarks/results and docs/results")


if __name__ == "__main__":
    main()
