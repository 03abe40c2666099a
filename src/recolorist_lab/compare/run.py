"""Run a comparison from the images to the report. An interrupted one continues after its last finished training."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.compare.folds import make_folds, notes_on, write_folds
from recolorist_lab.compare.images import ImageSource, empty_hospitals, find_images, store_images
from recolorist_lab.compare.plan import Training, seconds_per_training, write_study, write_timing
from recolorist_lab.compare.results import Comparison, collect
from recolorist_lab.data.index import Bar
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.runs.engines.local import LocalEngine
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study
from recolorist_lab.runs.sweep import run_study

__all__ = ["Request", "compare"]

_PRELOAD: Final = "recolorist_lab.compare.preload"
_NAMED: Final = 5  # files that a report names
Shown = Callable[[str], AbstractContextManager[Callable[[Any], None]]]


@dataclass(frozen=True)
class Request:
    """One comparison.

    Attributes:
        source: Where the images are.
        folder: Where everything is written: images, study, ledger.
        training: How networks are trained.
        seeds: How many trainings of each kind.
        test_share: Share of the images that is held out where there is one hospital.
        jobs: Trainings at a time.
    """

    source: ImageSource
    folder: Path
    training: Training
    seeds: int = 3
    test_share: float = 0.0
    jobs: int = 2


def compare(request: Request, *, say: Callable[[str], None], shown: Shown, bar: Bar | None = None) -> Comparison:
    """Run a comparison.

    Args:
        request: What to compare, and where.
        say: Takes sentences for people, such as how long it will take.
        shown: Makes a progress display for a study.
        bar: Shows how many files were opened.

    Returns:
        The results of all trainings.

    Raises:
        OptionError: If the folder holds something else.
        RecoloristError: If a training failed.
    """
    folder = request.folder
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "ledger").is_dir():
        raise OptionError(f"{folder} contains other files; name a new folder with --out, or that of an earlier comparison")
    data = folder / "data"
    manifest, root = find_images(request.source, request.jobs, bar)
    make_folds(manifest, request.seeds, request.test_share)  # refuses what cannot be compared before anything is written
    ledger = Ledger(folder / "ledger")  # first of all: it marks the folder as that of a comparison
    folds = make_folds(store_images(manifest, root, data, request.training.size), request.seeds, request.test_share)
    write_folds(folds, data)
    training = request.training.with_epochs(folds)
    notes = [*notes_on(folds), *_left_out(manifest), *empty_hospitals(request.source, manifest)]
    timing = write_timing(folder / "timing.toml", data, folds, training)
    if any(ledger.state(cell).name != "done" for cell in timing.cells):
        say("Two short trainings first, to estimate the time.")
    _run(timing, ledger, request.jobs, shown)
    study = write_study(folder / "study.toml", data, folds, training)
    left = sum(ledger.state(cell).name != "done" for cell in study.cells)
    seconds = seconds_per_training(timing, ledger, training)
    say(_forecast(len(manifest), len(study.cells), left, seconds, request.jobs))
    _run(study, ledger, request.jobs, shown)
    return collect(study, ledger, folds, training, notes)


def _run(study: Study, ledger: Ledger, jobs: int, shown: Shown) -> None:
    for cell in study.cells:
        if ledger.state(cell).name == "failed":  # a repeated command tries failed trainings again
            ledger.retry(cell)
    with shown(study.name) as update:
        report = run_study(study, ledger, LocalEngine(ledger, jobs, _PRELOAD), on_progress=update)
    if report.failed:
        name, message = next(iter(report.failed.items()))
        raise RecoloristError(f"{len(report.failed)} of {report.total} trainings failed; {name}: {message}")


def _forecast(images: int, total: int, left: int, seconds: float, jobs: int) -> str:
    """Say how long it will take.

    >>> _forecast(900, 45, 45, 20.0, 2)
    '900 images; 45 trainings of about 20 s, 2 at a time: about 8 minutes.'
    """
    before = f" ({total - left} done before)" if left < total else ""
    remaining = seconds * -(-left // jobs)
    time = (
        f"{remaining:.0f} s"
        if remaining < 100
        else f"{remaining / 60:.0f} minutes"
        if remaining < 6000
        else f"{remaining / 3600:.1f} hours"
    )
    return f"{images:,} images; {total} trainings{before} of about {seconds:.0f} s, {jobs} at a time: about {time}."


def _left_out(manifest: Manifest) -> list[str]:
    """Name the files that were left out, and why; all of them where they are few."""
    excluded = manifest.facts.excluded
    sentences = [f"{item.path} was left out: {item.reason}." for item in excluded[:_NAMED]]
    more = len(excluded) - len(sentences)
    return [*sentences, *([f"{more:,} more files were left out."] if more else [])]
