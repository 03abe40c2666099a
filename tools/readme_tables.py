"""Fill the marked parts of three pages (README, speed, recipe) from the files of measurements: `python -m tools.readme_tables`.

Each part stands between `<!-- table: name -->` and `<!-- end -->`. A test compares the pages with what this makes.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import collections_report, loader_report
from benchmarks import spaces as spaces_benchmark
from benchmarks.arms import AUDIT, PUBLIC_CALL, THREE_STEPS
from benchmarks.memory import MIB
from benchmarks.report import losses
from recolorist_lab.report.pages import fill
from recolorist_lab.report.table import Column, Table, label
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies import publish
from recolorist_lab.studies.shift import page as shift_page
from recolorist_lab.studies.shift import recipe as shift_recipe
from recolorist_lab.studies.shift import scores as shift_scores
from recolorist_lab.studies.shift.scores import NETWORKS, Scores

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
RECIPE: Final = ROOT / "docs" / "recipe.md"
SPEED: Final = ROOT / "docs" / "speed.md"
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
    THREE_STEPS: "`recolorist.apply(plan(measure))`, style known",
    AUDIT: "`recolorist.audit`, plan known",
    "recolorist.match, covariance, style known": "`recolorist.match`, full covariance, style known",
    "NumPy fallback: match, style known": "`recolorist.match` without a compiler (NumPy fallback)",
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
#: Columns of the recipe: heading, method and test set.
WAYS: Final = (
    ("RandAugment", "RandAugment", "test"),
    ("Colorist + RandAugment", shift_page.TOGETHER, "test"),
    ("`own_style` + RandAugment", shift_page.LARGEST, "test"),
    ("gate alone", "Baseline", "test_gated"),
    ("RandAugment, gate", "RandAugment", "test_gated"),
    ("Colorist + RandAugment, gate", shift_page.TOGETHER, "test_gated"),
    ("`own_style` + RandAugment, gate", shift_page.LARGEST, "test_gated"),
)
#: Rows and columns of the README's table of the shift study: name and method, heading and (test set, network).
SHIFT_ROWS: Final = {
    "no augmentation": shift_scores.BASELINE,
    "Colorist": "Colorist",
    "RandAugment": "RandAugment",
    "Colorist + RandAugment": shift_page.TOGETHER,
    "`own_style` + RandAugment": shift_page.LARGEST,
}
SHIFT_COLUMNS: Final = {
    "from scratch": ("test", "network"),
    "harmonised": ("test_gated", "network"),
    "frozen features": ("test", "head"),
    "harmonised ": ("test_gated", "head"),
}
#: Arms that the README itself shows.
FEW_ARMS: Final = (
    PUBLIC_CALL,
    "OpenCV meanStdDev + transform, style known",
    "Albumentations ColorJitter",
    "JPEG decode, Pillow",
    "scikit-image match_histograms",
    "colorist-aug, tensor",
    "torchvision ColorJitter, Pillow",
)
USUAL: Final = "decode, ToImage, ToDtype, Normalize (no augmentation)"
FUSED: Final = "ToNormalizedTensor with Colorist, p = 0.3 (fused)"


def newest(folder: Path) -> tuple[Path, Plain] | None:
    """The newest result file of a benchmark, and what is in it; names begin with their date, quick runs do not count."""
    found = sorted(path for path in folder.glob("*.json") if "quick" not in path.stem)
    return (found[-1], json.loads(found[-1].read_text("utf-8"))) if found else None


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
    page = f"Every size, float32, memory and all arms: `{_page_of(path)}`."
    return textwrap.fill(f"{words} {page}", WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def speed() -> str:
    """Medians at 256 × 256, 8 bits, and how far the output's mean is from the style's."""
    found, ours = _at_256()
    body = []
    for arm, name in sorted(_arms(found), key=lambda item: found[item[0]]["cpu_us"][1]):
        row = found[arm]
        error = "" if row["mean_error"] is None else f"{row['mean_error']:.2f}"
        body.append([name, digits(row["cpu_us"][1]), digits(row["cpu_us"][1] / ours, 2), error])
    return text_table(["one tile", "µs", "× ours", "mean off by, levels"], body)


def speed_in_short() -> str:
    """The table of the README: few arms, where we lose, and the loader."""
    plain = _timed()[1]
    found, ours = _at_256()
    body = [
        [name, digits(found[arm]["cpu_us"][1]), digits(found[arm]["cpu_us"][1] / ours, 2)]
        for arm, name in sorted(_arms(found), key=lambda item: found[item[0]]["cpu_us"][1])
        if arm in FEW_ARMS
    ]
    words = (
        f"8 bits, one thread, {plain['cpu']}, {plain['date']}. {_lost_in_short()}{_loader_in_short()}"
        "[All figures, versions and the machine](docs/speed.md)."
    )
    table = text_table([f"one {SIZE} × {SIZE} tile", "µs", "× ours"], body)
    return f"{table}\n{textwrap.fill(words, WIDTH, break_on_hyphens=False, break_long_words=False)}\n"


def _lost_in_short() -> str:
    ratios: dict[str, list[tuple[int, float]]] = {}
    for arm, _, size, ratio in losses(_timed()[1]):
        ratios.setdefault(arm.partition(" ")[0], []).append((size, ratio))
    parts = []
    for name, places in ratios.items():
        (sizes, shares), count = zip(*places, strict=True), len(places)
        where = f"at {min(sizes)}" if min(sizes) == max(sizes) else f"at {min(sizes)} to {max(sizes)}"
        parts.append(f"{name} in {count} of all rows ({where} pixels; {min(shares):.2f} of our time at best)")
    return f"Faster than ours: {'; '.join(parts)}. " if parts else ""


def _loader_in_short() -> str:
    newer = newest(BENCHMARKS / "loader")
    if newer is None:
        return ""
    found = {row["arm"]: row for row in newer[1]["pipelines"]}
    return (
        f"From JPEG to tensor, our fused transform with Colorist has {1 / found[FUSED]['time_ratio']:.2f} times the "
        "throughput of the usual torchvision pipeline without augmentation. "
    )


def _at_256() -> tuple[dict[str, Any], float]:
    found = {row["arm"]: row for row in _timed()[1]["results"] if (row["dtype"], row["size"]) == ("uint8", SIZE)}
    return found, float(found[PUBLIC_CALL]["cpu_us"][1])


def _arms(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(arm, name) for arm, name in ARMS.items() if arm in found]


def _page_of(path: Path) -> str:
    return path.with_suffix(".md").relative_to(ROOT).as_posix()


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
    return "".join(lines) or "Nowhere in this run.\n"


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
    missed = [f"{what}: {got} {verdict.removeprefix('missed ')}" for what, got, verdict in judged if verdict != "met"]
    words = f" Missed: {'; '.join(missed)}." if missed else ""
    page = f"{plain['source']}; more in `{_page_of(path)}`.{words}\n"
    return text_table(["JPEG file to normalised tensor, p = 0.3", "µs a sample", "throughput"], body) + "\n" + page


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
    return f"{text_table(head, body)}\nMore in `{_page_of(path)}`.\n"


def spaces() -> str:
    """Return what every space and method costs, stain normalisers beside CIELAB, and the targets that were missed."""
    newer = newest(BENCHMARKS / "spaces")
    if newer is None:
        return ""
    path, plain = newer
    figures = {(space, name): value for space, name, value in ((*key.split(" ", 1), us) for key, us in plain["cpu_us"].items())}
    judged = spaces_benchmark.goals(figures)
    missed = [goal for goal in judged if goal.is_met is False]
    lines = [f"- {goal.text}: {goal.value:.3g}, aim {'≤' if goal.at_most else '≥'} {goal.limit:g}" for goal in missed]
    memory: dict[str, float] = {}
    for key, extra in plain["bytes_beyond_output_at_2048"].items():  # such as "match, lab, histogram uint8"
        method = key.rpartition(" ")[0].rpartition(", ")[2]
        memory[method] = max(memory.get(method, 0.0), extra / MIB)
    limit = spaces_benchmark.MEMORY_LIMIT
    lines += [
        f"- MiB beyond the output, 2048², {name}: {most:.0f}, aim ≤ {limit}" for name, most in memory.items() if most > limit
    ]
    count = len(judged) + len(memory)
    words = f"{plain['about']}; `{_page_of(path)}` has every target. Of {count} targets these were missed:"
    return "\n".join([*spaces_benchmark.space_table(figures), "", words, "", *lines, ""])


def shift() -> str:
    """Return what the shift study found: gains with their intervals, and the accuracy that they are added to."""
    rows, _ = publish.read((RESULTS / "shift.json").read_bytes())
    scores = shift_scores.collect(shift_page.whole_seeds(rows))
    targets = len(scores.gains(shift_scores.BASELINE, network="network"))
    before = (f"{100 * (scores.mean(shift_scores.BASELINE, network=key) or 0.0):.1f} % {name}" for key, name in NETWORKS.items())
    home = (scores.difference(shift_page.LARGEST, "source", network=key) for key in NETWORKS)
    at_home = " and ".join(f"{100 * change.mean:+.1f}" for change in home if change is not None)
    words = (
        f"Gains in balanced accuracy on {targets} unseen domains over no augmentation ({', '.join(before)}), in points, with "
        f"95 % intervals; at home `own_style` changes it by {at_home}. More: [study](docs/results/shift.md), "
        "[recipe](docs/recipe.md)."
    )
    body = [[name, *(_gain(scores, method, *way) for way in SHIFT_COLUMNS.values())] for name, method in SHIFT_ROWS.items()]
    text = textwrap.fill(words, WIDTH, break_on_hyphens=False, break_long_words=False)
    return f"{text}\n\n{text_table(['trained with', *SHIFT_COLUMNS], body)}"


def _gain(scores: Scores, method: str, scored: str, network: str) -> str:
    """Return a gain and its interval in points; nothing where nothing is gained by definition."""
    found = scores.difference(method, scored, network=network)
    if found is None or (method, scored) == (shift_scores.BASELINE, "test"):
        return ""
    return f"{100 * found.mean:+.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def recipe() -> str:
    """Make the table of the recipe: what each way of training and deploying gave on the nine targets."""
    return markdown(shift_recipe.recipe_table(_confirmed(), WAYS))


def cases() -> str:
    """Make the table of what to do in each case."""
    return markdown(shift_recipe.cases_table(_confirmed()))


def _confirmed() -> list[Any]:
    rows, _ = publish.read((RESULTS / "shift.json").read_bytes())
    return shift_page.whole_seeds(rows)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of cells that are Markdown already; the first column is flush left."""
    return markdown(Table([label(head[0]), *(Column(name) for name in head[1:])], rows))


def _timed() -> tuple[Path, Plain]:
    found = newest(BENCHMARKS)
    if found is None:
        raise SystemExit("there is no result of `make bench` in benchmarks/results")
    return found


#: Every part by its page and mark.
PARTS: Final[Mapping[Path, Mapping[str, Callable[[], str]]]] = {
    README: {"shift": shift, "speed": speed_in_short},
    RECIPE: {"gains": recipe, "cases": cases},
    SPEED: {"machine": machine, "speed": speed, "lost": lost, "spaces": spaces, "loader": loader, "collections": collections},
}


def filled(page: Path) -> str:
    """Return the text of a page with every part made anew."""
    return fill(page.read_text("utf-8"), {name: part() for name, part in PARTS[page].items()})


def main() -> None:
    """Write both pages."""
    for page, parts in PARTS.items():
        page.write_text(filled(page), "utf-8")
        print(f"{page.relative_to(ROOT)}: {len(parts)} parts made from benchmarks/results and docs/results")


if __name__ == "__main__":
    main()
