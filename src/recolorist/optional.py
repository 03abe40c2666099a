"""Import libraries of the extras when they are needed, and name those that are missing."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Final

from recolorist.errors import RecoloristError

__all__ = ["EXTRAS", "MissingExtraError", "how_to_install", "load"]

#: Module to the extra that installs it.
EXTRAS: Final = {
    "imagecodecs": "tiff",
    "pydicom": "dicom",
    "openslide": "slides",
    "zarr": "zarr",
    "pyarrow": "parquet",
    "ray": "ray",
    "matplotlib": "lab",
    "codecarbon": "lab",
    "torch.utils.tensorboard": "tensorboard",
}


class MissingExtraError(RecoloristError):
    """An optional library is needed and cannot be imported."""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, from an index and from a clone of the repository.

    Args:
        extra: The name of the extra.

    Returns:
        The command.

    Example:
        >>> print(how_to_install("torch"))
        pip install 'recolorist[torch]' (in a clone: pip install '.[torch]')
    """
    return f"pip install 'recolorist[{extra}]' (in a clone: pip install '.[{extra}]')"


def load(name: str, why: str) -> ModuleType:
    """Import a library of an extra.

    Args:
        name: The module to import.
        why: The end of the sentence "... is needed to".

    Returns:
        The module.

    Raises:
        MissingExtraError: The module cannot be imported; the message names the extra that installs it.

    Example:
        >>> load("no_such_library", "read my format")
        Traceback (most recent call last):
        recolorist.optional.MissingExtraError: no_such_library is needed to read my format, and cannot be imported ...
    """
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: the library is there, but not the shared object it wraps
        extra = EXTRAS.get(name, name)
        raise MissingExtraError(
            f"{name} is needed to {why}, and cannot be imported ({error}); install it with: {how_to_install(extra)}"
        ) from error
