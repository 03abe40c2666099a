"""Energy of a piece of work, by codecarbon, with a note on whether it was measured or modelled.

Where the machine has counters (RAPL for the processor, NVML for a card) they are read. Where it has none, codecarbon models: a
constant for the memory and a table for the processor, times the time. Such a number says little more than the time does, so it is
marked *modelled*, and the processor time stands beside it, which was measured.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from recolorist import optional

__all__ = ["Energy", "Meter", "Source", "metered", "source_here"]

Source: TypeAlias = Literal["rapl", "nvml", "rapl+nvml", "modelled"]

_RAPL: Final = Path("/sys/class/powercap")
_COUNTRY: Final = "DEU"  # codecarbon wants one for grams of carbon dioxide, which we do not report


@dataclass(frozen=True, slots=True)
class Energy:
    """What some work took."""

    seconds: float  #: wall clock
    cpu_seconds: float  #: of the processor: all threads of this process, user and system
    watt_hours: float
    source: Source


class Meter:
    """Filled when the block ends."""

    def __init__(self) -> None:
        self._energy: Energy | None = None

    @property
    def energy(self) -> Energy:
        """What was measured; the block must have ended.

        Raises:
            RuntimeError: The block has not ended.
        """
        if self._energy is None:
            raise RuntimeError("the energy is known only when the block has ended")
        return self._energy

    def fill(self, energy: Energy) -> None:
        """Keep the result.

        Args:
            energy: What was measured.
        """
        self._energy = energy


@contextmanager
def metered(device: str = "cpu") -> Iterator[Meter]:
    """Measure the time and energy of a block.

    Args:
        device: Where the block computes.

    Yields:
        A meter, which holds the energy after the block.

    Example:
        >>> with metered() as meter:
        ...     _ = sum(range(100_000))
        >>> meter.energy.seconds > 0, meter.energy.watt_hours > 0
        (True, True)
    """
    meter = Meter()
    with _quiet():
        tracker = _tracker()
        tracker.start()
    wall, cpu = time.perf_counter(), time.process_time()
    yield meter
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with _quiet():
        tracker.stop()
    kilowatt_hours = float(tracker.final_emissions_data.energy_consumed)
    meter.fill(Energy(wall, cpu, 1000.0 * kilowatt_hours, source_here(device)))


def source_here(device: str = "cpu") -> Source:
    """Return where numbers of energy come from on this machine.

    Args:
        device: Where the work is done.

    Returns:
        Counters of the processor or GPU, or a model.

    Example:
        >>> source_here() in ("rapl", "modelled")
        True
    """
    processor = any(os.access(counter, os.R_OK) for counter in _RAPL.glob("intel-rapl:*/energy_uj"))
    if device.startswith("cuda"):
        return "rapl+nvml" if processor else "nvml"
    return "rapl" if processor else "modelled"


def _tracker() -> Any:
    module: Any = optional.load("codecarbon", "measure energy")
    return module.OfflineEmissionsTracker(
        country_iso_code=_COUNTRY,
        save_to_file=False,
        log_level="critical",
        allow_multiple_runs=True,
        tracking_mode="machine",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Codecarbon warns about every machine that has no counters, which we say ourselves."""
    logger = logging.getLogger("codecarbon")
    level, logger.disabled = logger.level, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = False
        logger.setLevel(level)
