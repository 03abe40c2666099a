"""Match the pairs of the demonstration, train its classifier, and write pictures, plans and one page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recolorist.demo.figure import accuracy_chart, channels_chart, index_page, mark_clipped, png
from recolorist.demo.hospitals import Score, compare
from recolorist.demo.pairs import Pair, cases, match_case
from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write

__all__ = ["DemoResult", "run"]


@dataclass(frozen=True)
class DemoResult:
    """The files of a demonstration, its matched pairs and the scores of its classifier."""

    folder: Path
    files: tuple[Path, ...]
    pairs: tuple[Pair, ...]
    scores: tuple[Score, ...]

    @property
    def page(self) -> Path:
        """Path of the page that shows everything."""
        return self.folder / "index.html"

    def to_json(self) -> str:
        """Return the tables and the names of the files as JSON."""
        facts = {
            "folder": str(self.folder),
            "files": [path.name for path in self.files],
            "pairs": [pair.row() for pair in self.pairs],
            "scores": [score.row() for score in self.scores],
        }
        return json.dumps(facts, indent=2)


def run(out_dir: str | os.PathLike[str] = "recolorist-demo", *, studio: str | None = None) -> DemoResult:
    """Match pairs, train a classifier on synthetic hospitals and write the files; those of an earlier run are replaced.

    Args:
        out_dir: The folder; made if it is not there.
        studio: Path of the Studio from the folder, for a link in the page.

    Returns:
        The files, the pairs and the scores.

    Raises:
        RecoloristError: The folder cannot be made or written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = run(folder)
        ...     result.page.name, result.page.exists(), len(result.pairs)
        ('index.html', True, 4)
    """
    folder = Path(out_dir)
    pairs = tuple(match_case(case) for case in cases())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecoloristError(
            f"the demo could not write into {folder} ({error.strerror}); choose another folder with --out"
        ) from error
    scores = compare()
    files = tuple(atomic_write(folder / name, data) for name, data in _files(pairs, scores, studio))
    return DemoResult(folder, files, pairs, scores)


def _files(pairs: tuple[Pair, ...], scores: tuple[Score, ...], studio: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file; the page comes last."""
    for pair in pairs:
        pictures = {
            "content": pair.case.content,
            "style": pair.case.style,
            "output": pair.output,
            "clipped": mark_clipped(pair.output, pair.below, pair.above, pair.case.mask),
        }
        for name, picture in pictures.items():
            yield f"{pair.case.key}_{name}.png", png(picture)
        yield f"{pair.case.key}_channels.svg", channels_chart(pair).encode()
        yield f"{pair.case.key}_plan.json", pair.plan.to_json().encode()
    yield "hospitals.svg", accuracy_chart(scores).encode()
    yield "index.html", index_page(pairs, scores, studio).encode()
