"""The record of a run: one line of provenance for each output, noted as it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from recolorist.collections.target import OutputError, Target, output_error
from recolorist.io.files import atomic_write
from recolorist.io.reading import display_path

__all__ = ["JOURNAL", "PROVENANCE", "Journal", "as_line", "read_records"]

PROVENANCE: Final = "provenance.jsonl"
JOURNAL: Final = ".provenance.journal"
_JSON: Final = json.JSONEncoder(allow_nan=False)


def _open(path: str, flags: int) -> int:
    """Open a file for writing, but not through a link, which could lead out of the target."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


class Journal:
    """One JSON line per output, written as it gets done; at the end all of them in order, as ``provenance.jsonl``."""

    def __init__(self, target: Target) -> None:
        """Open the journal of a run; lines of an earlier one stay."""
        self._path = Path(target.folder) / JOURNAL
        self._final = Path(target.folder) / PROVENANCE
        try:
            self._file = open(self._path, "ab", buffering=0, opener=_open)  # noqa: SIM115
            self._file.write(b"\n")  # ends a line that a kill cut off
        except OSError as error:
            raise OutputError(f"{display_path(self._path)} cannot be written: {error.strerror}; choose another folder") from error

    def add(self, lines: Iterable[str]) -> None:
        """Note what was done.

        Args:
            lines: One line for each output.

        Raises:
            OutputError: No file can be written there.
            ImageError: This file alone cannot be written.
        """
        try:
            self._file.write("\n".join([*lines, ""]).encode())
        except OSError as error:
            raise output_error(JOURNAL, error) from error

    def close(self, lines: Iterable[str] | None) -> None:
        """Write the final list and drop the journal; None keeps the journal for a resume.

        Args:
            lines: The final list; None keeps the journal.
        """
        self._file.close()
        if lines is not None:
            atomic_write(self._final, "\n".join([*lines, ""]).encode())
            self._path.unlink(missing_ok=True)


def read_records(target: Target) -> list[dict[str, Any]]:
    """Return the records of earlier runs; lines that are cut off or are no records are passed over.

    Args:
        target: The folder that is written into.

    Returns:
        The records, earlier ones first.
    """
    records = []
    for name in (PROVENANCE, JOURNAL):
        path = Path(target.folder) / name
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        for line in lines:
            with suppress(ValueError, RecursionError):
                record = json.loads(line)
                if isinstance(record, dict) and {"source", "output", "sha256"} <= record.keys():
                    records.append(record)
    return records


def as_line(record: dict[str, Any]) -> str:
    r"""One line of JSON, ASCII only: names with line breaks or broken characters stay on it and come back as they were.

    Args:
        record: Plain values.

    Returns:
        The line, without its end.

    Example:
        >>> as_line({"source": "a\nb"})
        '{"source": "a\\nb"}'
    """
    return _JSON.encode(record)
