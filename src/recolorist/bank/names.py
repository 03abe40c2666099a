"""Labels and domains: names as text, names as codes, and the rows of each code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError, StatisticsError

__all__ = [
    "Groups",
    "Names",
    "decode_names",
    "encode_names",
    "find_code",
    "find_patients",
    "folder_name",
    "format_name",
    "format_names",
]

#: One name for each row, None for rows without one; or None if no row has one.
Names = Sequence[str | None] | None


class Groups(NamedTuple):
    """Rows sorted by code.

    ``order`` lists the rows group by group. The group ``codes[i]`` lies in it from ``starts[i]`` to ``starts[i + 1]``.
    """

    order: NDArray[np.int64]
    codes: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int32]) -> Groups:
        """Sort rows by code; rows of one group keep their order.

        Args:
            codes: The code of each row.

        Returns:
            The rows by code.

        Example:
            >>> groups = Groups.of(np.array([1, 0, 1], np.int32))
            >>> groups.order.tolist(), groups.bounds(1)
            ([1, 0, 2], (1, 3))
        """
        order = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[order], return_index=True)
        return cls(order, present.astype(np.int64), np.append(starts, len(codes)))

    def bounds(self, code: int) -> tuple[int, int]:
        """Return where a group begins and ends in ``order``; equal numbers if there is no such group.

        Args:
            code: The code of the group.

        Returns:
            Where it begins and ends in ``order``; twice 0 if there is none.
        """
        i = int(np.searchsorted(self.codes, code))
        if i == len(self.codes) or self.codes[i] != code:
            return 0, 0
        return int(self.starts[i]), int(self.starts[i + 1])


def format_name(value: Any) -> str | None:
    """Return a key, label or domain as text, whether it came as text, number, array or tensor.

    Args:
        value: A label or domain.

    Returns:
        The text; None for none.

    Example:
        >>> format_name(np.array([3])), format_name("tumour"), format_name(None)
        ('3', 'tumour', None)
    """
    if value is None or isinstance(value, str):
        return value
    return "+".join(str(part) for part in np.asarray(value).ravel().tolist())


def format_names(values: Any) -> list[str | None] | None:
    """Return labels or domains as text, or None if no image has one.

    Args:
        values: Labels or domains, one for each row; None: none.

    Returns:
        The texts; None if no row has one.
    """
    names = None if values is None else [format_name(value) for value in values]
    return None if names is None or all(name is None for name in names) else names


def encode_names(names: Names, count: int) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Replace names by their places in a sorted table; rows without a name get -1.

    Args:
        names: A name for each row.
        count: The number of rows.

    Returns:
        A code for each row, -1 for none, and the names.

    Raises:
        StatisticsError: There are not as many names as rows.

    Example:
        >>> encode_names(["b", None, "a"], 3)
        (array([ 1, -1,  0], dtype=int32), ('a', 'b'))
    """
    if names is None:
        return np.full(count, -1, np.int32), ()
    if len(names) != count:
        raise StatisticsError(f"{len(names)} labels or domains for {count} images; give one for each, or none")
    table = sorted({str(name) for name in names if name is not None})
    codes = {name: code for code, name in enumerate(table)}
    return np.array([-1 if name is None else codes[str(name)] for name in names], np.int32), tuple(table)


def decode_names(codes: NDArray[Any], table: Sequence[str]) -> list[str | None]:
    """Undo :func:`encode_names`.

    Args:
        codes: A code for each row.
        table: The names.

    Returns:
        A name for each row.

    Raises:
        IndexError: A code lies outside the table.
    """
    lookup: list[str | None] = [*map(str, table), None]  # code -1 finds the None at the end
    return [lookup[code] for code in codes.tolist()]


def find_code(name: str, table: tuple[str, ...], kind: str) -> int:
    """Return the code of a label or domain.

    Args:
        name: The name.
        table: The names.
        kind: What they are, for the message.

    Returns:
        Its code.

    Raises:
        OptionError: The table does not have the name.
    """
    if name not in table:
        raise OptionError(f"no style has {kind} {name!r}; the bank has {', '.join(map(repr, table)) or 'none'}")
    return table.index(name)


def find_patients(keys: Sequence[str], pattern: str) -> NDArray[np.str_]:
    r"""Return the patient (slide, case) of each image from its key.

    Args:
        keys: The keys, usually paths.
        pattern: A regular expression, searched for in each key; its first group is the patient, or all of it without a group.

    Returns:
        A patient for each key.

    Raises:
        OptionError: The pattern is no regular expression, or a key does not contain it.

    Example:
        >>> find_patients(["12_l1.jpg", "12_r1.jpg", "7_l1.jpg"], r"^(\d+)_").tolist()
        ['12', '12', '7']
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"patients={pattern!r} is no regular expression: {error}. Example: '^([^_]+)_'") from error
    matches = [compiled.search(key) for key in keys]
    if None in matches:
        raise OptionError(
            f"patients={pattern!r} is not in the key {keys[matches.index(None)]!r}; give a regular expression that every key "
            "has, with the patient in its first group, such as '^([^_]+)_'"
        )
    return np.array([match.group(1 if compiled.groups else 0) or "" for match in matches if match])


def folder_name(folders: Sequence[str], level: int | None) -> str | None:
    """Return the sub-folder that names the label or domain of a file.

    Args:
        folders: The sub-folders on the way to the file, the outermost first.
        level: Which of them: 0 is the first, -1 the one that holds the file; None: none.

    Returns:
        Its name; None where there is no such level.

    Example:
        >>> folder_name(["clinic", "benign"], -1), folder_name([], 0)
        ('benign', None)
    """
    return None if level is None or not -len(folders) <= level < len(folders) else folders[level]
