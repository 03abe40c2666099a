"""What the metrics raise."""

from recolorist.errors import OptionError, RecoloristError

__all__ = ["MetricError", "RangeError"]


class RangeError(OptionError):
    """Images whose shape, type or range a metric does not take."""


class MetricError(RecoloristError):
    """A metric that could not be computed. Nothing is ever put in its place."""
