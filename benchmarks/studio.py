"""`python -m benchmarks.studio`: how long the Studio's page takes to show a megapixel, in every colour space.

Two synthetic slides of 1024 × 1024 pixels are matched by mean and deviation in a real Chromium. Timed is what a person waits
for: from the event of a control to the drawn picture. Moving the strength maps the content; choosing a space also measures both
images. Images are loaded again before each round, so that nothing measured before is used. The first round is given beside the
median of all: in it the browser still runs code that it has not optimised.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import recolorist as rc
from benchmarks import environment
from benchmarks.cases import pair
from recolorist import studio
from tests.browser.chromium import Chromium, find
from tests.browser.studio_page import StudioPage, save

__all__ = ["Waits", "main", "wait_table"]

LIMIT: Final = 50.0  # milliseconds
MOVES: Final = 5
_TIME: Final = """(async (id, values, event) => {
  const control = document.getElementById(id), status = document.getElementById("status"), times = [];
  for (const value of values) {
    const drawn = new Promise((done) => {
      const watch = new MutationObserver(() => (watch.disconnect(), done()));
      watch.observe(status, { childList: true });
    });
    document.body.dataset.state = "asked"; // so that the wait below is for this question
    const start = performance.now();
    control.value = String(value);
    control.dispatchEvent(new Event(event, { bubbles: true }));
    await drawn;
    times.push(performance.now() - start);
    while (document.body.dataset.state !== "settled") await new Promise((later) => setTimeout(later, 2));
  }
  return times;
})"""


class Waits(NamedTuple):
    """Milliseconds for one space, of all rounds."""

    chosen: list[float]  #: one for each round
    moved: list[float]  #: several for each round


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a row for each space."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often every space is chosen")
    parser.add_argument("--size", type=int, default=1024, help="pixels along each side")
    options = parser.parse_args(arguments)
    program = find()
    if program is None:
        print("no Chromium here; install one (Debian: apt install chromium) or name it in RECOLORIST_CHROMIUM")
        return 1
    waits = measure_page(program, options.rounds, options.size)
    about = f"{environment.cpu_name()}, commit {environment.commit()}"
    print(f"{about}, {options.size} × {options.size} pixels, {options.rounds} rounds\n")
    print("\n".join(wait_table(waits)))
    return 0


def measure_page(program: str, rounds: int, size: int) -> dict[str, Waits]:
    """Open the page and time every space, in a fresh order in each round."""
    waits, order = {space: Waits([], []) for space in rc.SPACES}, random.Random(20261118)
    case = pair("uint8", size)
    with tempfile.TemporaryDirectory() as folder, Chromium(program, Path(folder) / "browser") as browser:
        page = StudioPage(browser, studio.write(Path(folder) / "studio.html"))
        page.open()
        for k in range(rounds):  # under new names, so that the page shows when they were read
            page.load(save(Path(folder) / f"content-{k}.png", case.content), save(Path(folder) / f"style-{k}.png", case.style))
            for space in order.sample(list(waits), len(waits)):
                waits[space].chosen.extend(_time(page, "space", [space], "change"))
                waits[space].moved.extend(_time(page, "strength", [0.5 + j / 100 for j in range(MOVES)], "input"))
    return waits


def _time(page: StudioPage, control: str, values: Sequence[str | float], event: str) -> list[float]:
    found = page.browser.run(f"{_TIME}({json.dumps(control)}, {json.dumps(values)}, {json.dumps(event)})")
    return [float(value) for value in found]


def wait_table(waits: Mapping[str, Waits]) -> list[str]:
    """Return the waits as lines of Markdown; the aim is held against both medians."""
    lines = [f"| ms, aim ≤ {LIMIT:g} | strength moved | space chosen | space chosen, first round | |", "|---|---|---|---|---|"]
    for space, (chosen, moved) in waits.items():
        medians = statistics.median(moved), statistics.median(chosen)
        state = "met" if max(medians) <= LIMIT else "**missed**"
        lines.append(f"| {space} | {medians[0]:.0f} | {medians[1]:.0f} | {chosen[0]:.0f} | {state} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
