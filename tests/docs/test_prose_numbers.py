"""Numbers in the sentences of a results page: each is in the page's tables or JSON, or is listed here with its source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

RESULTS: Final = Path(__file__).parents[2] / "docs" / "results"
PAGES: Final = sorted(page.stem for page in RESULTS.glob("*.md") if page.with_suffix(".json").is_file())
NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+(?![\w.]*\d)")
Array = NDArray[np.float64]
SCALES: Final = (1.0, 100.0, 1000.0, 0.001)

#: Numbers that are worked out from others, belong to the paper, or describe versions and settings.
ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "blood": {"18.1": "largest difference between seeds; tests/test_claims.py works it out"},
    "hospitals": {"9.9": "minutes that the methods took, by the clock"},
}
#: Methods of the page of blood cells whose differences, seed by seed, its sentences give.
COMPARED: Final = (
    *(((algorithm, "colorist"), (algorithm, "none")) for algorithm in ("plain", "erm", "sd", "rsc")),
    (("plain", "colorist+color_jitter"), ("plain", "color_jitter")),
)


def prose(text: str) -> str:
    """The sentences of a page, without tables, code, links and front matter."""
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|<!--.*?-->", " ", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("|"))


def leaves(value: Any) -> Iterator[float]:
    """Every number of a JSON value."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)


def known_numbers(name: str) -> Array:
    """Every number of the page's JSON and tables."""
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in page.splitlines() if line.lstrip().startswith("|"))
    printed = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", tables)]
    stored = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    numbers = [*printed, *leaves(stored), *(differences(stored["rows"]) if name == "blood" else [])]
    return np.asarray(np.abs(numbers))


def differences(rows: list[dict[str, Any]]) -> Iterator[float]:
    """Mean and deviation, over seeds, of the differences between the compared methods."""
    for first, second in COMPARED:
        for scored in ("target", "target_harmonised"):
            pair = [
                {
                    row["seed"]: row["balanced_accuracy"][scored]
                    for row in rows
                    if (row["algorithm"], row["augmentation"]) == method
                }
                for method in (first, second)
            ]
            apart = [pair[0][seed] - pair[1][seed] for seed in pair[0]]
            yield from (float(np.mean(apart)), float(np.std(apart, ddof=1)))


def is_known(number: str, known: Array) -> bool:
    """Whether a number is one of those known, rounded as it is printed, as a share, a percentage, in thousands or thousandths."""
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-9)
    value = float(number.replace(",", ""))
    return any(bool((np.abs(known * scale - value) <= half).any()) for scale in SCALES)


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_the_sentences_has_a_source(name: str) -> None:
    known, elsewhere = known_numbers(name), ELSEWHERE.get(name, {})
    numbers = list(dict.fromkeys(NUMBER.findall(prose((RESULTS / f"{name}.md").read_text(encoding="utf-8")))))
    missing = [number for number in numbers if number not in elsewhere and not is_known(number, known)]
    assert missing == []
    assert [number for number in elsewhere if number not in numbers or is_known(number, known)] == []


def test_a_changed_number_is_noticed() -> None:
    known = np.asarray([0.04208, 21.2])
    assert is_known("0.0421", known)
    assert is_known("42.1", known)  # microseconds
    assert not is_known("0.0423", known)


#: Numbers of the two pages that stand outside of what their tool writes: settings of the study, and nothing measured.
SETTINGS: Final = {
    "runtime": {"50", "1,000", "15", "224"},
    "transfer": {"1,937", "64", "72", "71397589", "100", "128", "4.0"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_new_run_leaves_no_old_figure_in_the_sentences(name: str) -> None:
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    by_hand = re.sub(r"<!-- table:.*?<!-- end -->|```.*?```|`[^`]*`|\]\([^)]*\)", " ", page, flags=re.DOTALL)
    assert set(re.findall(r"(?<!\w)\d+(?:,\d{3})*(?:\.\d+)?", by_hand)) == SETTINGS[name]
