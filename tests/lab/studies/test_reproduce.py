"""One command from nothing to the report: the real one on something tiny, and everything it decides on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.sections import section_of
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.kinds import headings
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from recolorist_lab.studies import reproduce
from recolorist_lab.studies.reproduce import configs, on_device, planned


class TestPlan:
    def test_the_papers_studies_in_the_papers_order(self) -> None:
        quick = planned(configs(), quick=True)
        assert [study.name for study in quick.studies] == list(headings())
        assert all(cell.data != "absent" for study in quick.studies for cell in study.cells), "quick studies need no data"
        whole = planned(configs(), quick=False, only=["check", "runtime", "properties"])
        assert [study.name for study in whole.studies] == ["properties", "runtime", "check"]
        assert {path.name for path in whole.files.values()} == {"properties.toml", "runtime.toml", "check.toml"}

    @pytest.mark.parametrize("there", [True, False])
    def test_without_weights_their_metrics_are_left_out_and_nothing_else(
        self, monkeypatch: pytest.MonkeyPatch, *, there: bool
    ) -> None:
        monkeypatch.setattr(reproduce, "_have_networks", lambda: there)
        plan = planned(configs(), quick=True, only=["spaces"])
        asked = {name for cell in plan.studies[0].cells if cell.kind == "spaces" for name in cell.config.metrics}
        assert ("artfid" in asked) == there
        assert {"ssim", "wasserstein"} <= asked
        assert bool(plan.left_out) != there
        other = load(configs() / ("spaces.quick-bare.toml" if there else "spaces.quick.toml"))
        assert [cell.name for cell in other.cells] == [cell.name for cell in plan.studies[0].cells]

    def test_the_twin_without_networks_runs_without_weights_and_the_report_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("RECOLORIST_WEIGHTS", "RECOLORIST_CACHE", "TORCH_HOME"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setattr("recolorist_lab.assets.weights._download", lambda *_: pytest.fail("nobody asked for a download"))
        study, ledger = load(configs() / "spaces.quick-bare.toml"), Ledger(tmp_path / "ledger")
        one = replace(study, cells=study.cells[:1])
        assert run_cell(ledger.root, ledger.lease, one.cells[0]).name == "done"
        table = section_of(one, ledger).tables["spaces"]
        shown = dict(zip(table.head[::-1], table.texts()[0][::-1], strict=True))  # the first of each name
        assert "no other number is shown for them" in table.note
        assert table.texts()[0].count("—") == 3  # LPIPS, FID and ArtFID
        assert shown["W ↓ paper"] == "0.04"

    def test_whether_weights_are_here_is_looked_up_and_not_downloaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("RECOLORIST_WEIGHTS", "RECOLORIST_CACHE", "TORCH_HOME"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setattr("recolorist_lab.assets.weights._download", lambda *_: pytest.fail("nobody asked for a download"))
        assert "weights fetch fid_inception alexnet_features" in planned(configs(), quick=True).left_out[0]

    def test_other_folders_and_names(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match=r"contains no \*.quick.toml"):
            planned(tmp_path, quick=True)
        with pytest.raises(OptionError, match=r"nosuch: no such study in .*; there are check, classify"):
            planned(configs(), quick=False, only=["nosuch"])

    def test_a_device_changes_no_run(self) -> None:
        plan = planned(configs(), quick=True, only=["transfer", "runtime"])
        moved = on_device(plan.studies, "cuda")
        for before, after in zip(plan.studies, moved, strict=True):
            assert [cell.run_id for cell in before.cells] == [cell.run_id for cell in after.cells]
        assert {cell.config.device for cell in moved[0].cells} == {"cuda"}
        assert {cell.config.device for cell in moved[1].cells} == {"cpu"}  # there it is what is measured
