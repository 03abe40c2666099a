"""Checksums inside files of weights: safetensors has none, so a damaged byte would be loaded without an error.

The seal is one more entry of the file's metadata, which every reader of safetensors passes over. Files of others have none and
are read as they are.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from recolorist.errors import RecoloristError

__all__ = ["SealError", "seal_weights", "verify_weights"]

_KEY: Final = "recolorist.sha256"
_LENGTH: Final = 8  # bytes that hold the length of the header
_MOST_HEADER: Final = 100_000_000  # as the format itself has it


class SealError(RecoloristError):
    """A file of weights whose content does not match its checksum."""


def seal_weights(data: bytes) -> bytes:
    """Put the checksum of tensors and metadata into a safetensors file.

    Args:
        data: The file, as safetensors wrote it.

    Returns:
        The sealed file. Equal content gives equal bytes.

    Example:
        >>> empty = b'{"__metadata__":{"a":"b"}}'
        >>> sealed = seal_weights(len(empty).to_bytes(8, "little") + empty)
        >>> verify_weights(sealed, "a.safetensors")
        True
    """
    header, body = _split(data)
    metadata = header.setdefault("__metadata__", {})
    metadata.pop(_KEY, None)
    metadata[_KEY] = _digest(header, body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH)  # tensors begin at a multiple of eight
    return len(text).to_bytes(_LENGTH, "little") + text + body


def verify_weights(data: bytes, name: str) -> bool:
    """Check the seal of a safetensors file.

    Args:
        data: The file.
        name: What to call it in an error.

    Returns:
        Whether there is a seal; a file that is not safetensors has none.

    Raises:
        SealError: There is one, and the content does not match it.
    """
    try:
        header, body = _split(data)
        sealed = header.get("__metadata__", {}).pop(_KEY, None)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False
    if sealed is None:
        return False
    if sealed != _digest(header, body):
        raise SealError(f"{name} does not match its checksum; it was damaged or edited after it was written: copy it again")
    return True


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:_LENGTH], "little")
    if length > min(len(data), _MOST_HEADER):
        raise ValueError("the header is longer than the file")
    header = json.loads(data[_LENGTH : _LENGTH + length])
    if not isinstance(header, dict):
        raise TypeError("the header is not a table")
    return header, data[_LENGTH + length :]


def _digest(header: dict[str, Any], body: bytes) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    digest.update(body)
    return digest.hexdigest()
