"""The studies a ledger was filled by, kept in it, so that tables can be made from the ledger alone.

LEDGER/studies/<name>.toml    the study file as it was when `sweep run` or `reproduce` last ran it
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from recolorist.errors import OptionError
from recolorist.io.files import atomic_write
from recolorist_lab.runs.ledger import Ledger, writing
from recolorist_lab.runs.study import Study, load

__all__ = ["recalled", "remember", "studies_of"]


def remember(ledger: Ledger, file: Path) -> None:
    """Keep a study's file in the ledger; one of the same name is replaced.

    Args:
        ledger: The ledger that the cells are in.
        file: The file.
    """
    name = re.sub(r"[^\w.-]+", "_", load(file).name)
    target, text = ledger.root / "studies" / f"{name}.toml", file.read_bytes()
    if target.is_file() and target.read_bytes() == text:
        return
    with writing(target):
        target.parent.mkdir(exist_ok=True)
        atomic_write(target, text)


def recalled(ledger: Ledger) -> dict[str, Path]:
    """List the files of studies that a ledger keeps.

    Args:
        ledger: The ledger that the cells are in.

    Returns:
        Paths by the name of the study.
    """
    return {load(path).name: path for path in sorted((ledger.root / "studies").glob("*.toml"))}


def studies_of(ledger: Ledger, names: Sequence[str | Path] = ()) -> list[Study]:
    """Load studies, each by its file or by the name under which the ledger keeps it.

    Args:
        ledger: The ledger that the cells are in.
        names: Files or names.

    Returns:
        The studies; without names all that the ledger keeps.

    Raises:
        OptionError: The ledger keeps none of that name.
    """
    if not names:
        files = recalled(ledger)
        if not files:
            raise OptionError(f"{ledger.root} does not say which studies it was filled by; name their files with --study")
        return [load(path) for path in files.values()]
    return [load(_file(ledger, str(name))) for name in names]


def _file(ledger: Ledger, name: str) -> Path:
    if name.endswith(".toml"):
        return Path(name)
    files = recalled(ledger)
    if name not in files:
        raise OptionError(
            f"the ledger {ledger.root} knows no study {name!r}; it knows {', '.join(files) or 'none'}, and files end in .toml"
        )
    return files[name]
