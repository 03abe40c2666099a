"""Run all studies with one command: choose them, leave out what cannot run, run them, and write the report.

The studies are files; which there are, and their quick configurations, is read from their folder. Everything that was done is in
the ledger, so a second run goes on where the first one ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.assets import weights
from recolorist_lab.data.named import ABSENT
from recolorist_lab.runs.config import roles
from recolorist_lab.runs.kinds import KINDS, headings
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import remember
from recolorist_lab.runs.study import Cell, Study, load
from recolorist_lab.runs.sweep import Engine, Progress, Report, run_study

__all__ = ["NETWORKS", "Reproduction", "configs", "on_device", "planned", "run"]

#: Weights of the networks that measure a transfer.
NETWORKS: Final = ("fid_inception", "alexnet_features")
_QUICK, _BARE = ".quick.toml", ".quick-bare.toml"

OnProgress = Callable[[Progress], None]
#: Makes an engine for so many jobs.
Engines = Callable[[int], Engine]
#: Shows how far a study is.
Bars = Callable[[str], AbstractContextManager[OnProgress]]


@dataclass(frozen=True)
class Reproduction:
    """The studies to run, in order, and what was left out and why."""

    files: Mapping[str, Path]  #: by name of the study
    studies: tuple[Study, ...]
    left_out: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """The number of cells of all studies."""
        return sum(len(study.cells) for study in self.studies)


def configs() -> Path:
    """Return the folder of the paper's studies: in the package, or in the repository it is run from.

    Returns:
        The folder.

    Raises:
        OptionError: This installation does not have them.

    Example:
        >>> (configs() / "spaces.toml").is_file()
        True
    """
    module_file = Path(__file__).resolve()
    for folder in (module_file.parents[1] / "configs", module_file.parents[3] / "configs"):
        if any(folder.glob("*.toml")):
            return folder
    raise OptionError("this installation has no study files; name their folder with --configs")


def planned(folder: Path, *, quick: bool, only: Sequence[str] = ()) -> Reproduction:
    """Plan the studies of a folder, or their quick configurations.

    If the weights of the metrics' networks are not on this machine, a quick configuration that needs them is replaced by the one
    without. Nothing is downloaded unasked, and no other number replaces a metric that could not be computed.

    Args:
        folder: The folder of the studies.
        quick: Take the quick configurations.
        only: Names of studies; all if empty.

    Returns:
        The plan.

    Raises:
        OptionError: The folder has no study, or not one of those named.
    """
    files_by_name = {
        path.name.removesuffix(_QUICK if quick else ".toml"): path for path in sorted(folder.glob("*.toml")) if _is(path, quick)
    }
    if not files_by_name:
        raise OptionError(
            f"{folder} contains no {'*.quick.toml' if quick else '*.toml'}; name the folder of the studies with --configs"
        )
    if unknown := [name for name in only if name not in files_by_name]:
        raise OptionError(f"{', '.join(unknown)}: no such study in {folder}; there are {', '.join(files_by_name)}")
    order = list(headings())  # that of the paper; other studies follow by name
    names = sorted(only or files_by_name, key=lambda name: (order.index(name) if name in order else len(order), name))
    files, left_out = {}, []
    for name in names:
        bare = folder / f"{name}{_BARE}"
        if quick and bare.is_file() and not _have_networks():
            files[name] = bare
            left_out.append(
                f"{name}: LPIPS, FID, KID and ArtFID are left out, because the weights of their networks were not found; "
                f"`recolorist-lab weights fetch {' '.join(NETWORKS)}` downloads them, and the same command then measures them"
            )
        else:
            files[name] = files_by_name[name]
    studies = tuple(load(path) for path in files.values())
    return Reproduction({study.name: path for study, path in zip(studies, files.values(), strict=True)}, studies, tuple(left_out))


def _is(path: Path, quick: bool) -> bool:
    return path.name.endswith(_QUICK) if quick else ".quick" not in path.name


def _have_networks() -> bool:
    return all(weights.find_weights(name) is not None for name in NETWORKS)


def on_device(studies: Iterable[Study], device: str) -> tuple[Study, ...]:
    """Put studies on a device. Only the field that says where work is done changes, so every run id stays.

    Args:
        studies: The studies.
        device: Name of the device.

    Returns:
        The same studies.
    """
    return tuple(dataclasses.replace(study, cells=tuple(_place_cell(cell, device) for cell in study.cells)) for study in studies)


def _place_cell(cell: Cell, device: str) -> Cell:
    inputs = tuple((grid, _place_cell(earlier, device)) for grid, earlier in cell.inputs)
    if roles(type(cell.config)).get("device") != "operational":
        return dataclasses.replace(cell, inputs=inputs)
    return dataclasses.replace(cell, inputs=inputs, config=dataclasses.replace(cell.config, device=device))


def run(
    plan: Reproduction, ledger: Ledger, engines: Engines, jobs: int, bars: Bars, on_report: Callable[[str, Report], None]
) -> dict[str, Report]:
    """Run every study to its end; one that fails somewhere does not keep the others from running.

    Cells whose data are not here are not begun: they would only fail. The report marks what they leave open.

    Args:
        plan: The studies.
        ledger: Where results are kept.
        engines: Makes an engine for so many cells at a time.
        jobs: Cells at a time.
        bars: Makes a progress display for a study.
        on_report: Called with the name of each study that ended, and how it ended.

    Returns:
        How each study ended, by name.
    """
    reports: dict[str, Report] = {}
    for study in plan.studies:
        remember(ledger, plan.files[study.name])
        ready = tuple(cell for cell in study.cells if cell.data != ABSENT)
        alone = any(KINDS[cell.kind].alone for cell in ready)
        with bars(study.name) as update:
            report = run_study(dataclasses.replace(study, cells=ready), ledger, engines(1 if alone else jobs), on_progress=update)
        report.total = len(study.cells)
        reports[study.name] = report
        on_report(study.name, report)
    return reports
