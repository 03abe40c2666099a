"""Make augmentations by name; the libraries of one are imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist_lab.augmentations.base import Augmentation, Chain, Nothing
from recolorist_lab.augmentations.images import TrainingImages
from recolorist_lab.augmentations.table import AUGMENTATIONS, Family, Part, make_part, parse
from recolorist_lab.runs.seeds import seed_of

__all__ = ["build"]

Builder = Callable[[Part, TrainingImages, int], Augmentation]


def build(
    name: str,
    images: TrainingImages,
    *,
    seed: int,
    p: float | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Augmentation:
    """Build the augmentation of a name, or of several joined by ``+``, for the training images.

    Args:
        name: A name such as ``"colorist"``, or several, each with its own settings: ``"colorist(p=0.5)+random_flip"``.
        images: The training images, from which styles come.
        seed: Seed of all draws.
        p: Probability, for a single name; None takes the augmentation's own.
        options: Settings, for a single name.

    Returns:
        The augmentation.

    Raises:
        OptionError: A name or a setting is unknown or out of range.

    Example:
        >>> import numpy as np
        >>> from recolorist_lab.data.synthetic import Recipe, make
        >>> images = TrainingImages(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
        >>> grey = build("gray_scale", images, seed=1)(images.pixels(0), index=0, epoch=0)
        >>> bool((grey == grey[..., :1]).all())
        True
    """
    parts = parse(name)
    settings = {**options, **({} if p is None else {"p": p})}
    if settings:
        if len(parts) > 1 or "(" in name:
            raise OptionError(
                f"{', '.join(settings)} came beside the augmentation {name!r}; write them into it, as in "
                '"colorist(p=0.5)+random_flip"'
            )
        parts = (make_part(name.strip(), settings),)
    # The first part draws as it would alone; two of one name must not draw the same.
    seeds = [seed, *(seed_of("augmentation", seed, number) for number in range(1, len(parts)))]
    built = [
        _BUILDERS[AUGMENTATIONS[part.name].family](part, images, part_seed) for part, part_seed in zip(parts, seeds, strict=True)
    ]
    return built[0] if len(built) == 1 else Chain(built)


def _nothing(_: Part, __: TrainingImages, ___: int) -> Augmentation:
    return Nothing()


def _torchvision(part: Part, _: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.heuristics import Heuristic

    return Heuristic(part, seed)


def _targeted(part: Part, images: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.targeted import Targeted

    return Targeted(part, images.dataset, seed)


def _colorist(part: Part, images: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.colour import ColoristAugmentation

    return ColoristAugmentation(part, images, seed)


def _histogram(part: Part, images: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.colour import HistogramAugmentation

    return HistogramAugmentation(part, images, seed)


def _hed(part: Part, _: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.hed import HedJitter

    return HedJitter(part, seed)


def _camera(part: Part, _: TrainingImages, seed: int) -> Augmentation:
    from recolorist_lab.augmentations.camera import Camera

    return Camera(part, seed)


def _plugin(part: Part, images: TrainingImages, seed: int) -> Augmentation:
    plugin = AUGMENTATIONS[part.name].plugin
    assert plugin is not None  # noqa: S101 - the family says so
    augmentation = plugin.load()(part, images, seed)
    if not isinstance(augmentation, Augmentation):
        raise OptionError(f"{part.name} of {plugin.origin} is no Augmentation; derive its class from one")
    return augmentation


_BUILDERS: Final[Mapping[Family, Builder]] = MappingProxyType(
    {
        "nothing": _nothing,
        "torchvision": _torchvision,
        "targeted": _targeted,
        "colorist": _colorist,
        "histogram": _histogram,
        "hed": _hed,
        "camera": _camera,
        "plugin": _plugin,
    }
)
