"""Links inside the repository lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.reading import DOCS, ROOT, links, name_of, pages


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as GitHub and MyST form them."""
    headings = re.findall(r"^#{1,6} (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problem(page: Path, target: str) -> str | None:
    """Why a link leads nowhere."""
    if target.startswith("doc:"):
        name = target.removeprefix("doc:")
        if name == "gallery/index":  # made while the pages are built
            return None
        return None if (page.parent / f"{name}.md").is_file() else f"there is no page {name}"
    if re.match(r"[a-z]+:", target):
        return None if target.startswith(("https://", "mailto:")) else "not https"
    path, _, anchor = target.partition("#")
    file = (page.parent / path) if path else page
    if not file.exists():
        return f"there is no {path}"
    if ROOT not in file.resolve().parents and file.resolve() != ROOT:
        return "leads out of the repository"
    return f"no heading {anchor}" if anchor and file.suffix == ".md" and anchor not in anchors(file) else None


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = [f"{target}: {message}" for target in links(page) if (message := problem(page, target))]
    assert not wrong, "\n".join(wrong)


def test_links_are_found_and_dead_ones_noticed() -> None:
    assert sum(len(links(page)) for page in pages()) > 60
    index = DOCS / "index.md"
    for target in ("doc:nowhere", "images/none.png", "http://example.org", "#no-such-heading"):
        assert problem(index, target) is not None
    for target in ("doc:start", "images/real_images.jpg", "https://example.org", "metrics.md#weights"):
        assert problem(index, target) is None


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL)
    named = {line for block in listed for line in block.splitlines() if line and not line.startswith(":")}
    found = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert found == named - {"gallery/index", "results/*"}


def test_every_picture_is_shown_somewhere_and_is_small() -> None:
    shown = "\n".join(page.read_text("utf-8") for page in pages())
    for picture in sorted((DOCS / "images").iterdir()):
        assert f"images/{picture.name}" in shown, picture.name
        assert picture.stat().st_size < 1_000_000, picture.name
