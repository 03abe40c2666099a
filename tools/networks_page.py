"""Fill the table of speeds in docs/networks.md: `python -m tools.networks_page`, after `python -m benchmarks.networks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from benchmarks.networks import RESULTS, markdown
from recolorist_lab.report.pages import fill

PAGE: Final = Path(__file__).parents[1] / "docs" / "networks.md"


def filled(page: str, result: Path) -> str:
    """Return the page with the table of a result."""
    return fill(page, {"speed": markdown(json.loads(result.read_text("utf-8")))})


def main() -> None:
    """Write the page."""
    PAGE.write_text(filled(PAGE.read_text("utf-8"), max(RESULTS.glob("*.json"))), "utf-8")


if __name__ == "__main__":
    main()
