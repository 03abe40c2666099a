"""The benchmark of the networks, and the table that it fills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import networks
from recolorist_lab.baselines import METHODS
from tools.networks_page import PAGE, filled

ROWS: list[dict[str, Any]] = [
    {"network": "adain", "side": 64, "ours": 0.0912, "straightforward": 0.098, "ratio": [0.9, 0.93, 1.2], "difference": 1e-7},
    {"network": "artflow", "side": 64, "ours": 13.8, "straightforward": 12.0, "ratio": [1.1, 1.15, 1.2], "difference": 3e-7},
]
RESULT: dict[str, Any] = {
    "date": "2026-01-02T03:04:05+00:00",
    "commit": "0123456789ab",
    "cpu": "A processor",
    "versions": {"torch": "9.9"},
    "load_average": [0.2, 0.1, 0.1],
    "rounds": 5,
    "rows": ROWS,
}


def test_every_network_has_a_straightforward_form() -> None:
    assert set(networks.STRAIGHT) == set(METHODS.built_in)
    assert set(networks.REASONS) <= set(METHODS.built_in)


def test_a_comparison_times_both_and_compares_outputs() -> None:
    row = networks.compare("contrimix", 64, 2, stains=4)
    assert row["difference"] < 1e-5
    assert row["ours"] > 0
    assert row["straightforward"] > 0
    assert row["ratio"] == sorted(row["ratio"])


def test_losses_are_named() -> None:
    text = networks.markdown(RESULT)
    assert "| AdaIN | 0.0912 | 0.098 | 0.93 | 0.90–1.20 | the same calls |" in text
    assert "with all quartiles above 1: ArtFlow." in text
    assert "Outputs agree to 3e-07." in text
    assert "quiet (load 0.2)" in text
    assert "busy (load 2.0)" in networks.markdown({**RESULT, "load_average": [2.0, 1.0, 1.0]})
    assert "above 1: none." in networks.markdown({**RESULT, "rows": ROWS[:1]})


def test_outputs_that_differ_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(networks, "compare", lambda *_: {**ROWS[0], "difference": 0.1})
    with pytest.raises(SystemExit, match=r"outputs differ by 1\.0e-01"):
        networks.main(["--only", "adain", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_a_run_fills_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(networks, "compare", lambda name, side, _: {**ROWS[0], "network": name, "side": side})
    networks.main(["--only", "adain", "sanet", "--out", str(tmp_path)])
    (written,) = tmp_path.iterdir()
    page = filled(PAGE.read_text("utf-8"), written)
    assert networks.markdown(json.loads(written.read_text("utf-8"))) in page
    assert "| SANET | 0.0912 |" in page


@pytest.mark.parametrize("result", sorted(networks.RESULTS.glob("*.json"))[-1:], ids=lambda path: path.stem)
def test_the_page_is_that_of_the_newest_result(result: Path) -> None:
    assert filled(PAGE.read_text("utf-8"), result) == PAGE.read_text("utf-8")
