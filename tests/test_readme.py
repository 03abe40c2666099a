"""What the README shows must run, and print what it says; what it tells must be what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.arms import PUBLIC_CALL
from recolorist_lab.report.pages import tables_of
from recolorist_lab.runs.config import Json
from recolorist_lab.studies import publish
from tools import blood_results, readme_tables

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_examples_run_as_one_session(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)  # noqa: S102 - our own README
    promised = re.search(r"# \.\.\. (R' = \S+ [-+] \S+)", TEXT)
    assert promised is not None
    assert promised.group(1) in capsys.readouterr().out
    assert (names["out"] == names["same"]).all()  # type: ignore[attr-defined]


def test_its_tables_are_those_of_the_measurements() -> None:
    assert readme_tables.filled(TEXT) == TEXT, "run `python -m tools.readme_tables`"


def test_a_changed_number_is_noticed() -> None:
    changed = TEXT.replace("| **`recolorist.match`, style known** | 27.7 |", "| **`recolorist.match`, style known** | 17.7 |")
    assert changed != TEXT
    assert readme_tables.filled(changed) == TEXT


def test_losses_stand_beside_wins() -> None:
    tables = tables_of(TEXT)
    assert "of our time" in tables["speed-lost"]
    target = blood_results.accuracy("target")
    runs = blood_results.grouped(json.loads((readme_tables.RESULTS / "blood.json").read_text("utf-8")))
    means = {key: sum(map(target, rows)) / len(rows) for key, rows in runs.items()}
    best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    assert {best, worst, blood_results.NOTHING, ("plain", "colorist")} <= set(readme_tables.BLOOD)
    assert f"{len(readme_tables.BLOOD)} of the {len(runs)} rows" in TEXT


@pytest.mark.parametrize(("slower", "missed"), [(1.0, False), (2.0, True)])
def test_a_missed_target_of_the_loader_is_told(monkeypatch: pytest.MonkeyPatch, slower: float, missed: bool) -> None:
    path, plain = readme_tables.newest(readme_tables.BENCHMARKS / "loader") or pytest.fail("no result of the loader's benchmark")
    for row in plain["pipelines"][1:]:
        row["time_ratio"] = 0.5 * slower  # every pipeline twice as fast as the usual one, or just as fast
    monkeypatch.setattr(readme_tables, "newest", lambda _: (path, plain))
    told = re.search(r"Missed: .*fused, to the usual pipeline without: 1 \(at least 1\.15\)\.", readme_tables.loader())
    assert (told is not None) == missed


def test_numbers_in_the_text_are_those_of_the_tables() -> None:
    _, plain = readme_tables._timed()
    found = {row["arm"]: row for row in plain["results"] if (row["dtype"], row["size"]) == ("uint8", readme_tables.SIZE)}
    ours = found[PUBLIC_CALL]["cpu_us"][1]
    assert f"{ours:.0f} microseconds for a tile" in TEXT
    assert f"there it truncates ({found['colorist-aug, array']['mean_error']:.2f} levels)" in TEXT
    black = found["Albumentations PixelDistributionAdaptation(standard)"]["mean_error"]
    assert f"{black:.0f} levels is a black image" in TEXT


def test_a_study_appears_when_its_results_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme_tables, "RESULTS", tmp_path)
    assert readme_tables.transfer() == readme_tables.runtime() == readme_tables.hospitals() == ""
    rows: list[dict[str, Json]] = [
        {"grid": "latency", "device": "cpu", "method": method, "result.mean_ms": mean, "result.side": 224}
        for method, mean in (("colorist", 0.05), ("adain", 120.0))
    ]
    (tmp_path / "runtime.json").write_bytes(publish.write(publish.packed("runtime", [], rows)))
    made = readme_tables.runtime()
    assert "| Colorist, two 8-bit images | 0.05 | 1 |" in made
    assert "| AdaIN | 120 | 2,400 |" in made
    numbers: dict[str, Json] = {
        f"result.{name}": 0.5 for name in ("lpips", "ssim", "fid", "wasserstein", "artfid", "transform_ms")
    }
    pair: list[dict[str, Json]] = [{"grid": "colorist", "method": "colorist", "seed": 1, "result.native": 224, **numbers}]
    (tmp_path / "transfer.json").write_bytes(publish.write(publish.packed("transfer", [], pair)))
    assert "| Colorist | 1 | 224 |" in readme_tables.transfer()
