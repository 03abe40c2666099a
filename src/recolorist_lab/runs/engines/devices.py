"""The GPUs of a machine, handed out to the cells that ask for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from recolorist.errors import OptionError

__all__ = ["VARIABLE", "Devices", "visible_devices"]

VARIABLE: Final = "CUDA_VISIBLE_DEVICES"
_ROUNDING: Final = 1e-9  # three thirds are a whole


class Devices:
    """Which GPUs are free. A cell asks for whole ones, or for a share of one.

    Args:
        names: The GPUs as ``CUDA_VISIBLE_DEVICES`` names them.

    Example:
        >>> devices = Devices(["0", "1"])
        >>> devices.take(1.0), devices.take(0.5), devices.take(0.5), devices.fits(0.5)
        (('0',), ('1',), ('1',), False)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._free = dict.fromkeys(names, 1.0)

    def __len__(self) -> int:
        return len(self._free)

    def fits(self, wanted: float) -> bool:
        """Return whether a cell that asks for so many GPUs could start now.

        Raises:
            OptionError: The machine has GPUs, and never as many.
        """
        self._refuse(wanted)
        return not self._free or len(self._choose(wanted)) >= wanted

    def take(self, wanted: float) -> tuple[str, ...]:
        """Reserve GPUs and return their names; none on a machine without any, where cells run on the processor."""
        chosen = self._choose(wanted)
        for name in chosen:
            self._free[name] -= min(wanted, 1.0)
        return chosen

    def give_back(self, names: Sequence[str], wanted: float) -> None:
        """Free what :meth:`take` reserved."""
        for name in names:
            self._free[name] = min(1.0, self._free[name] + min(wanted, 1.0))

    def _choose(self, wanted: float) -> tuple[str, ...]:
        """Find GPUs with room; for a share the fullest of them, so that whole ones stay free."""
        room = [name for name, free in self._free.items() if free + _ROUNDING >= min(wanted, 1.0)]
        if wanted >= 1:
            return tuple(room[: int(wanted)]) if len(room) >= wanted else ()
        return tuple(sorted(room, key=lambda name: self._free[name])[:1]) if wanted else ()

    def _refuse(self, wanted: float) -> None:
        if wanted > 1 and wanted != int(wanted):
            raise OptionError(f"a cell asks for gpus = {wanted:g}; accepted are whole numbers, or a share of one below 1")
        if self._free and wanted > len(self._free):
            raise OptionError(
                f"a cell asks for {wanted:g} GPUs and this machine has {len(self._free)} ({', '.join(self._free)}); lower `gpus` "
                "in the study's resources, or show more in CUDA_VISIBLE_DEVICES"
            )


def visible_devices() -> tuple[str, ...]:
    """Return the GPUs this process may use: those of ``CUDA_VISIBLE_DEVICES``, or else all that torch counts."""
    listed = os.environ.get(VARIABLE)
    if listed is None:
        import torch

        return tuple(str(number) for number in range(torch.cuda.device_count()))
    names = [name.strip() for name in listed.split(",")]
    end = next((place for place, name in enumerate(names) if name in {"", "-1"}), len(names))  # CUDA stops reading there
    return tuple(names[:end])
