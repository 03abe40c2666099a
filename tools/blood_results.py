"""Make docs/results/blood.json and the tables of docs/results/blood.md from the finished cells of docs/results/blood.toml.

Run as `python -m tools.blood_results LEDGER`, with the sources the cells were run with.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recolorist_lab.report.pages import fill
from recolorist_lab.report.table import Column, Table, label
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.origin import is_current, origin_sentence

ROOT: Final = Path(__file__).parents[1]
STUDY: Final = ROOT / "docs" / "results" / "blood.toml"
RESULTS: Final = ROOT / "docs" / "results"
SETS: Final = {"val": "validation", "source": "source", "test": "target", "test_harmonised": "target_harmonised"}
Row = dict[str, Any]
Key = tuple[str, str]  # algorithm, augmentation
NOTHING: Final[Key] = ("plain", "none")


def collected(ledger: Path) -> dict[str, Any]:
    """Every run of the study, and where it was made; refused if one is missing."""
    study, book = load(STUDY), Ledger(ledger, must_exist=True)
    rows: list[Row] = []
    environment: Any = None
    for cell in study.cells:
        done = book.result(cell)
        done.verify()
        scores = json.loads(done.read("scores.json"))
        rows.append(
            {
                "algorithm": cell.config.algorithm,
                "augmentation": cell.config.augmentation,
                "seed": cell.config.seed,
                "epochs": done.result["epochs"],
                "best_epoch": done.result["best_epoch"],
                "seconds": round(done.seconds, 1),
                "run": cell.run_id,
                "data": cell.data,
                "balanced_accuracy": {ours: scores[name]["balanced_accuracy"] for name, ours in SETS.items()},
                "recall": {
                    SETS[name]: {kind: part["recall"] for kind, part in scores[name]["per_class"].items()}
                    for name in ("test", "test_harmonised")
                },
            }
        )
        environment = done.payload["environment"]
        images, parameters = done.result["images"], done.result["parameters"]
    return {
        "study": "docs/results/blood.toml",
        "images": images,
        "parameters": parameters,
        "environment": environment,
        "rows": rows,
    }


def grouped(document: Mapping[str, Any]) -> dict[Key, list[Row]]:
    """The runs of each method, seeds in order."""
    found: dict[Key, list[Row]] = {}
    for row in document["rows"]:
        found.setdefault((row["algorithm"], row["augmentation"]), []).append(row)
    return {key: sorted(rows, key=lambda row: int(row["seed"])) for key, rows in found.items()}


def accuracy(name: str) -> Callable[[Row], float]:
    """Balanced accuracy on a set, in per cent."""
    return lambda row: 100 * float(row["balanced_accuracy"][name])


def spread(values: Sequence[float], sign: str = "") -> str:
    """Mean and standard deviation over seeds (n − 1).

    >>> spread([50.0, 52.0, 54.0])
    '52.0 ± 2.0'
    """
    return f"{statistics.mean(values):{sign}.1f} ± {statistics.stdev(values):.1f}"


def named(key: Key) -> str:
    """What a row is called."""
    algorithm, augmentation = key
    parts = [f"`{augmentation}`"] if algorithm == "plain" or augmentation != "none" else []
    return ", ".join([*([] if algorithm == "plain" else [f"`{algorithm}`"]), *parts])


def main_table(runs: Mapping[Key, list[Row]]) -> str:
    """All methods, the best on the target first."""
    base = [accuracy("target")(row) for row in runs[NOTHING]]
    lines = []
    for key, rows in sorted(runs.items(), key=lambda item: -statistics.mean(map(accuracy("target"), item[1]))):
        target = [accuracy("target")(row) for row in rows]
        matched = [accuracy("target_harmonised")(row) for row in rows]
        gain = [own - other for own, other in zip(target, base, strict=True)]
        more = [own - other for own, other in zip(matched, target, strict=True)]
        lines.append(
            [
                named(key),
                spread([accuracy("source")(row) for row in rows]),
                spread(target),
                "" if key == NOTHING else f"{spread(gain, '+')} ({sum(one > 0 for one in gain)} of {len(gain)})",
                spread(matched),
                spread(more, "+"),
            ]
        )
    head = ["method", "source", "target", "against `none`", "target, harmonised", "by harmonising"]
    return text_table(head, lines)


def recall_table(runs: Mapping[Key, list[Row]]) -> str:
    """Recall of each kind of cell, for a few methods."""
    chosen: tuple[Key, ...] = (NOTHING, ("plain", "color_jitter"), ("plain", "colorist"), ("plain", "colorist(p=1.0)"))
    kinds = list(runs[NOTHING][0]["recall"]["target"])
    lines = []
    for key in chosen:
        for name, how in (("target", ""), ("target_harmonised", ", harmonised")):
            recalls = [[100 * float(row["recall"][name][kind]) for row in runs[key]] for kind in kinds]
            lines.append([named(key) + how, *map(spread, recalls)])
    return text_table(["method", *kinds], lines)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown already; the first column is flush left."""
    return markdown(Table([label(head[0]), *(Column(name) for name in head[1:])], rows))


def tables(document: Mapping[str, Any]) -> dict[str, str]:
    """The page's tables."""
    runs = grouped(document)
    current = is_current(load(STUDY), document["rows"])
    line = f"*{origin_sentence([document['environment']], current=current)}*\n"
    return {"methods": main_table(runs), "recall": recall_table(runs), "origin": line}


def main() -> None:
    """Write the JSON and fill the page."""
    if len(sys.argv) != 2:
        sys.exit("python -m tools.blood_results LEDGER")
    document = collected(Path(sys.argv[1]))
    (RESULTS / "blood.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    page = RESULTS / "blood.md"
    page.write_text(fill(page.read_text("utf-8"), tables(document)), "utf-8")
    print(tables(document)["methods"])


if __name__ == "__main__":
    main()
