"""Random streams keyed by (seed, epoch, sample index): the same numbers whatever the number of workers, and after a resume.

A stream is a Philox generator whose key is the seed and whose counter starts at (index, epoch), so no two streams share a
number. Making one from scratch costs twenty times what setting the state of an existing one does, so each thread keeps one.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import secrets
import sys
import threading
from typing import Any, Final, cast

import numpy as np

from recolorist.core import kernels
from recolorist.errors import OptionError

__all__ = [
    "Sequence",
    "check_word",
    "fresh_seed",
    "number_of",
    "open_by_chance",
    "open_stream",
    "stream",
    "torch_worker_seed",
]

_WORD: Final = 2**64
_own = threading.local()
_made_here: Final[set[tuple[int, int]]] = set()  # process and seed of every sequence that was made, and not copied, there


def stream(seed: int, epoch: int = 0, index: int | str = 0, purpose: int = 0) -> np.random.Generator:
    """Return the generator for one sample; valid until this thread asks for the next one.

    Args:
        seed: The seed.
        epoch: The epoch.
        index: The number of the sample, or any string, such as the name of its file.
        purpose: Separates uses that must not influence each other.

    Returns:
        The generator, at the beginning of its stream.

    Raises:
        OptionError: A number is not a whole one of 64 bits.

    Example:
        >>> stream(7, epoch=1, index=42).random() == stream(7, epoch=1, index=42).random()
        True
        >>> stream(7, epoch=1, index=42).random() == stream(7, epoch=2, index=42).random()
        False
    """
    return open_stream(check_word(seed, "seed"), check_word(epoch, "epoch"), number_of(index), check_word(purpose, "purpose"))


def open_stream(seed: int, epoch: int, number: int, purpose: int = 0) -> np.random.Generator:
    """Return the generator of :func:`stream` for numbers that were checked.

    Args:
        seed: The seed.
        epoch: The epoch.
        number: What :func:`number_of` returned.
        purpose: Separates uses that must not influence each other.

    Returns:
        The generator, at the beginning of its stream.
    """
    if not hasattr(_own, "generator"):
        _own.generator, _own.start = np.random.Generator(np.random.Philox(key=0)), _beginning()
    state = _own.start["state"]
    counter, key = state["counter"], state["key"]
    counter[1], counter[2], key[0], key[1] = number, epoch, seed, purpose
    _own.generator.bit_generator.state = _own.start  # copied by the setter
    return cast("np.random.Generator", _own.generator)


def open_by_chance(p: float, seed: int, epoch: int, number: int, purpose: int = 0) -> np.random.Generator | None:
    """Return the generator of a stream after its first number if that is below ``p``; else None, without setting it up.

    Args:
        p: The probability.
        seed: The seed; this and what follows are for :func:`open_stream`.
        epoch: The epoch.
        number: What :func:`number_of` returned.
        purpose: Separates uses that must not influence each other.

    Returns:
        The generator, or None.

    Example:
        >>> open_by_chance(1.0, 7, 1, 42).random() == stream(7, epoch=1, index=42).random(2).tolist()[1]
        True
        >>> open_by_chance(0.0, 7, 1, 42) is None
        True
    """
    if kernels.loops.first_random(seed, purpose, number, epoch) >= p:
        return None
    rng = open_stream(seed, epoch, number, purpose)
    rng.random()
    return rng


def _beginning() -> dict[str, Any]:
    """The state of a generator that has given no number yet."""
    return {
        "bit_generator": "Philox",
        "state": {"counter": np.zeros(4, np.uint64), "key": np.zeros(2, np.uint64)},
        "buffer": np.zeros(4, np.uint64),
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }


def number_of(index: int | str) -> int:
    """Return a 64-bit number for a sample index or key; strings by their BLAKE2 digest.

    Args:
        index: The index or key.

    Returns:
        The number.

    Raises:
        OptionError: It is neither a string nor a whole number of 64 bits.

    Example:
        >>> number_of(5), number_of("scan_5.png") == number_of("scan_5.png")
        (5, True)
    """
    if type(index) is int and 0 <= index < _WORD:
        return index
    if isinstance(index, str):
        return int.from_bytes(hashlib.blake2b(index.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return check_word(index, "index")


def fresh_seed() -> int:
    """Return a random seed; it is recorded, so the run can still be repeated.

    Returns:
        A number of 48 bits.

    Example:
        >>> 0 <= fresh_seed() < 2**48
        True
    """
    return secrets.randbits(48)


class Sequence:
    """Streams for callers that hide the sample index: one after another, and never the same in two workers or two epochs.

    In a PyTorch worker the loader's own seed for that worker selects the streams. They are new in each epoch; with persistent
    workers the sequence goes on. A run with the same ``torch`` seed and the same number of workers repeats. In a forked process
    without that, the process id is mixed in.
    """

    def __init__(self, seed: int) -> None:
        """Start at the beginning of the sequence that ``seed`` selects."""
        self.seed = check_word(seed, "seed")
        self._born: int | None = os.getpid()
        self._place: tuple[int, int] = (0, 0)
        self._count = 0
        if multiprocessing.parent_process() is None:  # a spawned process may run the program's first lines again
            _made_here.add((self._born, self.seed))

    def next(self) -> tuple[int, int, int, int]:
        """Return seed, epoch, number and purpose of the next stream in this process, for :func:`open_stream`.

        Example:
            >>> sequence = Sequence(3)
            >>> sequence.next(), sequence.next()
            ((3, 0, 1, 1), (3, 0, 2, 1))
        """
        worker = self._where()
        if worker != self._place:
            self._place, self._count = worker, 0
        self._count += 1
        return self.seed, worker[1], self._count, 1 + worker[0]

    def _where(self) -> tuple[int, int]:
        worker_seed = torch_worker_seed()
        if worker_seed is not None:
            return 1, worker_seed % _WORD
        pid = os.getpid()
        return (0, 0) if pid == self._born else (2, pid)

    def __deepcopy__(self, memo: dict[int, Any]) -> Sequence:
        """Return a copy that goes on from the same place."""
        copied = Sequence(self.seed)
        copied._born, copied._place, copied._count = self._born, self._place, self._count
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the seed alone: what is written does not change with use, so that its hash can name a cache."""
        return {"seed": self.seed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start from the beginning; in another process than that of the original, at a place of that process."""
        self.seed, self._place, self._count = state["seed"], (0, 0), 0
        self._born = os.getpid() if (os.getpid(), self.seed) in _made_here else None


def torch_worker_seed() -> int | None:
    """Return the seed that PyTorch gave this loader worker. Looks only if torch is loaded already.

    Returns:
        The seed; None outside a worker.

    Example:
        >>> torch_worker_seed() is None
        True
    """
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return None if info is None else int(info.seed)


def check_word(value: Any, name: str) -> int:
    """Return a whole number of 64 bits as it is.

    Args:
        value: What was given.
        name: Its name in the message.

    Returns:
        The number.

    Raises:
        OptionError: It is something else; the message has the name.

    Example:
        >>> check_word(-1, "epoch")
        Traceback (most recent call last):
        recolorist.errors.OptionError: epoch=-1; accepted are whole numbers from 0 to 2**64 - 1
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= int(value) < _WORD:
        return int(value)
    raise OptionError(f"{name}={value!r}; accepted are whole numbers from 0 to 2**64 - 1")
