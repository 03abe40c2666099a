"""Options of a network as they are typed: ``alpha=0.5``, ``preserve_colour=yes``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist_lab.baselines.registry import METHODS, name_of, options_of
from recolorist_lab.runs.config import unknown

__all__ = ["pairs", "parsed"]

_WORDS: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def parsed(method: str, texts: Iterable[str]) -> dict[str, Any]:
    """Read options as values of the type their default has.

    Args:
        method: The name of the network.
        texts: Options as ``name=value``.

    Returns:
        The values by name.

    Raises:
        OptionError: An option is unknown, or its value is not of its type.

    Example:
        >>> parsed("adain", ["alpha=0.5", "preserve_colour=yes"])
        {'alpha': 0.5, 'preserve_colour': True}
    """
    method = name_of(method)
    defaults = options_of(method)
    texts_by_name = pairs(texts, "--option")
    unknown(texts_by_name, defaults, f"the options of {METHODS[method].title}")
    return {name: _typed(name, text, defaults[name]) for name, text in texts_by_name.items()}


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Take texts of the form ``name=value`` apart.

    Args:
        texts: The texts.
        option: The option of the command line they came from, for the message.

    Returns:
        The values by name.

    Raises:
        OptionError: A text has another form, or a name comes twice.

    Example:
        >>> pairs(["decoder=a.pth"], "--from")
        {'decoder': 'a.pth'}
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or name in values:
            raise OptionError(f"{option} {text!r}; write each option once, as name=value")
        values[name] = value
    return values


def _typed(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in _WORDS:
            raise OptionError(f"{name}={text!r}; accepted are {', '.join(_WORDS)}")
        return _WORDS[text.lower()]
    if isinstance(default, tuple):
        like = default[0] if default else ""
        return tuple(_typed(name, item.strip(), like) for item in text.split(",") if item.strip())
    if isinstance(default, int | float):
        return _number(name, text, type(default))
    return text


def _number(name: str, text: str, kind: type[int | float]) -> int | float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise OptionError(f"{name}={text!r}; accepted are {'whole numbers' if kind is int else 'finite numbers'}")
    return value
