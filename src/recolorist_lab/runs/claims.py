"""Claims: who is working on a cell, decided by the file system alone.

A claim is a small file `claim-000001.json` that appears by a hard link. This is atomic on local disks and on NFS: of two
launchers that want the same number, one gets it. Claims are never taken over in place. Whoever finds claim *n* dead links claim
*n + 1*; the highest number holds the cell. Numbers are not reused until the cell is finished. So a slow launcher that acts on an
old view cannot take the cell from its holder.

A claim is dead when its holder gave it up (and dated it back), or was a process of this machine that no longer exists. It is also
dead when it was not refreshed for the length of its lease. Ages are measured by the clock of the ledger's file system, because
the clocks of two machines differ.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from recolorist.errors import RecoloristError

__all__ = ["Claim", "Holder", "LedgerError", "LostClaimError", "newest", "now_of", "take"]

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_PREFIX: Final = "claim-"
_BEATS: Final = 4  # refreshes per lease: three may be lost


class LedgerError(RecoloristError):
    """The ledger cannot be read or written: a full disk, a read-only folder, a lost mount. It ends the sweep at once."""


class LostClaimError(RecoloristError):
    """Someone else has taken the cell, because this process did not refresh its claim within the lease."""


@dataclass(frozen=True)
class Holder:
    """A process that may hold claims."""

    machine: str  # identifies the machine since its last start, and the container in it; empty where that is not known
    host: str  # for people
    pid: int
    started: str  # of the process, so that a recycled pid is not mistaken for it

    @classmethod
    def this(cls) -> Holder:
        """Return the present process.

        Returns:
            The holder.
        """
        return cls(_machine(), socket.gethostname(), os.getpid(), _start_time(os.getpid()))

    def is_gone(self) -> bool:
        """Return whether the process is known to have ended.

        Returns:
            False where that cannot be known.
        """
        return bool(self.machine) and self.machine == _machine() and _start_time(self.pid) != self.started


@dataclass(frozen=True)
class Seen:
    """A claim as found on disk."""

    number: int
    holder: Holder
    age: float  # seconds since it was refreshed
    lease: float

    @property
    def is_live(self) -> bool:
        """Whether its holder must be left alone."""
        return self.age <= self.lease and not self.holder.is_gone()


class Claim:
    """A cell held by this process, refreshed by a thread until it is given up or lost."""

    def __init__(self, path: Path, number: int, lease: float, handle: int) -> None:
        self._path, self.number, self._lease, self._handle = path, number, lease, handle
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._refresh, name="recolorist-claim", daemon=True)
        self._beat.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def check(self) -> None:
        """Check that the cell has not been taken over.

        Raises:
            LostClaimError: It has.
        """
        highest = _numbers(self._path.parent)[-1:]
        if highest != [self.number]:
            raise LostClaimError(f"the claim {self._path} was taken over; this process did not refresh it for {self._lease} s")

    def release(self) -> None:
        """Stop refreshing, and date the claim back to when there were none: it is free at once, and that needs no disk space."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._beat.join()
        with contextlib.suppress(OSError):  # the lease runs out in any case
            os.utime(self._handle, (0, 0))
        os.close(self._handle)

    def forget(self) -> None:
        """Remove every claim on a finished cell. A process that claims it later sees that it is finished."""
        self.release()
        for number in _numbers(self._path.parent):
            _path(self._path.parent, number).unlink(missing_ok=True)

    def _refresh(self) -> None:
        # By the open handle, not by name: if the cell was taken over, only our own file is touched.
        while not self._ended.wait(self._lease / _BEATS):
            with contextlib.suppress(OSError):  # a refresh that failed is a refresh missed; `check` finds out what it cost
                os.utime(self._handle)


def take(folder: Path, lease: float) -> Claim | None:
    """Claim the cell of a folder.

    Args:
        folder: The folder of the cell.
        lease: Seconds after which a silent claim expires.

    Returns:
        The claim; None if another process holds it.

    Raises:
        LedgerError: The folder cannot be written.
    """
    try:
        current = newest(folder, now_of(folder))
        if current is not None and current.is_live:
            return None
        number = current.number + 1 if current else 1
        return _link(folder, number, lease)
    except OSError as error:
        raise LedgerError(f"{folder} cannot be claimed: {error.strerror or error}") from error


def newest(folder: Path, now: float) -> Seen | None:
    """Read the claim that counts.

    Args:
        folder: The folder of the cell.
        now: The time by the clock of the file system.

    Returns:
        The claim; None where the cell was never claimed.
    """
    for number in reversed(_numbers(folder)):
        try:
            with _path(folder, number).open("rb") as file:  # opening makes NFS ask the server; a bare stat may be a minute old
                age = now - os.fstat(file.fileno()).st_mtime
                content = json.load(file)
            return Seen(number, Holder(**content["holder"]), age, float(content["lease"]))
        except FileNotFoundError:
            continue  # finished in between
        except (ValueError, KeyError, TypeError, RecursionError):
            return Seen(number, Holder("", "unknown", 0, ""), age, 60.0)  # damaged: its lease, whatever it was, runs out
    return None


def now_of(folder: Path) -> float:
    """Read the clock of the file system; the clock of this machine where the folder cannot be written to.

    Args:
        folder: The folder of the cell.

    Returns:
        Seconds since 1970.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            return os.fstat(probe.fileno()).st_mtime
    except OSError:
        return time.time()


def _link(folder: Path, number: int, lease: float) -> Claim | None:
    path = _path(folder, number)
    temporary = _write_claim(folder, {"holder": asdict(Holder.this()), "lease": lease})
    handle = os.open(temporary, os.O_RDONLY)
    try:
        won = _try_link(temporary, path)
    except BaseException:
        os.close(handle)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    if won and _numbers(folder)[-1:] == [number]:
        return Claim(path, number, lease, handle)
    os.close(handle)
    if won:  # a number that had been given up since we looked
        path.unlink(missing_ok=True)
    return None


def _try_link(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return temporary.stat().st_nlink == 2  # NFS may answer a repeated request with an error although the first succeeded
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise LedgerError(f"{path.parent} lies on a file system without hard links; claims need them") from error
        raise
    return True


def _write_claim(folder: Path, content: dict[str, object]) -> Path:
    path = folder / f".{_PREFIX}{secrets.token_hex(8)}.part"
    try:
        path.write_text(json.dumps(content), "utf-8")
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise
    return path


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return []
    return sorted(int(name[len(_PREFIX) : -5]) for name in names if name.startswith(_PREFIX) and name.endswith(".json"))


def _path(folder: Path, number: int) -> Path:
    return folder / f"{_PREFIX}{number:06d}.json"


@lru_cache
def _machine() -> str:
    """This start of this machine, and the process namespace in it: only there does a pid mean the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - it is not a path
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Return when a process was started; empty if it does not exist, or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in {"Z", "X"} else fields[19]
