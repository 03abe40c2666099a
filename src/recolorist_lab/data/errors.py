"""Errors about datasets."""

from recolorist.errors import RecoloristError

__all__ = ["MissingDataError"]


class MissingDataError(RecoloristError):
    """Data that were not found; the message says what is missing, where it was looked for, and what to do."""
