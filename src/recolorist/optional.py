"""Libraries that come with an extra: imported when a file or an option asks for them, and named when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Final

from recolorist.errors import RecoloristError

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
    """Something was asked for that an optional library does."""


def load(name: str, why: str) -> ModuleType:
    """Import a library of an extra; ``why`` ends the sentence "... is needed to".

    >>> load("no_such_library", "read clay tablets")
    Traceback (most recent call last):
    recolorist.optional.MissingExtraError: no_such_library is needed to read clay tablets, and cannot be imported ...
    """
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: the library is there, but not the shared object it wraps
        extra = EXTRAS.get(name, name)
        raise MissingExtraError(
            f"{name} is needed to {why}, and cannot be imported ({error}); install it with: pip install 'recolorist[{extra}]'"
        ) from error
