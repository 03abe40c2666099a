"""The samplers at the path that user code imports; they are defined in :mod:`recolorist.augment.samplers`."""

from recolorist.augment.samplers import *  # noqa: F403 - exactly the names of its __all__
from recolorist.augment.samplers import __all__ as __all__  # noqa: PLC0414 - the same list
