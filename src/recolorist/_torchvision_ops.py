"""Let torchvision import beside a torch build that its compiled operators do not fit.

torchvision's wheel carries a compiled library linked against one build of torch. Beside another build, such as a CUDA torchvision
with a CPU-only torch, that library does not load. `import torchvision` then stops with "operator torchvision::nms does not
exist", although the transforms need no compiled operator. Declaring the two operators by name, without an implementation, is
enough: the import succeeds, and calling one of them still fails with torch's own message.
"""

from __future__ import annotations

import importlib
import sys
from typing import Final

__all__ = ["declare_missing_ops"]

_SIGNATURE: Final = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_OPERATORS: Final = ("nms", "qnms")
_kept_alive: Final[list[object]] = []  # torch forgets a declaration when its Library object is collected


def declare_missing_ops() -> tuple[str, ...]:
    """Import torchvision, declaring its missing operators if that is what stops it.

    The import is tried first, and nothing is declared unless it fails for this reason. A declaration made before a working
    compiled library loads would collide with it. Without torch or torchvision nothing happens, so that the caller's own import
    raises the error its user knows.

    Returns:
        The names that had to be declared; empty where torchvision works by itself or is not installed.

    Example:
        >>> set(declare_missing_ops()) <= {"nms", "qnms"}
        True
        >>> declare_missing_ops()
        ()
    """
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return ()
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        return _declare()
    return ()


def _declare() -> tuple[str, ...]:
    """Declare the operators and import torchvision again, which now has to work."""
    library = importlib.import_module("torch").library.Library("torchvision", "DEF")
    for name in _OPERATORS:
        library.define(name + _SIGNATURE)
    _kept_alive.append(library)
    for name in [name for name in sys.modules if name.startswith("torchvision.")]:
        del sys.modules[name]  # some are loaded by now, and older versions look for those as attributes of the new package
    importlib.import_module("torchvision")
    return _OPERATORS
