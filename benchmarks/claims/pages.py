"""The tables of the pages, made from the figures in `benchmarks/results/claims`: `python -m benchmarks.claims.pages` prints them.

A test demands that every line made here stands on its page, so that no number there can differ from what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from benchmarks.claims.images import RESULTS

__all__ = ["PAGES", "lines_of"]


def _gate(figures: dict[str, Any]) -> list[str]:
    lines = []
    keys = list(dict.fromkeys((row["classifier"], row["test"]) for row in figures["rows"]))
    for classifier, test in keys:
        arms = {row["arm"]: row for row in figures["rows"] if (row["classifier"], row["test"]) == (classifier, test)}
        never, gated = arms["never"], arms["gated"]
        low, high = (100 * value for value in never["interval"])
        cells = [
            classifier,
            f"{test} ({never['images']})",
            f"{100 * never['accuracy']:.1f} ({low:.0f} to {high:.0f})",
            *(f"{100 * arms[arm]['accuracy']:.1f} ({_signed(arms[arm]['gain_interval'])})" for arm in ("gated", "always")),
            str(gated["moved"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _signed(interval: list[float]) -> str:
    low, high = (f"{100 * value:+.0f}".replace("-", "−") for value in interval)
    return f"{low} to {high}"


def _privacy(figures: dict[str, Any]) -> list[str]:
    exact = [row for row in figures["attacks"] if row["bank"] == "exact"]
    lines = [f"| {row['copy']} | {100 * row['recognised']:.0f} % | {row['membership_auc']:.2f} |" for row in exact]
    forms = list(dict.fromkeys(row["bank"] for row in figures["attacks"]))
    for form in forms:
        values = [row["membership_auc"] for row in figures["attacks"] if row["bank"] == form]
        lines.append(f"| {form} | {' | '.join(f'{value:.2f}' for value in values)} |")
    gaussian = figures["gaussian"]
    return lines + [f"| {row['epsilon']:g} | {row['mean_error_levels']:.1f} | {row['deviation_ratio']:.2f} |" for row in gaussian]


def _samplers(figures: dict[str, Any]) -> list[str]:
    lines = []
    for row in figures["caps"]:
        shares = [f"{100 * row['capped']:.1f} %"]
        pairs = (("clipped_as_drawn", "clipped"), ("clipped_capped_as_drawn", "clipped_capped_draws"))
        for pair in pairs:
            shares += ["–" if row[key] is None else f"{100 * row[key]:.1f} %" for key in pair]
        lines.append(f"| {row['set']} | `{row['sampler']}` | {' | '.join(shares)} |")
    return lines


def _drift(figures: dict[str, Any]) -> list[str]:
    ours = ("images outside", "group shifted", "Hotelling T²", "Kolmogorov-Smirnov, Bonferroni")
    tests = (*ours, "alibi-detect KSDrift", "evidently DataDriftPreset")
    lines = []
    peers = json.loads((RESULTS / "drift_peers.json").read_text(encoding="utf-8"))["rows"]
    for row in [one | other for one, other in zip(figures["power"], peers, strict=True)]:
        rates = " | ".join(f"{100 * row[test]:.1f} %" for test in tests)
        lines.append(f"| {row['set']} | {row['change']} | {row['images']} | {row['shift_sds']:.2f} | {rates} |")
    for row in figures["small_banks"]:
        shares = (row["share_outside"], row["images outside"], row["group shifted"])
        lines.append(f"| {row['set']} | {row['bank']} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |")
    return lines


def _drift_days(figures: dict[str, Any]) -> list[str]:
    lines = []
    for row in figures["alarms_a_year"]:
        values = [str(value) for key, value in row.items() if key not in ("set", "images_a_day")]
        lines.append(f"| {row['set']} | {row['images_a_day']} | {' | '.join(values)} |")
    for row in figures["delays"]:
        values = ["–" if row[rule] is None else f"{row[rule]:g}" for rule in list(row)[4:]]
        lines.append(f"| {row['set']} | {row['change']} | {row['images_a_day']} | {' | '.join(values)} |")
    return lines


def _masks(figures: dict[str, Any]) -> list[str]:
    lines = []
    for row in figures["fundus"]:
        counts = [
            part for name in ("missing", "added") for part in (row[f"{name} > 0.01"], row[f"{name} > 0.05"], row[f"{name}, most"])
        ]
        cells = [f"{100 * count:.1f} %" if isinstance(count, float) else str(count) for count in counts]
        lines.append(f"| {row['set']} | {row['images']} | {row['rule']} | {' | '.join(cells)} |")
    for row in figures["tissue"]:
        shares = " | ".join(f"{100 * row[name]:.0f} %" for name in ("5 %", "median", "95 %"))
        lines.append(f"| {row['set']} | {row['images']:,} | {shares} |")
    return lines


def _edges(figures: dict[str, Any]) -> list[str]:
    names = ("moved", "moved, faded", "step before", "step, all changed", "step, inside changed", "step, faded")
    lines = []
    for row in figures["rows"]:
        values = ["–" if row[name] is None else str(row[name]) for name in names]
        lines.append(f"| {row['set']} | `{row['rule']}` | {row['images']} | {' | '.join(values)} |")
    return lines


def _reinhard(figures: dict[str, Any]) -> list[str]:
    lines = []
    for name, row in figures["packages"].items():
        numbers = (row["mean_difference"], row["mean_offset"], row["largest_mean_of_a_pair"])
        cells = [f"{number:.1f}".replace("-0.0", "0.0").replace("-", "−") for number in numbers]
        flat = {"0.0 0.0 0.0": "black"}.get(
            row["flat"], f"`{row['flat'].partition('(')[0]}`" if "(" in row["flat"] else "a colour"
        )
        lines.append(f"| {name.replace(' Reinhard', '')} | {' | '.join(cells)} | {flat} |")
    return lines


def _hue(figures: dict[str, Any]) -> list[str]:
    return [f"| {row['set']} | {row['images']:,} | {100 * row['split'] / row['images']:.0f} % |" for row in figures["rows"]]


#: The page of each result, and what makes its lines.
PAGES: Final[dict[str, tuple[str, Callable[[dict[str, Any]], list[str]]]]] = {
    "gate": ("docs/deployment.md", _gate),
    "privacy": ("docs/privacy.md", _privacy),
    "samplers": ("docs/samplers.md", _samplers),
    "drift": ("docs/drift.md", _drift),
    "drift_days": ("docs/drift.md", _drift_days),
    "masks": ("docs/foreground.md", _masks),
    "edges": ("docs/foreground.md", _edges),
    "reinhard": ("docs/migrating.md", _reinhard),
    "hue": ("docs/results/spaces.md", _hue),
}


def lines_of(name: str) -> list[str] | None:
    """Return the lines that a result gives its page; None if it was not measured."""
    file = RESULTS / f"{name}.json"
    return PAGES[name][1](json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


if __name__ == "__main__":
    for result in PAGES:
        print(f"\n{result}\n" + "\n".join(lines_of(result) or ["not measured"]))
