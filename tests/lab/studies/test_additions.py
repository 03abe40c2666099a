"""A network and an augmentation that the paper does not have: tables, figures and the estimate take them like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recolorist_lab.augmentations.table import AUGMENTATIONS, AugmentationEntry
from recolorist_lab.baselines.registry import METHODS, Method
from recolorist_lab.report.sections import Section, section_of
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from recolorist_lab.studies.estimate import needs_of
from recolorist_lab.studies.rates import Rates
from tests.lab.report import invented

TRANSFER = """
name = "transfer"

[[grid]]
name = "train"
kind = "transfer_train"
set = { dataset = "synthetic:tiles=4", seed = 1 }
axes.method = ["adain", "mynet"]

[[grid]]
name = "networks"
kind = "transfer"
needs = [{ grid = "train", on = ["method", "seed"] }]
set = { pairs = 10, dataset = "synthetic:tiles=4", seed = 1 }
axes.method = ["mynet", "adain"]

[[grid]]
name = "colorist"
kind = "transfer"
set = { method = "colorist", pairs = 10, dataset = "synthetic:tiles=4", seed = 1 }
"""
RUNTIME = """
name = "runtime"

[[grid]]
name = "latency"
kind = "runtime"
axes.method = ["mynet", "adain", "colorist"]
"""
CLASSIFY = f"""
name = "classify"

[[grid]]
name = "augmentations"
kind = "classify"
axes = {{ augmentation = ["mine", "none"], dataset = {invented.NINETEEN}, seed = [1, 2] }}
"""
RATES = Rates(
    train=0.1, learn=2.0, pair=0.5, properties=0.25, classifier_bytes=1000, baseline_bytes=100, networks=True, device="cpu"
)


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourteenth network and one more augmentation; the network is AdaIN under another name."""
    adain = METHODS["adain"]
    network = {"mynet": Method(adain.module, adain.cls, title="MyNet", venue="unpublished")}
    monkeypatch.setattr(METHODS, "built_in", {**METHODS.built_in, **network})
    augmentation = {"mine": AugmentationEntry("torchvision", summary="what I thought of")}
    monkeypatch.setattr(AUGMENTATIONS, "built_in", {**AUGMENTATIONS.built_in, **augmentation})
    monkeypatch.setitem(invented.RESULTS, "runtime", lambda config: invented._runtime(_as_adain(config)))


def _as_adain(config: Any) -> Any:
    import dataclasses

    return dataclasses.replace(config, method="adain") if config.method == "mynet" else config


def section(tmp_path: Path, text: str) -> tuple[Study, Ledger, Section]:
    (tmp_path / "study.toml").write_text(text, "utf-8")
    study, ledger = load(tmp_path / "study.toml"), Ledger(tmp_path / "ledger")
    invented.fill(ledger, study)
    return study, ledger, section_of(study, ledger)


def test_a_network_without_printed_metrics_stands_after_the_papers(tmp_path: Path) -> None:
    _, _, made = section(tmp_path, TRANSFER)
    lines = {line[0]: line for line in made.tables["transfer"].texts()}
    assert list(lines) == ["AdaIN", "Colorist", "MyNet"]
    assert lines["AdaIN"][3] == "0.100 (0.33)"
    assert lines["MyNet"][3] == "0.100"
    for _, draw in made.figures.values():
        draw()


def test_a_network_without_a_printed_time_has_none(tmp_path: Path) -> None:
    _, _, made = section(tmp_path, RUNTIME)
    (line,) = [line for line in made.tables["latency-cpu"].texts() if line[0] == "MyNet"]
    assert line[-2:] == ("–", "–")
    for _, draw in made.figures.values():
        draw()


def test_an_augmentation_without_printed_accuracy_stands_after_the_papers(tmp_path: Path) -> None:
    _, _, made = section(tmp_path, CLASSIFY)
    lines = {line[0]: line for line in made.tables["main"].texts()}
    assert list(lines) == ["Baseline", "mine"]
    assert "[" not in "".join(lines["mine"])


def test_a_network_without_a_printed_time_is_estimated_like_adain_by_pixels(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TRANSFER, "utf-8")
    study = load(tmp_path / "study.toml")
    needs = needs_of([study], Ledger(tmp_path / "ledger"), RATES)
    assert needs.work[0].hours is not None
    assert needs.work[0].hours > 0
    assert any("MyNet" in words and "AdaIN" in words for words in needs.how)
