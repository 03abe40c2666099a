"""Time and energy of a block of code."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from recolorist_lab.runs import energy
from tests.lab.studies.runtime.kit import Clock


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
