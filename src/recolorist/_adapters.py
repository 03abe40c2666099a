"""What the adapters share: one Colorist from their arguments, draws that differ between loader workers, banks as plain data."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from recolorist.augment import streams
from recolorist.augment.colorist import Colorist, Draw
from recolorist.augment.samplers import Content
from recolorist.bank.json_form import FORMAT
from recolorist.bank.names import format_name
from recolorist.bank.style_bank import StyleBank
from recolorist.core import image as check
from recolorist.errors import OptionError, StatisticsError
from recolorist.optional import how_to_install

__all__ = [
    "MOST_BY_VALUE",
    "BankForm",
    "build_colorist",
    "draw_chance",
    "draw_style",
    "encode_bank",
    "explain_missing",
    "forbid_update_check",
    "format_name",
    "mask_to_bool",
    "mix_worker_seed",
    "open_bank",
]

BankForm = Literal["auto", "embedded", "path"]

#: Styles up to which a bank is written out by value; a bigger one is named by its file and the digest of it.
MOST_BY_VALUE: Final = 256

_CHANCE: Final = 1 << 32  # the purpose of the stream that decides whether to apply; that of the style is another
_OPTIONS: Final = frozenset(inspect.signature(Colorist).parameters)


def explain_missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error to raise when a framework is not installed: it says how to install it.

    Args:
        extra: The extra that installs the framework.
        error: What the import raised.

    Returns:
        The error.

    Example:
        >>> str(explain_missing("monai", ModuleNotFoundError("No module named 'monai'")))
        "No module named 'monai'. Install it with: pip install 'recolorist[monai]' (in a clone: pip install '.[monai]')"
    """
    reason = str(error).partition(". Install it with: ")[0]  # of an adapter that this one stands on
    return ModuleNotFoundError(f"{reason}. Install it with: {how_to_install(extra)}", name=error.name, path=error.path)


def forbid_update_check() -> None:
    """Keep Albumentations from asking the network for a newer release when it is imported; a choice of the user stays."""
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")


def build_colorist(arguments: Mapping[str, Any], **fixed: Any) -> Colorist:
    """Build the Colorist of an adapter from the arguments of its constructor.

    Args:
        arguments: ``locals()`` at the beginning of the constructor. What Colorist does not take is left out.
        **fixed: Options that the adapter sets itself, such as ``p`` where the framework decides whether to apply.

    Returns:
        The augmentation.

    Raises:
        RecoloristError: Colorist refuses an option.

    Example:
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
        >>> build_colorist({"bank": bank, "space": "ycbcr", "mask_key": "mask"}, p=1.0).space
        'ycbcr'
    """
    options = {name: value for name, value in arguments.items() if name in _OPTIONS} | fixed
    return Colorist(open_bank(options.pop("bank"))[0], **options)


# ---- draws --------------------------------------------------------------------------------------------------------------


def mix_worker_seed(number: int) -> int:
    """Return a number that the workers of a loader do not share, from one that they may share.

    Frameworks whose generators are copied into every worker draw the same numbers in all of them, and again in the next epoch.
    PyTorch's own seed of the worker, which differs between workers and between epochs, is added.

    Args:
        number: A number of 64 bits.

    Returns:
        The mixed number.

    Example:
        >>> mix_worker_seed(5)  # not in a worker
        5
    """
    return (number + (streams.torch_worker_seed() or 0)) % 2**64


def draw_chance(p: float, place: int) -> bool:
    """Draw whether something of probability ``p`` happens; the same place gives the same answer.

    Args:
        p: The probability.
        place: A number that selects the random stream.

    Returns:
        Whether it happens.

    Example:
        >>> draw_chance(0.0, 7), draw_chance(1.0, 7), draw_chance(0.5, 7) == draw_chance(0.5, 7)
        (False, True, True)
    """
    if p <= 0 or p >= 1:
        return p >= 1
    return bool(streams.stream(0, place, purpose=_CHANCE).random() < p)


def draw_style(core: Colorist, place: int, *, key: Any = None, label: Any = None, domain: Any = None) -> Draw:
    """Draw a style for an image; the same place gives the same style.

    Args:
        core: The augmentation.
        place: A number that selects the random stream.
        key: Key of the image in the bank, so that it is not matched to itself.
        label: Label of the image, for samplers that need it.
        domain: Domain of the image, for samplers that need it.

    Returns:
        The style and its strength.
    """
    row = None if key is None else core.bank.row_of(format_name(key) or "")
    return core.draw_from(streams.stream(core.seed, place), Content(row, format_name(label), format_name(domain)))


# ---- masks --------------------------------------------------------------------------------------------------------------


def mask_to_bool(mask: Any) -> Any:
    """Return a mask as the core takes it: signed and floating masks are foreground where they are positive.

    Args:
        mask: A mask of any kind.

    Returns:
        A mask of truth values where it was signed or floating; else as it came.

    Example:
        >>> mask_to_bool(np.array([[0.0, 1.0], [-1.0, 2.0]])).tolist()
        [[False, True], [False, True]]
    """
    if isinstance(mask, np.ndarray) and mask.dtype.kind in "if":
        return mask > 0
    return mask


# ---- banks as plain data ------------------------------------------------------------------------------------------------


def open_bank(bank: Any) -> tuple[StyleBank, Path | None]:
    """Return a bank, and its file if it has one.

    Args:
        bank: A bank, the path of its file (.rcb or .json), or what :func:`encode_bank` returned.

    Returns:
        The bank, and its file or None.

    Raises:
        OptionError: Something else came.
        StatisticsError: The file cannot be read, or is not the one that was encoded.

    Example:
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
        >>> open_bank(encode_bank(bank))[0].fingerprint == bank.fingerprint
        True
    """
    if isinstance(bank, (str, Path)):
        return StyleBank.open(bank), Path(bank)
    if isinstance(bank, dict) and "path" in bank:
        return _open_verified(bank), Path(bank["path"])
    if isinstance(bank, dict) and bank.get("format") == FORMAT:
        return StyleBank.from_json(json.dumps(bank)), None
    return StyleBank.of(bank), None


def encode_bank(bank: StyleBank, path: Path | None = None, form: BankForm = "auto") -> dict[str, Any] | StyleBank:
    """Return a bank as plain data.

    Args:
        bank: The bank.
        path: Its file, if it has one.
        form: ``"embedded"`` for every style, ``"path"`` for the file and its SHA-256, ``"auto"`` for the first up to
            :data:`MOST_BY_VALUE` styles and the second beyond.

    Returns:
        The plain data. With ``"auto"`` a large bank without a file is returned as it is, which works in this process.

    Raises:
        OptionError: The bank has no file, or histograms, which cannot be embedded.

    Example:
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), split="train")
        >>> encode_bank(bank, form="embedded")["split"]
        'train'
    """
    check.option(form, ("auto", "embedded", "path"), "bank_form")
    if form == "path" and path is None:
        raise OptionError("bank_form='path' needs a bank with a file; save it with bank.save(...) and pass that path as bank")
    if form == "embedded" and bank.histograms is not None:
        raise OptionError("a bank with histograms cannot be embedded; save it with bank.save(...) and pass its path as bank")
    small = len(bank) <= MOST_BY_VALUE and bank.histograms is None  # histograms are not part of the JSON form
    if form == "embedded" or (form == "auto" and small):
        entries: dict[str, Any] = json.loads(bank.to_json())
        return entries
    return bank if path is None else {"path": str(path), "sha256": _digest(path)}


def _open_verified(entry: dict[str, Any]) -> StyleBank:
    path = Path(entry["path"])
    if not path.is_file():
        raise StatisticsError(f"the pipeline names the bank {path}, which is not there; copy it to that place")
    if _digest(path) != entry.get("sha256"):
        raise StatisticsError(
            f"{path} is not the bank this pipeline was made with: its SHA-256 differs; put that one there, or make a new pipeline"
        )
    return StyleBank.open(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
