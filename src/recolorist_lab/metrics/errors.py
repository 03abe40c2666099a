"""Errors of the metrics."""

from recolorist.errors import OptionError, RecoloristError

__all__ = ["MetricError", "RangeError"]


class RangeError(OptionError):
    """Images with a shape, type or range that a metric does not accept."""


class MetricError(RecoloristError):
    """A metric that could not be computed. No other value is reported instead."""
