"""The benchmark of feeding: it times what it says, and what was committed is whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import training_feed as bench
from benchmarks.loader_report import stamp

RESULTS = Path(bench.__file__).parent / "results" / "training_feed"


def test_every_source_has_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LARGE", (48, 40))
    sources, origin = bench.make_sources(tmp_path, None, None, count=6, size=8)
    assert [source.name for source in sources] == ["files, 64 × 64", "packed, 64 × 64", "files, 48 × 40", "packed, 48 × 40"]
    feeds = bench.feeds(sources, [0], rounds=1)
    waits = bench.waits(sources[:2], "test_resnet", steps=0)
    facts = {"command": bench.COMMAND, "origin": origin, "cores": 1, "count": 6, "rounds": 1, "feeds": feeds, "waits": waits}
    page = bench.markdown({**stamp(), **facts})
    assert all(row["images_a_second"][1] > 0 for row in feeds)
    for source in sources:
        assert page.count(f"| {source.name} |") >= 1


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_pages_are_those_of_their_data(path: Path) -> None:
    result = json.loads(path.read_text("utf-8"))
    assert path.with_suffix(".md").read_text("utf-8") == bench.markdown(result)
    assert {row["workers"] for row in result["feeds"]} >= {0}
    assert len(result["waits"]) >= 2


def test_the_page_has_the_newest_numbers() -> None:
    path = max(RESULTS.glob("*.json"))
    result = json.loads(path.read_text("utf-8"))
    page = (RESULTS.parents[2] / "docs" / "training.md").read_text("utf-8")
    assert str(path.relative_to(RESULTS.parents[2])) in page
    for source in dict.fromkeys(row["source"] for row in result["feeds"]):
        rates = [row["images_a_second"][1] for row in result["feeds"] if row["source"] == source]
        assert f"| {' | '.join(f'{rate:,.0f}' for rate in rates)} |" in page
    for row in result["waits"]:
        assert f"{row['load_ms'] / (row['load_ms'] + row['step_ms']):.1%}".replace("%", " %") in page
