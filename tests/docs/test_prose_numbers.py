"""Numbers in the sentences of a results page: each stands in a table of its section, is worked out here, or is listed.

Tables are filled by a tool from the page's JSON, so a number that stands in one is measured. A whole JSON would be too easy
a place to find it: that of the shift study holds tens of thousands of numbers, and every wrong one is among them.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist_lab.report.stats import critical_difference

RESULTS: Final = Path(__file__).parents[2] / "docs" / "results"
PAGES: Final = sorted(page.stem for page in RESULTS.glob("*.md") if page.with_suffix(".json").is_file())
NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\w|[.,]\d)")
SPACES: Final = {"CIELAB": "lab", "lαβ": "lalphabeta"} | {
    name: name.lower() for name in ("RGB", "YCbCr", "YIQ", "LUV", "HSV", "LCH", "HED", "HSI")
}
Array = NDArray[np.float64]

#: Numbers on pages whose tool writes every sentence that holds a measured one: settings of the study.
SETTINGS: Final = {
    "runtime": {"50", "1,000", "15", "224"},
    "transfer": {"1,937", "64", "72", "71397589", "100", "128", "4.0"},
}
#: Numbers of the other pages that no table holds, page by page: settings, and what belongs to the paper or to another page.
ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "hospitals": {
        "15": "epochs",
        "32": "images of a batch",
        "373,076": "parameters of the network",
        "64": "pixels a side",
        "240": "tiles of a hospital",
        "20": "a bound: the two methods lose 22.4 and 23.8 points at the source",
        "9.9": "minutes that the methods took, by the clock",
        "4": "minutes that the sweep took, by the clock",
        "18": "cells of the study",
        "12": "cells of the study",
    },
    "properties": {
        "224": "pixels a side",
        "28": "pixels a side",
        "400": "pairs",
        "6,000": "rows of the training split",
        "265017005": "the seed",
        "1,200": "three channels of 400 pairs",
        "252": "level of the background in red",
        "242": "level of the background in green",
        "60": "pairs that were looked at",
        "0.57": "lowest correlation of a channel; the table of limits has it",
        "1.0000": "by algebra",
    },
    "shift": {
        "95": "per cent of the intervals",
        "29": "points, on the page of deployment",
        "180": "images of the smallest source",
        "780": "images of the largest source",
        "240": "fewest updates of the first round",
        "480": "most updates of the first round",
        "380": "images of DeepDRiD's largest source",
        "12": "images of each of its two others",
        "96": "images of it without a source",
    },
    "shift_known": {
        "28": "pixels a side",
        "95": "per cent of the intervals",
        "6,000": "training images of the subset",
        "800": "validation images of the subset",
        "1,200": "test images of the subset",
    },
    "shift_sources": {"180": "images of the smallest source", "60": "images of it that measure"},
    "spaces": {
        "13": "spaces",
        "4": "methods",
        "8": "bits",
        "468": "13 spaces, 4 methods, 9 sets",
        "1,872": "cells of the paper's setting",
        "100": "what the paper's runs recorded for an FID that failed",
        "0.47": "probability; the table of tests has it",
        "0.042": "the paper's probability",
        "0.846": "the paper's probability",
        "64": "pairs",
        "28": "pixels a side",
        "224": "pixels a side",
        "50": "minutes that the sweep took, by the clock",
        "800": "pairs",
    },
}


def rows_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every row of a published study, with what all rows of its grid share."""
    for grid in document["grids"]:
        for row in grid["rows"]:
            yield {**grid["same"], **dict(zip(grid["columns"], row, strict=True))}


def numbers_of_spaces(document: dict[str, Any]) -> Iterator[float]:
    """What the sentences on spaces give and no table does: means of RGB over the sets, and two comparisons of spaces."""
    rows = [row for row in rows_of(document) if str(row["grid"]).startswith("all")]
    for method in ("mean_std", "histogram", "exact_histogram"):
        for metric in ("wasserstein", "lpips", "ssim"):
            chosen = [row for row in rows if (row["space"], row["method"]) == ("rgb", method)]
            yield float(np.mean([row[f"result.{metric}"] for row in chosen]))
    scores = spaces_by_set(document)
    yield 100 * (1 - float(np.mean(scores["ycbcr"])) / float(np.mean(scores["rgb"])))
    yield critical_difference(scores).difference


def spaces_by_set(document: dict[str, Any]) -> dict[str, list[float]]:
    """ArtFID of mean-std matching on every set, by space, one of each group of equal spaces."""
    scores: dict[str, list[float]] = {}
    for row in rows_of(document):
        is_counted = str(row["grid"]).startswith("all") and row.get("method") == "mean_std"
        if is_counted and row["space"] not in ("ypbpr", "yuv", "ydbdr"):
            scores.setdefault(row["space"], []).append(row["result.artfid"])
    return scores


#: What works out the numbers of a page that are in its JSON and in no table.
COMPUTED: Final[dict[str, Callable[[dict[str, Any]], Iterator[float]]]] = {"spaces": numbers_of_spaces}


def read_document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return document


def prose(text: str) -> str:
    """The sentences of a page, without tables, what tools wrote, code and links."""
    text = re.sub(r"<!-- table:.*?<!-- end -->|```.*?```|`[^`]*`|\]\([^)]*\)|\{doc\}", " ", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("|"))


def tables(text: str) -> Array:
    """Every number in the tables of a page."""
    lines = "\n".join(line for line in text.splitlines() if line.lstrip().startswith("|"))
    return np.array([float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", lines)])


def missing_numbers(name: str, page: str) -> list[str]:
    """Numbers in the sentences of a page that neither its section's tables nor the computed ones hold."""
    computed = list(COMPUTED[name](read_document(name))) if name in COMPUTED else []
    missing = []
    for place, section in enumerate(re.split(r"^(?=## )", page, flags=re.MULTILINE)):
        known = np.concatenate([tables(section if place else page), computed])  # the beginning tells of the whole page
        missing += [number for number in NUMBER.findall(prose(section)) if not is_known(number.rstrip(","), known)]
    return list(dict.fromkeys(number.rstrip(",") for number in missing))


def is_known(number: str, known: Array) -> bool:
    """Whether a number is one of those known, rounded as it is printed; a share as a percentage, milliseconds as seconds too."""
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-9)
    value = float(number.replace(",", ""))
    forms = np.concatenate([known, 100 * known[known <= 1], known[known >= 500] / 1000])
    return bool((np.abs(forms - value) <= half).any())


@pytest.mark.parametrize("name", sorted(set(PAGES) - set(SETTINGS)))
def test_every_number_of_the_sentences_has_a_source(name: str) -> None:
    missing = missing_numbers(name, (RESULTS / f"{name}.md").read_text(encoding="utf-8"))
    assert sorted(missing) == sorted(ELSEWHERE.get(name, {}))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("properties", "at 28 pixels (0.9978,", "at 28 pixels (0.9963,"),
        ("properties", "from 9.9 % clipped values to 0.9 %", "from 9.9 % clipped values to 3.9 %"),
        ("spaces", "(in RGB: W 0.007", "(in RGB: W 0.005"),
        ("spaces", "is 4.5 ranks", "is 4.9 ranks"),
    ],
)
def test_a_wrong_number_is_noticed(name: str, right: str, wrong: str) -> None:
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert right in page
    assert set(missing_numbers(name, page.replace(right, wrong))) > set(ELSEWHERE[name])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_new_run_leaves_no_old_figure_in_the_sentences(name: str) -> None:
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    by_hand = re.sub(r"<!-- table:.*?<!-- end -->|```.*?```|`[^`]*`|\]\([^)]*\)", " ", page, flags=re.DOTALL)
    assert set(re.findall(r"(?<!\w)\d+(?:,\d{3})*(?:\.\d+)?", by_hand)) == SETTINGS[name]


def test_the_spaces_that_nemenyi_tells_apart_are_those_named() -> None:
    """The sentence names the best spaces and those that all of them are told from; equal spaces count once."""
    ranking = critical_difference(spaces_by_set(read_document("spaces")))
    apart = {
        (better, worse)
        for better, low in ranking.ranks.items()
        for worse, high in ranking.ranks.items()
        if high - low >= ranking.difference
    }
    page = " ".join((RESULTS / "spaces.md").read_text(encoding="utf-8").split())
    sentence = re.search(r"It tells (.*?) from (.*?), and no other two spaces", page)
    assert sentence
    best, worst = ([SPACES[title] for title in re.split(r", | and ", group)] for group in sentence.groups())
    assert apart == set(itertools.product(best, worst))
