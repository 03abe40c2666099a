"""Errors about datasets."""

from recolorist.errors import RecoloristError

__all__ = ["MissingDataError"]


class MissingDataError(RecoloristError):
    """Data that are not where they should be; the message says what, where it was looked for, and what to do."""
