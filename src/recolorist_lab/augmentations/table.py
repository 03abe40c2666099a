"""The table of augmentations, and the one way to write a choice among them: ``colorist(p=0.5)+random_flip``.

Nothing here loads torch, so configurations can be checked without it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from recolorist.core import image as check
from recolorist.errors import OptionError
from recolorist_lab.plugins import Plugin, Registry
from recolorist_lab.runs.config import unknown

__all__ = ["AUGMENTATIONS", "NAMES", "AugmentationEntry", "Family", "Part", "Value", "make_part", "parse"]

Value = bool | int | float | str
Family = Literal["nothing", "torchvision", "targeted", "colorist", "histogram", "hed", "camera", "plugin"]


@dataclass(frozen=True)
class AugmentationEntry:
    """One augmentation: of which family, applied to what share of the images, with which options and their defaults."""

    family: Family
    _: KW_ONLY
    summary: str
    paper: str = ""  #: its row in the paper; empty for what the paper does not compare
    p: float = 1.0
    options: Mapping[str, Value] = field(default_factory=dict)
    moves: bool = False  #: pixels change place
    plugin: Plugin | None = None  #: where it comes from, if from another package or a file


_COLORIST: Final[Mapping[str, Value]] = MappingProxyType(
    {
        "mode": "sample",
        "space": "rgb",
        "method": "mean_std",
        "sampler": "uniform",
        "styles": "train",
        "factor": 1.5,
        "spread": 0.15,
        "scale": 1.0,
        "least": 0.1,
        "mix": 0.1,
        "strength": 1.0,
        "max_gain": 10.0,
        "max_clip": 1.0,
    }
)

_BUILT_IN: Final[Mapping[str, AugmentationEntry]] = MappingProxyType(
    {
        "none": AugmentationEntry("nothing", summary="the image as it is", paper="Baseline"),
        "augmix": AugmentationEntry(
            "torchvision",
            summary="mixes the image with three chains of one to three mild operations",
            paper="AugMix",
            options={"severity": 3, "mixture_width": 3, "chain_depth": -1, "alpha": 1.0, "all_ops": True},
            moves=True,
        ),
        "autoaugment": AugmentationEntry(
            "torchvision",
            summary="one of 25 pairs of operations found for ImageNet",
            paper="AutoAugment",
            options={"policy": "imagenet"},
            moves=True,
        ),
        "color_jitter": AugmentationEntry(
            "torchvision",
            summary="brightness, contrast, saturation and hue, in random order",
            paper="Color Jitter",
            options={"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.2},
        ),
        "gray_scale": AugmentationEntry("torchvision", summary="grey, three times over", paper="Gray Scale"),
        "randaugment": AugmentationEntry(
            "torchvision",
            summary="two of 14 operations at a fixed magnitude",
            paper="RandAugment",
            options={"num_ops": 2, "magnitude": 9, "num_magnitude_bins": 31},
            moves=True,
        ),
        "random_erasing": AugmentationEntry(
            "torchvision",
            summary="in every second image, a black rectangle of 2 to 33 % of the area",
            paper="Random Erasing",
            options={"chance": 0.5, "least": 0.02, "most": 0.33, "narrowest": 0.3, "widest": 3.3},
        ),
        "random_flip": AugmentationEntry(
            "torchvision",
            summary="mirrored left to right, upside down, both or neither",
            paper="Random Flip",
            options={"horizontal": 0.5, "vertical": 0.5},
            moves=True,
        ),
        "random_resized_crop": AugmentationEntry(
            "torchvision",
            summary="a part of 8 to 100 % of the area, resized to the whole",
            paper="Random Resized Crop",
            options={"least": 0.08, "most": 1.0, "narrowest": 3 / 4, "widest": 4 / 3},
            moves=True,
        ),
        "targeted": AugmentationEntry(
            "targeted",
            summary="one of the corruptions that MedMNIST-C has for the kind of image, or none of them",
            paper="Targeted Augment",
            options={"corruptions": "auto", "reference": 224},
        ),
        "trivialaugment": AugmentationEntry(
            "torchvision",
            summary="one of 14 operations at a random magnitude",
            paper="TrivialAugment",
            options={"num_magnitude_bins": 31},
            moves=True,
        ),
        "colorist": AugmentationEntry(
            "colorist", summary="the colour statistics of another training image", paper="Colorist", p=0.3, options=_COLORIST
        ),
        "colorist_other_domain": AugmentationEntry(
            "colorist",
            summary="Colorist with styles of other hospitals, scanners or cameras only",
            p=0.3,
            options={**_COLORIST, "sampler": "other_domain"},
        ),
        "histogram": AugmentationEntry(
            "histogram", summary="the histograms of another training image, matched channel by channel", p=0.3
        ),
        "hed_jitter": AugmentationEntry(
            "hed",
            summary="more or less of each dye: haematoxylin, eosin and DAB are separated, scaled and shifted",
            options={"scale": 0.05, "shift": 0.05},
        ),
        "randstainna": AugmentationEntry(
            "colorist",
            summary="statistics in Lab drawn from a normal distribution of those of the training images, as in RandStainNA",
            p=0.3,
            options={**_COLORIST, "sampler": "gaussian", "space": "lab"},
        ),
        "own_style": AugmentationEntry(
            "colorist",
            summary="Colorist with the image's own style, changed as much as the training images differ",
            p=0.5,
            options={**_COLORIST, "sampler": "own_style", "method": "covariance"},
        ),
        "camera": AugmentationEntry(
            "camera",
            summary="another camera: a random colour matrix, offset and gamma around the identity",
            p=0.8,
            options={"matrix": 0.15, "offset": 0.05, "gamma": 0.25},
        ),
    }
)


def _entry_of(plugin: Plugin) -> AugmentationEntry:
    """Make the entry of an augmentation from outside, from the attributes of its class."""
    factory = plugin.load()
    summary = (factory.__doc__ or plugin.origin).strip().splitlines()[0]
    return AugmentationEntry(
        "plugin", summary=summary, p=factory.default_p, options=dict(factory.options), moves=factory.moves, plugin=plugin
    )


#: Every augmentation by its name, with the settings of the study; plugins come last.
AUGMENTATIONS: Final = Registry("augmentations", _BUILT_IN, _entry_of)
#: The names of those that are built in, the paper's first.
NAMES: Final = tuple(_BUILT_IN)


class Part(NamedTuple):
    """One augmentation with all its settings."""

    name: str
    p: float
    options: Mapping[str, Any]  #: each of the type that the table's default has


def parse(text: str) -> tuple[Part, ...]:
    """Read one or several augmentations, joined by ``+`` and applied from left to right, with options in parentheses.

    Args:
        text: Such as ``"colorist(p=0.5)+randaugment"``.

    Returns:
        The parts in their order.

    Raises:
        OptionError: The text cannot be read, or names an unknown augmentation or option.

    Example:
        >>> parse("colorist(p=0.5)+random_flip")[0].p
        0.5
        >>> parse("colour_jitter")
        Traceback (most recent call last):
        recolorist.errors.OptionError: augmentation: 'colour_jitter' is unknown; did you mean 'color_jitter'? Accepted: ...
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        calls = [_call(node) for node in _terms(tree)]
    except (SyntaxError, ValueError, AttributeError, RecursionError) as error:
        raise OptionError(
            f"the augmentation {text!r} cannot be read; write a name, or several joined by +, each with its options in "
            'parentheses, such as "colorist(p=0.5)+random_flip"'
        ) from error
    return tuple(make_part(name, options) for name, options in calls)


def make_part(name: str, settings: Mapping[str, Any]) -> Part:
    """Combine the settings of an augmentation: those of the table, and those given instead.

    Args:
        name: The augmentation.
        settings: Options by name; ``p`` is the probability.

    Returns:
        The augmentation with all its settings.

    Raises:
        OptionError: A name or a value is not accepted.
    """
    unknown([name], AUGMENTATIONS, "augmentation")
    entry = AUGMENTATIONS[name]
    unknown(settings, ("p", *entry.options), f"the augmentation {name}")
    p = check.number(settings.get("p", entry.p), 0, 1, f"p of {name}")
    chosen = {key: _typed(value, entry.options[key], f"{key} of {name}") for key, value in settings.items() if key != "p"}
    return Part(name, p, MappingProxyType({**entry.options, **chosen}))


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _call(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if isinstance(node, ast.Name):
        return node.id, {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError(ast.dump(node))
    if None in (names := [word.arg for word in node.keywords]) or len(set(names)) < len(names):
        raise ValueError(names)
    return node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}


def _typed(value: Any, default: Value, name: str) -> Value:
    """The value if it is of the default's type; whole numbers are accepted where fractions are."""
    if isinstance(default, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        expected = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[type(default)]
        raise OptionError(f"{name} is {value!r}; accepted is {expected}, such as {default!r}")
    result: Value = value
    return result
