"""The runtime and energy study."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.report import rows as table
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs import energy, ledger
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.study import load
from recolorist_lab.runs.sweep import run_study
from recolorist_lab.studies.runtime import cell as runtime
from recolorist_lab.studies.runtime import table as runtime_table
from tests.lab.studies.runtime.kit import Clock

CONFIGS = Path(__file__).parents[4] / "configs"


NO_CONTEXT: Any = SimpleNamespace()


def small(method: str, **options: Any) -> dict[str, Any]:
    given = {"size": 64, "iterations": 6, "warmups": 1, "seconds": 20.0, "threads": 1, **options}
    return dict(runtime.run(runtime.Runtime(method=method, **given), NO_CONTEXT))


@pytest.fixture(autouse=True)
def _short_metering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_METERED", 0.2)


class TestTiming:
    @pytest.mark.parametrize("method", ["colorist", "colorist_float", "colorist_bank", "colorist_batch", "adain"])
    def test_every_figure_of_the_protocol_is_there(self, method: str) -> None:
        result = small(method)
        assert result["iterations"] == 6
        assert result["images"] == 6 * (32 if method == "colorist_batch" else 1)
        assert 0 < result["p50_ms"] <= result["p90_ms"] <= result["p95_ms"] <= result["p99_ms"]
        assert result["throughput_it_s"] == pytest.approx(1000 / result["mean_ms"])
        assert result["energy_source"] in ("rapl", "modelled")

    def test_percentiles_and_rates_are_those_of_the_times(self) -> None:
        spent = energy.Energy(seconds=1.0, cpu_seconds=2.0, watt_hours=0.003, source="modelled")
        result = runtime._summary(np.array([0.1, 0.2, 0.3, 0.4]), 5, spent, images=2)
        assert result["mean_ms"] == pytest.approx(125.0)
        assert result["p50_ms"] == pytest.approx(125.0)
        assert result["images"] == 8  # timed; one more call was metered only
        assert result["cpu_seconds"] == pytest.approx(2.0 / 10)
        assert result["energy_mwh"] == pytest.approx(3.0 / 10)

    def test_energy_is_of_a_stretch_long_enough_to_meter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Clock(monkeypatch, step=0.25)
        monkeypatch.setattr(runtime, "_METERED", 8.0)
        quick = small("colorist")
        assert (quick["iterations"], quick["metered_seconds"], quick["metered_images"]) == (6, 8.0, 32)
        assert quick["cpu_seconds"] == 0.125

    def test_the_budget_of_a_cell_bounds_the_metering(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Clock(monkeypatch, step=0.25)
        monkeypatch.setattr(runtime, "_METERED", 8.0)
        assert small("colorist", seconds=4.0)["metered_seconds"] == 4.0

    @pytest.mark.parametrize(("seconds", "iterations"), [(3.0, 14), (0.1, 5)])
    def test_a_slow_method_ends_when_its_time_is_up(
        self, monkeypatch: pytest.MonkeyPatch, seconds: float, iterations: int
    ) -> None:
        Clock(monkeypatch, step=0.25)
        assert small("adain", iterations=100_000, seconds=seconds)["iterations"] == iterations

    def test_it_leaves_the_number_of_threads_as_it_was(self) -> None:
        import torch

        before = torch.get_num_threads()
        small("colorist", threads=before + 1)
        assert torch.get_num_threads() == before

    def test_the_paper_gives_every_baseline_a_size_that_is_ours_too(self) -> None:
        for method in ("adain", "efdm", "sanet", "mast", "iecontrast"):
            assert runtime.native_size(method) == RUNTIME["cpu", runtime_table.title(method)].resolution

    def test_what_cannot_be_is_refused(self) -> None:
        with pytest.raises(OptionError, match="works on the CPU"):
            runtime.run(runtime.Runtime(method="colorist", device="cuda"), NO_CONTEXT)
        with pytest.raises(OptionError, match="32 to 4096"):
            runtime.Runtime(method="adain", size=8)
        with pytest.raises(OptionError, match="5 iterations"):
            runtime.Runtime(method="adain", iterations=1)


def test_the_full_study_names_every_method_once() -> None:
    cells = load(CONFIGS / "runtime.toml").grids()["latency"]
    assert len({cell.config.method for cell in cells}) == 17


def test_the_quick_study_runs_and_makes_its_tables(tmp_path: Path) -> None:
    text = (CONFIGS / "runtime.quick.toml").read_text("utf-8")
    methods = text[text.index('axes.method = ["adain", "efdm"') :].splitlines()[0]
    shorter = text.replace(methods, 'axes.method = ["adain", "colorist"]').replace("iterations = 20", "iterations = 5")
    shorter = shorter.replace('["colorist", "adain"]', '["colorist"]').replace("[64, 128, 256]", "[128]")
    (tmp_path / "quick.toml").write_text(shorter, "utf-8")
    study, book = load(tmp_path / "quick.toml"), ledger.Ledger(tmp_path / "ledger")
    assert run_study(study, book, LocalEngine(book, jobs=1)).is_complete
    rows = table.rows(study, book)
    assert "AdaIN" in markdown(runtime_table.latency(rows))
    assert "128 px" in markdown(runtime_table.growth(rows))
