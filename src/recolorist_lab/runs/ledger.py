"""The ledger: a folder of results on a file system that all launchers share, and nothing else between them.

    LEDGER/ledger.json                          marks the folder as ours
    LEDGER/runs/<place>/<run id>/result.json    a finished cell: sealed, written once, never changed
                                 files/…        what it kept, with checksums in the result
                                 failed.json    why it failed, sealed
                                 claim-….json   who is working on it (see claims)
                                 ckpt-….bin     how far it got (see checkpoints)

The state of a cell is read from these files every time. Nothing is appended to, and no file is shared by two cells. A result
appears by a hard link from a file already on disk. So it is there whole or not at all, and the first one stays.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from recolorist.errors import OptionError, RecoloristError
from recolorist.io.files import atomic_create, atomic_write, flush_folder
from recolorist_lab.runs import checkpoints, claims
from recolorist_lab.runs.claims import Claim, LedgerError
from recolorist_lab.runs.config import Json, digest
from recolorist_lab.runs.sealed import CorruptError, read, seal
from recolorist_lab.runs.study import Cell

__all__ = ["STATES", "Ledger", "Result", "State", "StateName", "writing"]

StateName: TypeAlias = Literal["missing", "stale", "claimed", "running", "done", "failed", "corrupt"]
STATES: Final[tuple[StateName, ...]] = ("done", "running", "claimed", "failed", "corrupt", "stale", "missing")
LEASE: Final = 120.0  # seconds; much longer than any pause of a healthy machine, much shorter than a night

_FORMAT: Final = "recolorist.ledger/1"


@dataclass(frozen=True)
class State:
    """What the files say of a cell."""

    name: StateName
    detail: str = ""  # for people: the error, the holder, what is stale
    step: int | None = None  # of the newest checkpoint
    seconds: float | None = None  # a finished cell took


@dataclass(frozen=True)
class Result:
    """A finished cell whose checksum verified."""

    folder: Path
    payload: Mapping[str, Any]

    @classmethod
    def load(cls, folder: Path) -> Result:
        """Read the result of a run from its folder, which is named after it.

        Args:
            folder: The folder of the run.

        Returns:
            The result.

        Raises:
            CorruptError: It does not verify.
        """
        path = folder / "result.json"
        payload = read(path)
        if payload.get("run") != folder.name or digest(payload.get("identity")) != folder.name:
            raise CorruptError(f"{path} holds the result of another run; remove its folder, and run the study again")
        return cls(folder, payload)

    @property
    def config(self) -> Mapping[str, Json]:
        """Its identity fields."""
        return cast("Mapping[str, Json]", self.payload["identity"]["config"])

    @property
    def result(self) -> Mapping[str, Json]:
        """What it returned."""
        return cast("Mapping[str, Json]", self.payload["result"])

    @property
    def seconds(self) -> float:
        """How long it took."""
        return float(self.payload["timings"]["seconds"])

    def read(self, name: str) -> bytes:
        """Read a file that the run kept, and verify it.

        Args:
            name: Name of the file.

        Returns:
            Its bytes.

        Raises:
            OptionError: The run kept no such file.
            CorruptError: It does not verify.
        """
        noted = self.payload["files"].get(name)
        if noted is None:
            names = ", ".join(map(repr, self.payload["files"])) or "none"
            raise OptionError(f"the run {self.payload['run'][:12]} kept no file {name!r}; it kept {names}")
        path = self.folder / "files" / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CorruptError(f"{path}, which a finished run kept, cannot be read: {error.strerror}") from error
        if _checksum(data) != noted:
            raise CorruptError(
                f"{path} does not match the checksum in the result it belongs to; remove this run, and run the study again"
            )
        return data

    def verify(self) -> None:
        """Check every file it kept."""
        for name in self.payload["files"]:
            self.read(name)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn every error of writing into one that ends the sweep and names the place.

    Args:
        path: What is written.

    Yields:
        While the block runs.

    Raises:
        LedgerError: Writing failed.
    """
    try:
        yield
    except LedgerError:
        raise
    except OSError as error:
        raise LedgerError(
            f"the ledger could not write {path}: {error.strerror or error}; finished results are unharmed"
        ) from error
    except RecoloristError as error:
        raise LedgerError(f"the ledger could not write: {error}") from error


class Ledger:
    """Results on disk. Opening one that does not exist makes it, unless it must be there already."""

    def __init__(self, root: Path, *, lease: float = LEASE, must_exist: bool = False) -> None:
        self.root, self.lease = root, lease
        marker = root / "ledger.json"
        if marker.exists():
            if read(marker).get("format") != _FORMAT:
                raise LedgerError(f"{root} is a ledger of another format; this version knows {_FORMAT}. Name a new folder")
        elif must_exist:
            raise LedgerError(f"{root} is not a ledger; name one with --ledger, or start one with `sweep run`")
        elif root.is_dir() and any(path.name[:1] != "." for path in root.iterdir()):
            raise LedgerError(f"{root} holds other files and is not a ledger; name an empty or new folder")
        else:
            with writing(root):
                root.mkdir(parents=True, exist_ok=True)
                atomic_write(marker, seal({"format": _FORMAT}))

    def refuse_unwritable(self) -> None:
        """Check at the start that files can be written."""
        probe = self.root / f".probe-{os.getpid()}"
        with writing(self.root):
            atomic_write(probe, b"can this be written?")
            probe.unlink()

    def folder(self, cell: Cell) -> Path:
        """Return the folder of a cell's files.

        Args:
            cell: The cell.

        Returns:
            Its path.
        """
        return self.root / "runs" / cell.config_digest[:16] / cell.run_id

    def now(self) -> float:
        """Return the time by the clock of the ledger's file system.

        Returns:
            Seconds.
        """
        return claims.now_of(self.root)

    def state(self, cell: Cell, now: float | None = None) -> State:
        """Read a cell's state from its files.

        Args:
            cell: The cell.
            now: The time by the clock of the file system.

        Returns:
            The state.
        """
        folder = self.folder(cell)
        try:
            if (folder / "result.json").exists():
                return State("done", seconds=Result.load(folder).seconds)
            return State("failed", str(read(folder / "failed.json")["error"]))
        except FileNotFoundError:
            pass
        except CorruptError as error:
            return State("corrupt", str(error))
        return self._state_of_unfinished(cell, self.now() if now is None else now)

    def _state_of_unfinished(self, cell: Cell, now: float) -> State:
        folder = self.folder(cell)
        step = max(checkpoints.steps(folder), default=None)
        claim = claims.newest(folder, now)
        if claim is not None and claim.is_live:
            who = f"{claim.holder.host}, process {claim.holder.pid}"
            return State("claimed" if step is None else "running", who, step)
        older = self._other_runs(cell)
        if older:
            return State("stale", f"the result there is from other code or data: run {older[0][:12]}", step)
        return State("missing", "" if step is None else f"was interrupted after step {step}", step)

    def _other_runs(self, cell: Cell) -> list[str]:
        """Finished runs of the same cell with other code, data or inputs."""
        results = self.folder(cell).parent.glob("*/result.json")
        return sorted(path.parent.name for path in results if path.parent.name != cell.run_id)

    def result(self, cell: Cell) -> Result:
        """Read the result of a finished cell.

        Args:
            cell: The cell.

        Returns:
            The result.

        Raises:
            LedgerError: There is none, or it cannot be read.
            CorruptError: It does not verify.
        """
        folder = self.folder(cell)
        try:
            return Result.load(folder)
        except FileNotFoundError as error:
            raise LedgerError(f"{cell.name} (run {cell.run_id[:12]}) has no result yet; run the study first") from error
        except OSError as error:
            raise LedgerError(f"{folder / 'result.json'} cannot be read: {error.strerror}") from error

    def claim(self, cell: Cell) -> Claim | None:
        """Claim a cell to work on. Check afterwards whether it is finished already.

        Args:
            cell: The cell.

        Returns:
            The claim; None if another process holds it.

        Raises:
            LedgerError: The ledger is gone.
        """
        folder = self.folder(cell)
        if not (self.root / "ledger.json").exists():
            raise LedgerError(f"{self.root} is gone or no longer a ledger; a mount may have been lost")
        with writing(folder):
            if not folder.exists():
                folder.mkdir(parents=True, exist_ok=True)
                for parent in (folder.parent, folder.parent.parent, self.root):
                    flush_folder(parent)  # a power failure could otherwise lose the folder of a result
        return claims.take(folder, self.lease)

    def publish(self, cell: Cell, payload: Mapping[str, Any]) -> None:
        """Make a result final. A result that is there already stays.

        Args:
            cell: The cell.
            payload: What is stored.
        """
        folder = self.folder(cell)
        with writing(folder / "result.json"):
            atomic_create(folder / "result.json", seal(dict(payload)))  # False: the same cell, finished by someone who took over

    def fail(self, cell: Cell, payload: Mapping[str, Any]) -> None:
        """Record why a cell failed.

        Args:
            cell: The cell.
            payload: What is stored.
        """
        path = self.folder(cell) / "failed.json"
        with writing(path):
            atomic_write(path, seal(dict(payload)))

    def keep(self, cell: Cell, name: str, data: bytes) -> dict[str, Json]:
        """Keep a file beside the result.

        Args:
            cell: The cell.
            name: Name of the file.
            data: Its bytes.

        Returns:
            Its size and checksum.

        Raises:
            LedgerError: The name has a folder or a leading dot.
        """
        if not name or Path(name).name != name or name.startswith("."):
            raise LedgerError(f"a cell cannot keep a file called {name!r}; use a plain name without folders or a leading dot")
        folder = self.folder(cell) / "files"
        with writing(folder / name):
            folder.mkdir(exist_ok=True)
            atomic_write(folder / name, data)
        return _checksum(data)

    def retry(self, cell: Cell) -> None:
        """Forget a failure, so that the next launcher tries again.

        Args:
            cell: The cell.
        """
        path = self.folder(cell) / "failed.json"
        with writing(path):
            path.unlink(missing_ok=True)

    def set_aside(self, cell: Cell) -> None:
        """Move damaged files aside and keep them for examination.

        Args:
            cell: The cell.
        """
        folder = self.folder(cell)
        with writing(folder):
            for name in ("result.json", "failed.json"):
                path = folder / name
                if path.exists():
                    path.replace(folder / f"corrupt-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}-{name}")

    def clean(self, cell: Cell, claim: Claim) -> None:
        """Remove checkpoints and claims of a finished cell.

        Args:
            cell: The cell.
            claim: The claim of this process.
        """
        checkpoints.clear(self.folder(cell))
        claim.forget()

    def folders(self) -> list[Path]:
        """List the folder of every run in the ledger.

        Returns:
            The folders.
        """
        return sorted(path for path in (self.root / "runs").glob("*/*") if path.is_dir())

    def remove(self, folder: Path) -> None:
        """Delete a run and everything it kept.

        Args:
            folder: The folder of the run.
        """
        with writing(folder):
            (folder / "result.json").unlink(missing_ok=True)  # first, so that a run half deleted is not a finished one
            shutil.rmtree(folder)


def _checksum(data: bytes) -> dict[str, Json]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
