"""Estimate what a whole study needs before it starts: data, hours, disk.

A cell of each costly kind is run at the study's own image size on a few synthetic tiles. Its time for one image is multiplied by
the images of every cell that has no result yet. That is rough, and the words beside the numbers say how they came about.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from recolorist.errors import RecoloristError
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.data.named import ABSENT, fingerprint_of
from recolorist_lab.data.registry import find_card
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger, Result
from recolorist_lab.runs.study import Cell, Study
from recolorist_lab.studies.protocol import EVALUATION_SIZE
from recolorist_lab.studies.rates import FORWARD, Rates, has_printed_time, speed_up

__all__ = ["Data", "Needs", "Rates", "StudyWork", "data_needed", "measured", "needs_of", "seconds_of", "speed_up"]

_TILES: Final = "synthetic:hospitals=3,tiles=16,size=64"
_TILES_TO_LEARN: Final = "synthetic:tiles=6,size=64"
_PAIRS: Final = 4
_STEPS: Final = 2
_LEASE: Final = 600.0
_SIDE: Final = 256  # at which AdaIN learns


@dataclass(frozen=True)
class Data:
    """One dataset."""

    name: str
    title: str
    is_present: bool
    bytes: int | None  #: to download; None where the sizes are not published
    arrays: int  #: bytes it takes when unpacked into arrays, where it is
    access: str
    fetchable: bool  #: by this program, without asking anybody


@dataclass(frozen=True)
class StudyWork:
    """One study: what is left to do."""

    study: str
    cells: int
    left: int
    hours: float | None  #: on this machine, one cell after the other; None where nothing was measured for it
    bytes: int
    largest: str = ""  #: the method that takes most of it, where one does


@dataclass(frozen=True)
class Needs:
    """Everything that is printed before the start."""

    data: tuple[Data, ...]
    work: tuple[StudyWork, ...]
    rates: Rates | None
    gpu_hours: float | None
    how: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the needs as plain values.

        Returns:
            A dictionary for JSON.
        """
        return {**asdict(self), "disk_bytes": self.disk}

    @property
    def disk(self) -> int:
        """Bytes that are known to be needed and are not taken yet."""
        return sum((entry.bytes or 0) + entry.arrays for entry in self.data if not entry.is_present) + sum(
            entry.bytes for entry in self.work
        )


# ---- data -------------------------------------------------------------------------------------------------------------------


def data_needed(studies: Iterable[Study]) -> tuple[Data, ...]:
    """List the datasets that cells name, without synthetic ones, which need no file.

    Args:
        studies: The studies.

    Returns:
        The datasets, and whether they are here.
    """
    roots: dict[str, str] = {}
    for cell in (cell for study in studies for cell in study.cells):
        dataset = getattr(cell.config, "dataset", "synthetic")
        if dataset.partition(":")[0] != "synthetic":
            roots.setdefault(dataset, cell.config.root)
    return tuple(_data(name, root) for name, root in roots.items())


def _data(name: str, root: str) -> Data:
    has_data, card = fingerprint_of(name, root) != ABSENT, find_card(name)
    if card is None:
        return Data(name, name, has_data, None, 0, "your own", fetchable=False)
    sizes = [file.bytes for file in card.files]
    total = sum(size or 0 for size in sizes) if sizes and None not in sizes else None
    arrays = (
        sum(card.expected.sizes.values()) * card.pixels**2 * (3 if card.colour == "RGB" else 1)
        if card.layout == "medmnist"
        else 0
    )
    access = ", ".join(dict.fromkeys(source.access for source in card.sources))
    return Data(name, card.title, has_data, total, arrays, access, all(source.complete for source in card.sources))


# ---- measuring --------------------------------------------------------------------------------------------------------------


def measured(studies: Sequence[Study], *, networks: bool, device: str, side: int = _SIDE) -> Rates:
    """Measure rates by running small cells in a ledger that is thrown away.

    Args:
        studies: The studies.
        networks: Also time the networks of style transfer.
        device: The device to measure.
        side: Side of the images for everything but the classifier.

    Returns:
        The rates of this machine.
    """
    with tempfile.TemporaryDirectory(prefix="recolorist-") as folder:
        book = Ledger(Path(folder) / "ledger", lease=_LEASE)
        train, bytes_kept = _classifier(book, studies)
        learn, learnt = _baseline(book, device, side)
        pair, properties = (
            _pair(book, networks, device, min(side, EVALUATION_SIZE)),
            _properties(book, min(side, EVALUATION_SIZE)),
        )
        return Rates(train, learn, pair, properties, bytes_kept, learnt, networks, device)


def _classifier(book: Ledger, studies: Sequence[Study]) -> tuple[float, int]:
    """Time the difference between two epochs and one, so that start and test do not count."""
    configs = [cell.config for study in studies for cell in study.cells if cell.kind == "classify"]
    if not configs:
        return 0.0, 0
    small = replace(
        configs[0], dataset=_TILES, augmentation="colorist", probability=None, algorithm="plain", epochs=1, batch=8,
        accumulate=1, devices=1, validation="train", workers=0, root="", tensorboard="",
    )  # fmt: skip
    _ran(book, "classify", replace(small, seed=0))  # libraries are imported by the first
    short, long = (_ran(book, "classify", replace(small, seed=1, epochs=epochs)) for epochs in (1, 2))
    images: Any = long.result["images"]
    images_seen = images["train"] + FORWARD * images["val"]
    return max(long.seconds - short.seconds, 0.05 * long.seconds) / images_seen, _bytes_of(long)


def _baseline(book: Ledger, device: str, side: int) -> tuple[float, int]:
    from recolorist_lab.studies.transfer.train import TransferTrain

    config = TransferTrain(
        method="adain",
        dataset=_TILES_TO_LEARN,
        iterations=_STEPS,
        batch=1,
        load_size=side,
        crop_size=side,
        encoder="random",
        device=device,
    )
    result = _ran(book, "transfer_train", config)
    return float(str(result.result["seconds_per_step"])), _bytes_of(result)


def _pair(book: Ledger, networks: bool, device: str, side: int) -> float:
    from recolorist_lab.studies.spaces.cell import METRICS, Spaces

    metrics = METRICS if networks else METRICS[: METRICS.index("lpips")]
    cell = _ran(book, "spaces", Spaces(dataset="synthetic:tiles=10", pairs=_PAIRS, size=side, metrics=metrics, device=device))
    times: Any = cell.result["time"]
    return float(times["whole"]) / _PAIRS


def _properties(book: Ledger, side: int) -> float:
    from recolorist_lab.studies.properties.cell import Properties

    return _ran(book, "properties", Properties(dataset="synthetic:tiles=10", pairs=_PAIRS, size=side)).seconds / _PAIRS


def _ran(book: Ledger, kind: str, config: Any) -> Result:
    found_kind = KINDS[kind]
    cell = Cell("measured", kind, config, code=found_kind.fingerprint(config), data=found_kind.data(config))
    outcome = run_cell(book.root, book.lease, cell)
    if outcome.name != "done":
        raise RecoloristError(f"the small {kind} cell from which times are estimated failed: {outcome.message}")
    return book.result(cell)


def _bytes_of(result: Result) -> int:
    return sum(int(file["bytes"]) for file in result.payload["files"].values())


# ---- estimating -------------------------------------------------------------------------------------------------------------


def needs_of(studies: Sequence[Study], ledger: Ledger, rates: Rates | None) -> Needs:
    """List what studies need.

    Args:
        studies: The studies.
        ledger: The ledger that the cells are in.
        rates: The rates of this machine.

    Returns:
        Data, work and time; without rates only what needs no measuring.
    """
    work = tuple(_work(study, ledger, rates) for study in studies)
    hours = [part.hours for part in work]
    total = sum(hour for hour in hours if hour is not None) if rates is not None else None
    gpu = total if rates is None or rates.device == "cuda" else _hours_on_gpu(studies, ledger, rates)
    return Needs(data_needed(studies), work, rates, gpu, _explain_estimate(rates, _networks_without_time(studies)))


def _hours_on_gpu(studies: Sequence[Study], ledger: Ledger, rates: Rates) -> float:
    """Estimate the same work with a GPU, which computes faster and reads images no faster."""
    times = {name: getattr(rates, name) / speed_up() for name in ("train", "learn", "pair", "properties")}
    return sum(_work(study, ledger, replace(rates, **times)).hours or 0.0 for study in studies)


def _work(study: Study, ledger: Ledger, rates: Rates | None) -> StudyWork:
    now = ledger.now()
    left = [cell for cell in study.cells if ledger.state(cell, now).name != "done"]
    if rates is None:
        return StudyWork(study.name, len(study.cells), len(left), None, 0)
    seconds = [seconds_of(cell, rates) for cell in left]
    timed = [value for value in seconds if value is not None]
    size = sum(KINDS[cell.kind].bytes_kept(rates) for cell in left)
    hours = sum(timed) / 3600 if timed or not left else None
    return StudyWork(study.name, len(study.cells), len(left), hours, size, _largest(left, seconds))


def _largest(cells: Sequence[Cell], seconds: Sequence[float | None]) -> str:
    """Return the method that takes more than half of the time, if there is one among several."""
    totals: dict[str, float] = {}
    for cell, duration in zip(cells, seconds, strict=True):
        name = str(getattr(cell.config, "method", ""))
        totals[name] = totals.get(name, 0.0) + (duration or 0.0)
    most = max(totals, key=lambda name: totals[name], default="")
    return most if len(totals) > 1 and totals[most] > sum(totals.values()) / 2 else ""


def seconds_of(cell: Cell, rates: Rates) -> float | None:
    """Estimate the time of a cell.

    Args:
        cell: The cell.
        rates: The rates of this machine.

    Returns:
        Seconds; None for kinds that take moments.
    """
    return KINDS[cell.kind].seconds(cell.config, rates)


def _networks_without_time(studies: Iterable[Study]) -> list[str]:
    """Return the names of networks that the paper does not time."""
    methods = {str(getattr(cell.config, "method", "")) for study in studies for cell in study.cells}
    return [network.title for method, network in METHODS.items() if method in methods and not has_printed_time(method)]


def _explain_estimate(rates: Rates | None, untimed: Sequence[str] = ()) -> tuple[str, ...]:
    if rates is None:
        return ()
    where = "the GPU of this machine" if rates.device == "cuda" else "the processor of this machine"
    without = "" if rates.networks else " without LPIPS and FID, whose weights are not here"
    first = (
        f"Small cells were run just now on {where}: {rates.train:.3g} s for one image that the classifier learns from (the "
        f"second of two epochs over a few tiles), {rates.learn:.3g} s for one image of a training step of AdaIN, "
        f"{rates.pair:.3g} s for one pair transferred and measured{without}, and {rates.properties:.3g} s for one pair of the "
        "properties."
    )
    second = (
        "Hours are these times the images of all cells that have no result, one cell after the other, all epochs (early stopping "
        "will save some). Looking at an image is counted as a third of learning from it; networks other than AdaIN are counted "
        "by how much longer they take for a pixel in the paper's Table S2. Of data that are here a few images were decoded and "
        "resized; that time counts where the workers of a classifier are slower than its network. `data pack` does it once."
    )
    if untimed:
        second += f" {', '.join(untimed)} is not in that table, and is counted like AdaIN."
    third = (
        f"There is no GPU here. GPU hours are the processor's divided by {speed_up():.0f}, the median over thirteen networks of "
        "the paper's times on its processor over those on its GPU; another GPU, and another processor, will differ."
    )
    return (first, second) if rates.device == "cuda" else (first, second, third)
