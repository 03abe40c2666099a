"""Chooses the hot loops: compiled ones where the extension was built, their NumPy fallback elsewhere. No policy, no checks.

``RECOLORIST_KERNEL=numpy`` in the environment forces the fallback; :func:`active` says which is in use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Literal

from recolorist.core.kernels import fallback as kernels_numpy
from recolorist.errors import OptionError

__all__ = ["KernelName", "active", "loops", "using"]

try:
    _compiled: ModuleType | None = import_module("recolorist.core.kernels._kernels")
except ImportError:  # installed where no compiler was found
    _compiled = None

KernelName = Literal["c", "numpy"]


def _choose(name: str) -> ModuleType:
    available = {"numpy": kernels_numpy} | ({"c": _compiled} if _compiled else {})
    if name not in available:
        raise OptionError(
            f"kernel {name!r} is not available here; choose from {sorted(available)}. "
            "The compiled one is built by `pip install` where a C compiler is present."
        )
    return available[name]


#: The module whose functions do the work. Looked up at call time, so that `using` can exchange it.
loops: ModuleType = _choose(os.environ.get("RECOLORIST_KERNEL") or ("c" if _compiled else "numpy"))


def active() -> KernelName:
    """Say which loops are in use.

    >>> active() in ("c", "numpy")
    True
    """
    return "numpy" if loops is kernels_numpy else "c"


@contextmanager
def using(name: KernelName) -> Iterator[None]:
    """Use the named loops for a while; meant for tests and benchmarks, not for threads.

    >>> with using("numpy"):
    ...     active()
    'numpy'
    """
    global loops  # noqa: PLW0603 - one switch for the whole process is the point
    before = loops
    loops = _choose(name)
    try:
        yield
    finally:
        loops = before
