"""The colour-space study: what it streams, what the algebra demands of it, its tables to the letter, and its tests."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import recolorist as rc
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies.protocol import open_pairs
from recolorist_lab.studies.spaces.cell import FILE, METRICS, Spaces, _Clock, run, transferred
from tests.lab.studies.spaces.kit import QUICK, TINY

pytestmark = pytest.mark.usefixtures("one_thread")


class TestStream:
    def test_triples_are_pairs_and_what_match_makes_of_them(self) -> None:
        config = Spaces(dataset=TINY, pairs=5, size=48, space="lab", method="histogram")
        paired = open_pairs(config)
        triples = list(transferred(config, paired, _Clock()))
        assert len(triples) == 5
        for number, triple in enumerate(triples):
            content = paired.samples[int(paired.pairs.content[number])].image
            style = paired.samples[int(paired.pairs.style[number])].image
            assert np.array_equal(triple.content, content)
            assert np.array_equal(triple.style, style)
            assert np.array_equal(triple.output, rc.match(content, style, "histogram", "lab"))
            assert triple.audit is None

    def test_images_are_read_one_pair_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = Spaces(dataset=TINY, pairs=6, size=48)
        paired = open_pairs(config)
        read: list[int] = []
        genuine = type(paired.samples).__getitem__

        def reading(samples: Any, place: int) -> Any:
            read.append(place)
            return genuine(samples, place)

        monkeypatch.setattr(type(paired.samples), "__getitem__", reading)
        stream = transferred(config, paired, _Clock())
        for number in range(1, 4):
            next(stream)
            assert len(read) == 2 * number

    def test_letterboxed_borders_stay_black_and_take_no_part(self, tmp_path: Path) -> None:
        from PIL import Image

        from recolorist_lab.data.own import IndexOptions, index_folder

        rng = np.random.default_rng(0)
        for name in "abcd":
            (tmp_path / "one").mkdir(exist_ok=True)
            Image.fromarray(rng.integers(40, 200, (20, 60, 3)).astype(np.uint8)).save(tmp_path / "one" / f"{name}.png")
        index_folder(tmp_path, IndexOptions("wide")).write(tmp_path / "wide.parquet")
        config = Spaces(dataset="wide", root=str(tmp_path), pairs=2, size=60, resize="letterbox")
        for triple in transferred(config, open_pairs(config), _Clock()):
            assert not triple.output[:20].any()
            inside = rc.match(triple.content[20:40], triple.style[20:40])
            assert np.array_equal(triple.output[20:40], inside)

    def test_the_audit_is_that_of_the_plan(self) -> None:
        config = Spaces(dataset=TINY, pairs=3, size=48)
        for triple in transferred(config, open_pairs(config), _Clock()):
            assert triple.audit is not None
            assert triple.audit.clipped_overall == triple.audit.predicted_clipped_overall
            assert triple.audit.pearson.tolist() == pytest.approx(rc.audit(triple.content, triple.output).pearson.tolist())

    @pytest.mark.parametrize("wrong", [{"space": "rbg"}, {"method": "mean"}, {"metrics": ("fids",)}, {"size": 0}, {"batch": 0}])
    def test_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            Spaces(**wrong)

    def test_every_metric_is_known(self) -> None:
        from recolorist_lab.metrics import ALL

        assert sorted(METRICS) == sorted(ALL)


class TestRun:
    def test_every_pair_is_measured_whatever_the_batch(self) -> None:
        kept: dict[str, bytes] = {}

        class Here:
            inputs: ClassVar[dict[str, Any]] = {}

            def keep(self, name: str, data: bytes) -> None:
                kept[name] = data

        for batch in (1, 2, 3, 7):
            config = Spaces(dataset=TINY, pairs=7, size=48, metrics=("ssim", "wasserstein"), batch=batch)
            found: Any = run(config, Here())  # type: ignore[arg-type]
            lines = kept[FILE].decode().splitlines()
            assert (found["pairs"], len(lines)) == (7, 8)
            assert found["ssim"] == pytest.approx(np.mean([float(line.split(",")[0]) for line in lines[1:]]))


class TestData:
    def test_a_worker_with_other_data_refuses_the_cell(self, tmp_path: Path) -> None:
        cell = load(QUICK).cells[0]
        ledger = Ledger(tmp_path / "book")
        with pytest.raises(RecoloristError, match="planned with other data than the ones this worker has"):
            run_cell(ledger.root, ledger.lease, dataclasses.replace(cell, data="absent"))

    def test_data_that_are_missing_are_said_to_be(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path))
        cell = load(QUICK.with_name("spaces.toml")).cells[0]
        assert cell.data == "absent"
        ledger = Ledger(tmp_path / "book")
        outcome = run_cell(ledger.root, ledger.lease, cell)
        assert outcome.name == "failed"
        assert "the dataset 'pathmnist' was not found" in outcome.message
