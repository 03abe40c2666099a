"""What the adapters share: draws that no two loader workers have in common, masks and names as hosts keep them, banks as JSON."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from recolorist.augment import streams
from recolorist.augment.colorist import Colorist, Draw
from recolorist.augment.samplers import Content
from recolorist.bank.json_form import FORMAT
from recolorist.bank.names import format_name
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError, StatisticsError

__all__ = ["MOST_BY_VALUE", "apart", "bank_entry", "drawn", "foreground", "format_name", "missing", "open_bank", "tossed"]

#: Styles up to which a bank is written out by value; a bigger one is named by its file and the digest of it.
MOST_BY_VALUE: Final = 256

_COIN: Final = 1 << 32  # the purpose of the stream that tosses the coin; that of the style is another


def missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to raise when a host is not installed: how to install it."""
    return ModuleNotFoundError(f"{error}. Install it with: pip install 'recolorist[{extra}]'", name=error.name, path=error.path)


# ---- draws --------------------------------------------------------------------------------------------------------------


def apart(number: int) -> int:
    """A number that the workers of a loader do not share, from one that they may share.

    Hosts whose generators are copied into every worker draw the same numbers in all of them, and again in the next epoch.
    PyTorch's own seed of the worker, which differs between workers and between epochs, is added to tell them apart.

    >>> apart(5)
    5
    """
    return (number + (streams.torch_worker_seed() or 0)) % 2**64


def tossed(p: float, place: int) -> bool:
    """Whether something of probability ``p`` happens at this place.

    >>> tossed(0.0, 7), tossed(1.0, 7), tossed(0.5, 7) == tossed(0.5, 7)
    (False, True, True)
    """
    if p <= 0 or p >= 1:
        return p >= 1
    return bool(streams.stream(0, place, purpose=_COIN).random() < p)


def drawn(core: Colorist, place: int, *, key: Any = None, label: Any = None, domain: Any = None) -> Draw:
    """What falls to an image at this place; the same place, the same style."""
    row = None if key is None else core.bank.row_of(format_name(key) or "")
    return core.draw_from(streams.stream(core.seed, place), Content(row, format_name(label), format_name(domain)))


# ---- what hosts hand over -----------------------------------------------------------------------------------------------


def foreground(mask: Any) -> Any:
    """A mask as the core takes it: signed and floating masks, which hosts keep as well, are foreground where positive.

    >>> foreground(np.array([[0.0, 1.0], [-1.0, 2.0]])).tolist()
    [[False, True], [False, True]]
    """
    if isinstance(mask, np.ndarray) and mask.dtype.kind in "if":
        return mask > 0
    return mask


# ---- banks as JSON ------------------------------------------------------------------------------------------------------


def open_bank(bank: Any) -> tuple[StyleBank, Path | None]:
    """A bank, and its file if it has one, from a bank, the path of its file, or what :func:`bank_entry` wrote.

    >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
    >>> open_bank(bank_entry(bank))[0].fingerprint == bank.fingerprint
    True
    """
    if isinstance(bank, StyleBank):
        return bank, None
    if isinstance(bank, (str, Path)):
        return StyleBank.open(bank), Path(bank)
    if isinstance(bank, dict) and "path" in bank:
        return _verified(bank), Path(bank["path"])
    if isinstance(bank, dict) and bank.get("format") == FORMAT:
        return StyleBank.from_json(json.dumps(bank)), None
    raise OptionError(f"bank is a {type(bank).__name__}; accepted are a StyleBank, the path of a saved one, and its JSON form")


def bank_entry(bank: StyleBank, path: Path | None = None) -> dict[str, Any] | StyleBank:
    """A bank as plain data: by value if it is small, else by its file and the SHA-256 of that.

    A large one without a file stays what it is: of use in this process, and refused by JSON before anything is lost.
    """
    if len(bank) <= MOST_BY_VALUE and bank.histograms is None:  # histograms are not part of the JSON form
        written: dict[str, Any] = json.loads(bank.to_json())
        return written
    return bank if path is None else {"path": str(path), "sha256": _digest(path)}


def _verified(entry: dict[str, Any]) -> StyleBank:
    path = Path(entry["path"])
    if not path.is_file():
        raise StatisticsError(f"the pipeline names the bank {path}, which is not there; copy it to that place")
    if _digest(path) != entry.get("sha256"):
        raise StatisticsError(f"{path} is not the bank this pipeline was written with: its SHA-256 differs")
    return StyleBank.open(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
