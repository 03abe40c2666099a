"""The Studio: one static page that matches colours in the browser. No server, no network, nothing leaves the machine."""

from __future__ import annotations

import os
from pathlib import Path

from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write
from recolorist.studio.bundle import page

__all__ = ["page", "write"]


def write(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the page to a file, whole or not at all.

    Args:
        path: The file to write.
        overwrite: Replace a file that is there already.

    Returns:
        The path of the file.

    Raises:
        RecoloristError: The file exists and may not be replaced, or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(Path(folder) / "studio.html").stat().st_size < 2_000_000
        True
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise RecoloristError(f"{target} exists already; choose another name, or pass overwrite=True to replace it")
    return atomic_write(target, page().encode())
