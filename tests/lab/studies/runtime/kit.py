"""Rows of the runtime study for its tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from recolorist_lab.runs import energy
from recolorist_lab.studies.runtime import cell as runtime


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
