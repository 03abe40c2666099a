"""The yardstick of `collections.py`: loops that only decode, or decode and encode, as anyone would write them with Pillow.

They import nothing of ours, so that their processes start as lean as such a loop can.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

__all__ = ["LOOPS", "run"]

Image.preinit()  # or every process would look for the decoders itself

_CHUNK: Final = 32
_AS_WE_WRITE: Final[dict[str, Any]] = {"quality": 95, "subsampling": 0}
Pair = tuple[str, str]


def decode(pair: Pair) -> int:
    """File to array."""
    return np.asarray(Image.open(pair[0])).size


def recode(pair: Pair) -> int:
    """File to array to file, with the quality and the colour resolution that `augment` writes."""
    pixels = np.asarray(Image.open(pair[0]))
    Image.fromarray(pixels).save(pair[1], **_AS_WE_WRITE)
    return pixels.size


def decode_only(pair: Pair) -> int:
    """File to Pillow image: what is left when nobody wants to compute with the pixels."""
    image = Image.open(pair[0])
    image.load()
    return image.width


def recode_only(pair: Pair) -> int:
    """File to Pillow image to file."""
    image = Image.open(pair[0])
    image.save(pair[1], **_AS_WE_WRITE)
    return image.width


LOOPS: Final[dict[str, Callable[[Pair], int]]] = {
    "decode": decode,
    "decode and encode": recode,
    "decode, no array": decode_only,
    "decode and encode, no array": recode_only,
}


def run(name: str, source: Path, out: Path, jobs: int) -> int:
    """List the files, go through them, forget the result."""
    pairs = [(str(path), str(out / path.name)) for path in sorted(source.iterdir())]
    work = LOOPS[name]
    out.mkdir()
    if jobs == 1:
        return sum(map(work, pairs))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # Pillow's decoders included: what ours does for its workers as well
    with context.Pool(jobs) as pool:
        return sum(pool.imap_unordered(partial(_do, name), pairs, _CHUNK))


def _do(name: str, pair: Pair) -> int:
    return LOOPS[name](pair)
