"""The error classes. Every message says what was given, what is accepted, and what to do."""

__all__ = ["ImageError", "OptionError", "RecoloristError", "StatisticsError"]


class RecoloristError(ValueError):
    """Any input Recolorist cannot honour; catch this one to catch them all."""


class ImageError(RecoloristError):
    """An image, mask or output array that cannot be used as it is."""


class StatisticsError(RecoloristError):
    """Moments or a plan that contradict each other or the image they are applied to."""


class OptionError(RecoloristError):
    """An option with an unknown name or a value outside its range."""
