"""The nineteen cards, read from the TOML files beside :mod:`recolorist_lab.data.cards`, in the order of the paper's table."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, TypeVar

from recolorist.errors import OptionError
from recolorist_lab.data.cards import Card, File
from recolorist_lab.runs.config import unknown

__all__ = ["CARDS", "card_of", "find_card", "parse_card"]

Part = TypeVar("Part")

_ORDER: Final = (
    *("camelyon17", "epistr", "peripheral_blood", "bone_marrow", "fitzpatrick17k", "ddi", "retina", "pathmnist", "chestmnist"),
    *("dermamnist", "octmnist", "pneumoniamnist", "retinamnist", "breastmnist", "bloodmnist", "tissuemnist", "organamnist"),
    *("organcmnist", "organsmnist"),
)


def parse_card(key: str, text: str) -> Card:
    """Read a card and check it.

    Args:
        key: The name of the dataset.
        text: The card as TOML.

    Returns:
        The card.

    Raises:
        OptionError: The text is not TOML, a name in it is unknown or missing, or a value is of another type.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"the card of {key} is not valid TOML: {error}") from error
    return _parse(Card, {"key": key, **table}, f"the card of {key}")


def _parse(part: type[Part], table: Any, where: str) -> Part:
    """Make a dataclass from a table."""
    if not isinstance(table, Mapping):
        raise OptionError(f"{where} is {table!r}; accepted is a table")
    fields = {field.name: field for field in dataclasses.fields(part)}  # type: ignore[arg-type]
    unknown(table, fields, where)
    missing = [name for name, field in fields.items() if name not in table and field.default is dataclasses.MISSING]
    if missing:
        raise OptionError(f"{where}: {', '.join(map(repr, missing))} must be given; there is no default")
    hints = typing.get_type_hints(part)
    return part(**{name: _value(value, hints[name], f"{where}: {name}") for name, value in table.items()})


def _value(value: Any, hint: Any, where: str) -> Any:
    """Convert a value to the type of its field: lists and tables become tuples, nothing else is converted."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _value(value, next(choice for choice in inner if choice is not type(None)), where)
    if origin is typing.Literal:
        unknown([str(value)], inner, where)
        return value
    if dataclasses.is_dataclass(hint):
        return _parse(typing.cast("type[Any]", hint), value, where)
    if origin is tuple:
        return _tuple(value, inner, where)
    if type(value) is not hint and not (hint is float and type(value) is int):
        raise OptionError(f"{where} is {value!r}; accepted is {getattr(hint, '__name__', hint)}")
    return hint(value)


def _tuple(value: Any, inner: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    """Convert a list to a tuple, and a table to pairs of name and value."""
    if inner[-1] is not Ellipsis:
        return (value[0], _value(value[1], inner[1], where))
    items = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(items, list):
        raise OptionError(f"{where} is {value!r}; accepted is a list")
    return tuple(_value(item, inner[0], where) for item in items)


def _card(key: str) -> Card:
    return parse_card(key, files("recolorist_lab.data.cards").joinpath(f"{key}.toml").read_text("utf-8"))


CARDS: Final[dict[str, Card]] = {key: _card(key) for key in _ORDER}


def card_of(name: str) -> Card:
    """Return the card of a dataset; those of MedMNIST also by their side in pixels.

    Args:
        name: A key of ``CARDS``, or one of MedMNIST with a side, such as ``"pathmnist_28"``.

    Returns:
        The card.

    Raises:
        OptionError: There is no such dataset.

    Example:
        >>> card_of("ddi").classes
        ('benign', 'malignant')
        >>> card_of("retinamnist_28").files[0].name, card_of("retinamnist_224").key
        ('retinamnist.npz', 'retinamnist')
        >>> card_of("imagenet")
        Traceback (most recent call last):
        recolorist.errors.OptionError: 'imagenet' is not a dataset of the study; choose from camelyon17, epistr, ...
    """
    card = find_card(name)
    if card is None:
        raise OptionError(
            f"{name!r} is not a dataset of the study; choose from {', '.join(CARDS)}; for MedMNIST also with the side, "
            "such as 'pathmnist_28' (28, 64, 128 or 224 pixels)"
        )
    return card


def find_card(name: str) -> Card | None:
    """Find the card of a dataset, as :func:`card_of` does.

    Args:
        name: The dataset, at any of its sizes.

    Returns:
        The card, or None where there is no such dataset.
    """
    if name in CARDS:
        return CARDS[name]
    key, _, side = name.rpartition("_")
    card = CARDS.get(key)
    if card is None or not card.pixels:
        return None
    return card if side == str(card.pixels) else _at_side(card, side)


def _at_side(card: Card, side: str) -> Card | None:
    """Return the card of the same images at another side. MedMNIST names the archives of 28 pixels without it."""
    checksum = dict(card.archives).get(side)
    if checksum is None:
        return None
    source, standard = card.sources[0], card.sources[0].files[0]
    name = f"{card.key}.npz" if side == "28" else f"{card.key}_{side}.npz"
    source = dataclasses.replace(
        source,
        title=source.title.replace(str(card.pixels), side),
        layout=tuple(line.replace(standard.name, name) for line in source.layout),
        files=(File(name, standard.url.replace(standard.name, name), None, checksum),),
    )
    return dataclasses.replace(
        card, key=f"{card.key}_{side}", title=f"{card.title}, {side} pixels", pixels=int(side), sources=(source,)
    )
