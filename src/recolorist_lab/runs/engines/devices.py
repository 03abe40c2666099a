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

    def fits(self, gpus: float) -> bool:
        """Return whether a cell that asks for so many GPUs could start now.

        Args:
            gpus: How many it asks for.

        Returns:
            True if it could.

        Raises:
            OptionError: The machine has GPUs, and never as many.
        """
        self._refuse(gpus)
        return not self._free or len(self._choose(gpus)) >= gpus

    def take(self, gpus: float) -> tuple[str, ...]:
        """Reserve GPUs; a machine without any runs cells on its processor.

        Args:
            gpus: How many, or a share of one.

        Returns:
            Their names.
        """
        chosen = self._choose(gpus)
        for name in chosen:
            self._free[name] -= min(gpus, 1.0)
        return chosen

    def give_back(self, names: Sequence[str], gpus: float) -> None:
        """Free what :meth:`take` reserved.

        Args:
            names: Names of GPUs.
            gpus: How many, or a share of one.
        """
        for name in names:
            self._free[name] = min(1.0, self._free[name] + min(gpus, 1.0))

    def _choose(self, gpus: float) -> tuple[str, ...]:
        """Find GPUs with enough left; for a share the fullest of them, so that whole ones stay free."""
        fitting = [name for name, free in self._free.items() if free + _ROUNDING >= min(gpus, 1.0)]
        if gpus >= 1:
            return tuple(fitting[: int(gpus)]) if len(fitting) >= gpus else ()
        return tuple(sorted(fitting, key=lambda name: self._free[name])[:1]) if gpus else ()

    def _refuse(self, gpus: float) -> None:
        if gpus > 1 and gpus != int(gpus):
            raise OptionError(f"a cell asks for gpus = {gpus:g}; accepted are whole numbers, or a share of one below 1")
        if self._free and gpus > len(self._free):
            raise OptionError(
                f"a cell asks for {gpus:g} GPUs and this machine has {len(self._free)} ({', '.join(self._free)}); lower `gpus` "
                "in the study's resources, or show more in CUDA_VISIBLE_DEVICES"
            )


def visible_devices() -> tuple[str, ...]:
    """List the GPUs that this process may use: those of ``CUDA_VISIBLE_DEVICES``, or all that torch counts.

    Returns:
        Their names.
    """
    listed = os.environ.get(VARIABLE)
    if listed is None:
        import torch

        return tuple(str(number) for number in range(torch.cuda.device_count()))
    names = [name.strip() for name in listed.split(",")]
    end = next((place for place, name in enumerate(names) if name in {"", "-1"}), len(names))  # CUDA stops reading there
    return tuple(names[:end])
