"""The runtime and energy study."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.paper.numbers import RUNTIME
from recolorist_lab.report import figures
from recolorist_lab.report import rows as table
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs import energy, ledger
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.study import load
from recolorist_lab.runs.sweep import run_study
from recolorist_lab.studies.runtime import cell as runtime
from recolorist_lab.studies.runtime import figure as runtime_figure
from recolorist_lab.studies.runtime import table as runtime_table

CONFIGS = Path(__file__).parents[4] / "configs"
NO_CONTEXT: Any = SimpleNamespace()


def small(method: str, **options: Any) -> dict[str, Any]:
    given = {"size": 64, "iterations": 6, "warmups": 1, "seconds": 20.0, "threads": 1, **options}
    return dict(runtime.run(runtime.Runtime(method=method, **given), NO_CONTEXT))


@pytest.fixture(autouse=True)
def _short_metering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_METERED", 0.2)


class Clock:
    """A clock of the test's own, for wall and processor time; every timed call advances it by the same step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
        self.now, self.step = 0.0, step
        fake = SimpleNamespace(perf_counter=lambda: self.now, process_time=lambda: self.now / 2)
        monkeypatch.setattr(runtime, "time", fake)
        monkeypatch.setattr(energy, "time", fake)
        monkeypatch.setattr(runtime, "_contestant", lambda *_: runtime.Contestant(self.advance))

    def advance(self, _: int = 0) -> None:
        self.now += self.step


class TestEnergy:
    def test_wall_and_processor_time_are_those_of_the_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = Clock(monkeypatch, step=3.0)
        clock.advance()
        with energy.metered() as meter:
            clock.advance()
            clock.advance()
        assert (meter.energy.seconds, meter.energy.cpu_seconds) == (6.0, 3.0)

    def test_energy_is_the_trackers_in_watt_hours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kilowatt_hours = SimpleNamespace(energy_consumed=0.002)
        tracker = SimpleNamespace(start=lambda: None, stop=lambda: None, final_emissions_data=kilowatt_hours)
        monkeypatch.setattr(energy, "_tracker", lambda: tracker)
        with energy.metered() as meter:
            pass
        assert meter.energy.watt_hours == 2.0

    def test_a_real_tracker_measures_something(self) -> None:
        with energy.metered() as meter:
            sum(range(100_000))
        assert min(meter.energy.seconds, meter.energy.cpu_seconds, meter.energy.watt_hours) > 0

    def test_it_is_not_known_before_the_end(self) -> None:
        with energy.metered() as meter, pytest.raises(RuntimeError, match="only when the block has ended"):
            _ = meter.energy

    def test_a_machine_without_counters_says_modelled(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(energy, "_RAPL", tmp_path)
        assert energy.source_here() == "modelled"
        (tmp_path / "intel-rapl:0").mkdir()
        (tmp_path / "intel-rapl:0" / "energy_uj").write_text("1")
        assert energy.source_here() == "rapl"
        assert energy.source_here("cuda") == "rapl+nvml"


class TestTiming:
    @pytest.mark.parametrize("method", ["colorist", "colorist_float", "colorist_bank", "colorist_batch", "adain"])
    def test_every_figure_of_the_protocol_is_there(self, method: str) -> None:
        told = small(method)
        assert told["iterations"] == 6
        assert told["images"] == 6 * (32 if method == "colorist_batch" else 1)
        assert 0 < told["p50_ms"] <= told["p90_ms"] <= told["p95_ms"] <= told["p99_ms"]
        assert told["throughput_it_s"] == pytest.approx(1000 / told["mean_ms"])
        assert told["energy_source"] in ("rapl", "modelled")

    def test_percentiles_and_rates_are_those_of_the_times(self) -> None:
        spent = energy.Energy(seconds=1.0, cpu_seconds=2.0, watt_hours=0.003, source="modelled")
        told = runtime._summary(np.array([0.1, 0.2, 0.3, 0.4]), 5, spent, images=2)
        assert told["mean_ms"] == pytest.approx(125.0)
        assert told["p50_ms"] == pytest.approx(125.0)
        assert told["images"] == 8  # timed; one more call was metered only
        assert told["cpu_seconds"] == pytest.approx(2.0 / 10)
        assert told["energy_mwh"] == pytest.approx(3.0 / 10)

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


def row(method: str, milliseconds: float, side: int = 256, grid: str = "latency", device: str = "cpu") -> dict[str, Any]:
    times = {f"result.{name}_ms": milliseconds for name in ("mean", "p50", "p90", "p95", "p99")}
    return {
        "grid": grid,
        "method": method,
        "device": device,
        "result.side": side,
        "result.iterations": 1000,
        "result.throughput_it_s": 1000 / milliseconds,
        "result.cpu_seconds": milliseconds / 500,
        "result.energy_mwh": milliseconds / 100,
        "result.energy_source": "modelled",
        **times,
    }


ROWS = [row("adain", 200.0), row("modflows", 9000.0, 512), row("colorist", 0.05), row("colorist_bank", 0.03)]


class TestTable:
    def test_ratios_are_to_the_own_colorist_of_each(self) -> None:
        lines = {
            line.split("|")[1].strip(): [part.strip() for part in line.split("|")]
            for line in markdown(runtime_table.latency(ROWS)).splitlines()
        }
        assert lines["AdaIN"][10] == "4,000"  # 200 / 0.05
        assert lines["AdaIN"][11:13] == ["132", "52"]  # as printed, and 132.20 / 2.53
        assert lines["Modflows"][10] == "180,000"
        assert lines["Colorist, style from a bank"][10:13] == ["0.6", "–", "–"]

    def test_modelled_energy_is_marked_and_processor_time_stands_beside(self) -> None:
        text = markdown(runtime_table.energy(ROWS))
        assert text.count("modelled") == len(ROWS)
        assert "CPU time, ms" in text
        assert "| AdaIN | 2 | modelled | 4,000 | 400 | 4,000 | 4.277 | 80 |" in text

    def test_without_colorist_there_is_nothing_to_compare_to(self) -> None:
        with pytest.raises(OptionError, match="to which all are compared"):
            markdown(runtime_table.latency(ROWS[:2]))
        with pytest.raises(OptionError, match="no row for the device 'cuda'"):
            markdown(runtime_table.latency(ROWS, "cuda"))

    def test_growth_has_a_column_for_each_side(self) -> None:
        grown = [row("colorist", 0.01 * side, side, "growth") for side in (64, 256)] + [row("adain", 9.0, 64, "growth")]
        assert markdown(runtime_table.growth(grown)).splitlines()[2:] == [
            "| Colorist, two 8-bit images | 0.64 | 2.56 |",
            "| AdaIN | 9 | – |",
        ]


def test_figures_are_drawn_and_depend_on_the_rows_alone() -> None:
    grown = [row("colorist", 0.01 * side, side, "growth") for side in (64, 256)]
    for make, given in ((runtime_figure.bars, ROWS), (runtime_figure.growth, grown)):
        assert figures.render(make(given), "svg") == figures.render(make(given), "svg")
    assert figures.render(runtime_figure.bars(ROWS, "energy_mwh"), "svg") != figures.render(runtime_figure.bars(ROWS), "svg")
    with pytest.raises(OptionError, match="accepted are mean_ms"):
        runtime_figure.bars(ROWS, "joules")


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
