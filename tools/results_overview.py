"""Fill docs/results.md from the results of every study: `python -m tools.results_overview`.

The sentences between `<!-- table: name -->` and `<!-- end -->` hold the numbers of the page. A test checks them.
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from recolorist_lab.report.pages import fill
from recolorist_lab.studies import publish
from recolorist_lab.studies.runtime import table as runtime_table
from recolorist_lab.studies.shift import page as shift_page
from recolorist_lab.studies.shift import scores as shift_scores
from recolorist_lab.studies.transfer import page as transfer_page

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "results.md"
RESULTS: Final = ROOT / "docs" / "results"
WIDTH: Final = 130


def rows_of(name: str) -> list[Any]:
    """Return the rows of a study."""
    return list(publish.read((RESULTS / f"{name}.json").read_bytes())[0])


def shift() -> str:
    """Summarise the unseen laboratories, stains and clinics."""
    scores = shift_scores.collect(shift_page.whole_seeds(rows_of("shift")))
    words = _wrapped(
        "Nine targets of three tasks that no training image comes from: mean balanced accuracy, in per cent. *Harmonised* means "
        "that test images outside the bank were matched to it first."
    )
    table = ["| trained with | from scratch | harmonised | frozen features | harmonised |", "|:---|---:|---:|---:|---:|"]
    for title, method in (
        ("no augmentation", "Baseline"),
        ("Colorist", "Colorist"),
        ("RandAugment", shift_page.CHOSEN),
        ("Colorist + RandAugment", shift_page.TOGETHER),
        ("`own_style` + RandAugment", shift_page.LARGEST),
    ):
        values = [
            100 * (scores.mean(method, scored, network=network) or 0.0)
            for network in shift_scores.NETWORKS
            for scored in ("test", "test_gated")
        ]
        table.append(" | ".join([f"| {title}", *(f"{value:.1f}" for value in values)]) + " |")
    words += "\n" + "\n".join(table) + "\n"
    return f"{words}\n![Gains of every method on unseen domains](results/shift_gains.png)\n"


def hospitals() -> str:
    """Summarise the synthetic hospitals."""
    rows = rows_of("hospitals")
    unseen = {name: _unseen(rows, name) for name in ("none", "colorist", "color_jitter")}
    return _wrapped(
        "Drawings of three hospitals train, two others are never seen. Mean balanced accuracy at the unseen ones: "
        f"{unseen['none']:.3f} without augmentation, {unseen['colorist']:.3f} with Colorist, {unseen['color_jitter']:.3f} "
        "with colour jitter; guessing gives 0.25. The unseen colours lie outside those of the training hospitals, where "
        "Colorist has no styles to offer."
    )


def properties() -> str:
    """Summarise correlation and clipping."""
    rows = [row for row in rows_of("properties") if str(row["grid"]).partition("-")[0] == "paper" and row["size"] == 224]
    kept = [row["result.pearson_after_mean"] for row in rows]
    clipped = [100 * row["result.clipped_values"] for row in rows]
    return _wrapped(
        f"Before clipping, the correlation of every channel with itself is 1. After clipping its mean is {min(kept):.4f} to "
        f"{max(kept):.4f} on {len(rows)} sets of images. How much clips depends on the images: {min(clipped):.2f} to "
        f"{max(clipped):.2f} % of the values; the paper reports 2.35 %."
    )


def transfer() -> str:
    """Summarise the style-transfer networks."""
    rows = rows_of("transfer")
    steps = sorted({row["result.steps"] for row in rows if "result.steps" in row})
    ours = next(row for row in rows if row["method"] == "colorist")
    best = [metric for metric in transfer_page.best_methods(rows).get("Colorist", []) if metric in ("LPIPS", "SSIM")]
    verdict = "Colorist keeps the content best of all that change it" if len(best) == 2 else "Colorist, without training"
    return _wrapped(
        f"Thirteen style-transfer networks, trained for {steps[0]:,} to {steps[-1]:,} steps each on blood cells: a small "
        f"budget that does not show how good they can be. {verdict}: LPIPS "
        f"{ours['result.lpips']:.3f}, SSIM {ours['result.ssim']:.3f}."
    )


def runtime() -> str:
    """Summarise the time of one image."""
    rows = [row for row in rows_of("runtime") if (row["grid"], row["device"]) == ("latency", "cpu")]
    means = {str(row["method"]): runtime_table.figure_of(row, "mean_ms") for row in rows}
    networks = [mean for method, mean in means.items() if runtime_table.printed_of(method, "cpu") and method != "colorist"]
    return _wrapped(
        f"One image on two processor cores takes the networks {min(networks):,.0f} to {max(networks):,.0f} ms, and Colorist "
        f"{means['colorist']:.3f} ms."
    )


def _unseen(rows: list[Any], augmentation: str) -> float:
    plain = [row for row in rows if row["grid"] != "probability" and row["algorithm"] == "plain"]
    chosen = [row for row in plain if row["augmentation"] == augmentation]
    return statistics.mean(float(row[f"result.{name}.balanced_accuracy"]) for row in chosen for name in ("val_split", "test"))


def _wrapped(words: str) -> str:
    return textwrap.fill(words, WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


#: Every part by its mark.
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "shift": shift,
    "hospitals": hospitals,
    "properties": properties,
    "transfer": transfer,
    "runtime": runtime,
}


def filled(page: str) -> str:
    """Return the page with every part made anew."""
    return fill(page, {name: part() for name, part in PARTS.items()})


def main() -> None:
    """Write the page."""
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
