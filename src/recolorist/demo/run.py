"""Match the pairs of the demonstration and write their pictures, plans and page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recolorist.demo.figure import channels_chart, clipped_picture, contact_sheet, png
from recolorist.demo.pairs import Pair, cases, match_case
from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write

__all__ = ["DemoResult", "run"]


@dataclass(frozen=True)
class DemoResult:
    """The files of a demonstration and its matched pairs."""

    folder: Path
    files: tuple[Path, ...]
    pairs: tuple[Pair, ...]

    @property
    def sheet(self) -> Path:
        """Path of the contact sheet."""
        return self.folder / "contact_sheet.html"

    def to_json(self) -> str:
        """Return the table and the names of the files as JSON."""
        rows = [pair.row() for pair in self.pairs]
        return json.dumps({"folder": str(self.folder), "files": [path.name for path in self.files], "pairs": rows}, indent=2)


def run(out_dir: str | os.PathLike[str] = "recolorist-demo") -> DemoResult:
    """Match the demonstration's pairs and write their files; those of an earlier run are replaced.

    Args:
        out_dir: The folder; made if it is not there.

    Returns:
        The files and the pairs.

    Raises:
        RecoloristError: The folder cannot be made or written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = run(folder)
        ...     result.sheet.name, result.sheet.exists(), len(result.pairs)
        ('contact_sheet.html', True, 4)
    """
    folder = Path(out_dir)
    pairs = tuple(match_case(case) for case in cases())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecoloristError(
            f"the demo could not write into {folder} ({error.strerror}); choose another folder with --out"
        ) from error
    files = tuple(atomic_write(folder / name, data) for name, data in _files(pairs))
    return DemoResult(folder, files, pairs)


def _files(pairs: tuple[Pair, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file; the contact sheet comes last."""
    for pair in pairs:
        pictures = {
            "content": pair.case.content,
            "style": pair.case.style,
            "output": pair.output,
            "clipped": clipped_picture(pair.output, pair.below, pair.above, pair.case.mask),
        }
        for name, picture in pictures.items():
            yield f"{pair.case.key}_{name}.png", png(picture)
        yield f"{pair.case.key}_channels.svg", channels_chart(pair).encode()
        yield f"{pair.case.key}_plan.json", pair.plan.to_json().encode()
    yield "contact_sheet.html", contact_sheet(pairs).encode()
