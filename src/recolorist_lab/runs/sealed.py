"""Sealed files: JSON that carries the checksum of its own content, so that a damaged or half-written one is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from recolorist.errors import RecoloristError
from recolorist_lab.runs.config import Json, digest

__all__ = ["CorruptError", "read", "seal", "unseal"]

_FORMAT: Final = "recolorist.sealed/1"


class CorruptError(RecoloristError):
    """A file whose content does not match its checksum."""


def seal(payload: dict[str, Any]) -> bytes:
    """Write a payload with its checksum, as text that people can read.

    Args:
        payload: What JSON can hold.

    Returns:
        The bytes of the file.

    Example:
        >>> unseal(seal({"error": 0.25}), "result.json")
        {'error': 0.25}
    """
    return _text(payload, digest(payload))


def unseal(data: bytes, name: str) -> dict[str, Json]:
    """Read a payload, if every byte is as it was written.

    Args:
        data: The bytes of the file.
        name: The file, for the message.

    Returns:
        The payload.

    Raises:
        CorruptError: The file was damaged, cut short or edited.

    Example:
        >>> unseal(seal({"error": 0.25}).replace(b"0.25", b"0.26"), "result.json")
        Traceback (most recent call last):
        recolorist_lab.runs.sealed.CorruptError: result.json does not match its checksum; ...
    """
    try:
        document = json.loads(data)
        payload = document["payload"]
        is_intact = isinstance(payload, dict) and _text(payload, digest(payload)) == data
    except (ValueError, KeyError, TypeError, RecursionError):
        is_intact = False
    if not is_intact:
        raise CorruptError(f"{name} does not match its checksum; it was damaged, cut short or edited after it was written")
    return payload  # type: ignore[no-any-return]


def read(path: Path) -> dict[str, Json]:
    """Read a sealed file.

    Args:
        path: The file.

    Returns:
        Its content.

    Raises:
        CorruptError: It does not match its checksum.
    """
    return unseal(path.read_bytes(), str(path))


def _text(payload: dict[str, Any], checksum: str) -> bytes:
    document = {"format": _FORMAT, "sha256": checksum, "payload": payload}
    return (json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()
