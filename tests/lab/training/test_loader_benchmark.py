"""The benchmark of loading against training: it times what it says, judges as it says, and what was committed is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import training_loader as bench
from benchmarks.loader_report import stamp

RESULTS = Path(bench.__file__).parent / "results" / "training_loader"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    dataset, root, source = bench._synthetic(tmp_path_factory.mktemp("tiles"), tiles=8, side=64)
    facts = {"command": bench.COMMAND, "source": source, "size": 32, "samples": 8, "rounds": 2, "pinned": False}
    return {
        **stamp(),
        **facts,
        "loader": bench._loader(dataset, root, 32, 8, 2),
        "steps": bench._steps(["test_resnet"], 32, 4, 3),
    }


def test_every_augmentation_and_network_has_its_line(result: dict[str, Any]) -> None:
    assert [row["augmentation"] for row in result["loader"]] == list(bench.AUGMENTATIONS)
    assert all(row["us_per_sample"][1] > 0 for row in result["loader"])
    assert result["loader"][0]["added_us"] == 0
    page = bench.markdown(result)
    for word in (*bench.AUGMENTATIONS, "test_resnet", "Colorist's share"):
        assert word in page


@pytest.mark.parametrize(("share", "verdict"), [(0.02, "met"), (0.04, "missed (under 3%)")])
def test_the_verdict_follows_from_the_share(result: dict[str, Any], share: float, verdict: str) -> None:
    changed = json.loads(json.dumps(result))
    changed["loader"][1]["share"] = share
    assert bench.verdicts(changed)[0][2] == verdict


def test_a_model_faster_than_loading_asks_for_workers(result: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(result))
    changed["loader"][1]["us_per_sample"] = [900, 1000, 1100]
    for each, record in ((100, "10 workers keep"), (1000, "1 worker keeps"), (5000, "1 worker keeps")):
        changed["steps"][0]["us_per_image"] = [each] * 3
        assert bench.verdicts(changed)[1][2].startswith(record)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_pages_are_those_of_their_data(path: Path) -> None:
    record = json.loads(path.read_text("utf-8"))
    assert path.with_suffix(".md").read_text("utf-8") == bench.markdown(record)
    assert record["rounds"] >= 7
