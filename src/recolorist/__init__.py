"""Give an image the colour statistics of another one: fast, repeatably, and with a record of what was done.

>>> import numpy as np
>>> import recolorist as rc
>>> rng = np.random.default_rng(0)
>>> content, style = rng.integers(50, 200, (2, 64, 48, 3), dtype=np.uint8)
>>> plan = rc.plan(rc.measure(content), rc.measure(style))
>>> np.array_equal(rc.apply(content, plan), rc.match(content, style))
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from recolorist._version import __version__
from recolorist.errors import RecoloristError

try:
    from recolorist.core.apply import apply
    from recolorist.core.audit import Audit, audit
    from recolorist.core.match import MATCHERS, match
    from recolorist.core.moments import Moments, measure
    from recolorist.core.plan import Plan, plan
    from recolorist.core.spaces import SPACES
except KeyboardInterrupt:  # of a command of ours, for which a traceback says nothing; a program that imports us gets it as it is
    from recolorist._interrupt import exit_interrupted, is_command

    if is_command():
        exit_interrupted("recolorist")
    raise

if TYPE_CHECKING:
    from recolorist.augment.batches import match_within_batch
    from recolorist.augment.colorist import Colorist
    from recolorist.augment.harmoniser import Harmonisation, Harmoniser
    from recolorist.bank.style_bank import StyleBank

# needed for training, not for matching: loaded when first asked for
_LATER: Final = {
    "Colorist": "augment.colorist",
    "Harmonisation": "augment.harmoniser",
    "Harmoniser": "augment.harmoniser",
    "StyleBank": "bank.style_bank",
    "match_within_batch": "augment.batches",
}

__all__ = [
    "MATCHERS",
    "SPACES",
    "Audit",
    "Colorist",
    "Harmonisation",
    "Harmoniser",
    "Moments",
    "Plan",
    "RecoloristError",
    "StyleBank",
    "__version__",
    "apply",
    "audit",
    "match",
    "match_within_batch",
    "measure",
    "plan",
]


def __getattr__(name: str) -> Any:
    """Load what is needed for training on first use."""
    if name in _LATER:
        return getattr(import_module(f"recolorist.{_LATER[name]}"), name)
    raise AttributeError(f"module 'recolorist' has no attribute {name!r}")
