"""Configurations: frozen, typed, and each field either part of a result's identity or not.

They are standard dataclasses. The fields are few and flat, and the library needs no validation framework elsewhere. The one thing
that matters most here, that `"3"`, `3.7` or `true` never quietly become the number 3, is easier to promise in fifty lines of our
own than by switching off another library's conversions.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
import types
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar

from recolorist.errors import OptionError

__all__ = [
    "Json",
    "Role",
    "canonical",
    "digest",
    "identity",
    "identity_of",
    "operational",
    "parse",
    "roles",
    "unknown",
]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Role: TypeAlias = Literal["identity", "operational"]
Config = TypeVar("Config")

_MISSING: Final = dataclasses.MISSING
_MOST_BITS: Final = 64  # of a whole number, as in TOML; longer ones have no float, and Python writes none of over 4,300 digits


def identity(default: Any = _MISSING) -> Any:
    """Declare a field that changes the result, and so the run id.

    Args:
        default: Its default.

    Returns:
        The field.
    """
    return dataclasses.field(default=default, metadata={"role": "identity"})


def operational(default: Any = _MISSING) -> Any:
    """Declare a field that changes only where or how fast work is done: paths, workers, devices.

    Args:
        default: Its default.

    Returns:
        The field.
    """
    return dataclasses.field(default=default, metadata={"role": "operational"})


def roles(config: type) -> dict[str, Role]:
    """Return the role of every field of a configuration.

    A field without a role is an error, because guessing it would corrupt every run id.

    Args:
        config: A frozen dataclass.

    Returns:
        The roles by name of field.

    Raises:
        OptionError: It is not a frozen dataclass, or a field has no role.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Example:
        ...     seed: int = identity()
        ...     workers: int = operational(2)
        >>> roles(Example)
        {'seed': 'identity', 'workers': 'operational'}
    """
    if not dataclasses.is_dataclass(config) or not config.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise OptionError(f"{config.__name__} is not a frozen dataclass; a configuration must not change after it was hashed")
    roles_by_name = {field.name: field.metadata.get("role") for field in dataclasses.fields(config)}
    for name, role in roles_by_name.items():
        if role not in typing.get_args(Role):
            raise OptionError(
                f"the field {name!r} of {config.__name__} has no role; declare it with identity() if it can change a result, "
                "and with operational() if it cannot"
            )
    return typing.cast("dict[str, Role]", roles_by_name)


def identity_of(config: Any) -> dict[str, Json]:
    """Return the identity fields and their values: what the run id is made of.

    Args:
        config: The configuration.

    Returns:
        The values by name of field, tuples as lists.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Example:
        ...     sides: tuple[int, ...] = identity()
        ...     workers: int = operational(2)
        >>> identity_of(Example((3, 4), workers=8))
        {'sides': [3, 4]}
    """
    marked = roles(type(config))
    values = {name: getattr(config, name) for name, role in marked.items() if role == "identity"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def canonical(value: Any) -> bytes:
    r"""Write a value as JSON in one way only, so that equal values have equal hashes whatever the order of their keys.

    Args:
        value: What JSON can hold.

    Returns:
        The bytes.

    Raises:
        OptionError: It holds something else, or a number that is not finite.

    Example:
        >>> canonical({"b": 0.1, "a": [1, "é"]})
        b'{"a":[1,"\\u00e9"],"b":0.1}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"a value cannot be kept as JSON ({error}); use numbers that are finite, text, lists, and tables with text keys"
        ) from error


def digest(value: Any) -> str:
    """Hash a value's canonical JSON.

    Args:
        value: What JSON can hold.

    Returns:
        The sha256 in hexadecimal.

    Example:
        >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 2.0})
        True
    """
    return hashlib.sha256(canonical(value)).hexdigest()


@cache
def _hints(config: Any) -> dict[str, Any]:
    """Look up the types of a class, once; a study parses the same one a thousand times."""
    return typing.get_type_hints(config)


def parse(config: type[Config], values: Mapping[str, Any], where: str) -> Config:
    """Build a configuration from a table of a TOML file.

    Args:
        config: The class of the configuration.
        values: The table.
        where: The file and table, for messages.

    Returns:
        The configuration.

    Raises:
        OptionError: A key is unknown or missing, or a value is not of its field's type.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Example:
        ...     strength: float = identity(1.0)
        >>> parse(Example, {"strength": 1}, "study.toml")
        Example(strength=1.0)
        >>> parse(Example, {"strenght": 1}, "study.toml")
        Traceback (most recent call last):
        recolorist.errors.OptionError: study.toml: 'strenght' is unknown; did you mean 'strength'? Accepted: 'strength'
    """
    fields = {field.name: field for field in dataclasses.fields(config)}  # type: ignore[arg-type]
    roles(config)
    unknown(values, fields, where)
    hints = _hints(typing.cast("Any", config))
    absent = [name for name, field in fields.items() if name not in values and field.default is _MISSING]
    if absent:
        raise OptionError(f"{where}: {', '.join(map(repr, absent))} must be given; there is no default")
    typed = {name: _typed(value, hints[name], f"{where}: {name}") for name, value in values.items()}
    try:
        return config(**typed)
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from error


def unknown(names: Iterable[str], accepted: Iterable[str], where: str) -> None:
    """Refuse a name that is not accepted, and suggest the one that was probably meant.

    Args:
        names: The names that came.
        accepted: The names that are accepted.
        where: What they belong to.

    Raises:
        OptionError: A name is not accepted.
    """
    choices = list(accepted)
    for name in names:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
            suggestion = f"; did you mean {near[0]!r}?" if near else "."
            raise OptionError(f"{where}: {name!r} is unknown{suggestion} Accepted: {', '.join(map(repr, sorted(choices)))}")


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value if it is of the type declared; whole numbers are accepted where fractions are, and nothing else is converted."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OptionError(f"{where} is a whole number of {value.bit_length():,} bits; accepted are at most {_MOST_BITS}")
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _one_of(value, inner, where)
    if origin is Literal:
        if isinstance(value, str) and value in inner:
            return value
        unknown([value] if isinstance(value, str) else [repr(value)], inner, where)
    if origin is tuple:
        if isinstance(value, list | tuple):
            return tuple(_typed(item, inner[0], where) for item in value)
        raise _refusal(value, "a list", where)
    return _plain(value, hint, where)


def _plain(value: Any, hint: Any, where: str) -> Any:
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise _refusal(value, "a finite number", where)
        return float(value)
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    if hint not in names:
        raise OptionError(f"{where}: fields of type {hint} are not supported; use int, float, str, bool, Literal, tuple or None")
    if type(value) is not hint:
        raise _refusal(value, names[hint], where)
    return value


def _one_of(value: Any, hints: tuple[Any, ...], where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    present = [hint for hint in hints if hint is not type(None)]
    return _typed(value, present[0], where)


def _refusal(value: Any, expected: str, where: str) -> OptionError:
    return OptionError(f"{where} is {value!r}; accepted is {expected}")
