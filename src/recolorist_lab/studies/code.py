"""Which modules a configuration uses besides the module of its kind: they belong to the fingerprint of its code.

Modules that a kind loads for every configuration need not be named; imports are followed. A test runs cells and compares.
"""

from __future__ import annotations

from typing import Any, Final

from recolorist.core.match import MATCHERS
from recolorist_lab.augmentations.table import AUGMENTATIONS, Family, parse
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.data import synthetic
from recolorist_lab.data.named import DATASETS
from recolorist_lab.metrics.evaluation import MODULES, with_parts
from recolorist_lab.training.algorithms import module_of

__all__ = [
    "code_of_check",
    "code_of_classify",
    "code_of_cost",
    "code_of_data",
    "code_of_runtime",
    "code_of_spaces",
    "code_of_train",
    "code_of_transfer",
]

_RANKS: Final = ("recolorist.core.histograms", "recolorist.core.kernels.fallback_ranks")
_FAMILIES: Final[dict[Family, tuple[str, ...]]] = {
    "nothing": (),
    "torchvision": ("recolorist_lab.augmentations.heuristics",),
    "targeted": ("recolorist_lab.augmentations.targeted",),
    "colorist": ("recolorist_lab.augmentations.colour", "recolorist.augment.colorist"),
    "histogram": ("recolorist_lab.augmentations.colour", *_RANKS),
    "hed": ("recolorist_lab.augmentations.hed",),
    "camera": ("recolorist_lab.augmentations.camera",),
    "plugin": (),  # its own module is named
}
_IMAGES: Final = "recolorist.io.images"
_FILES: Final = "recolorist.io"
_TENSORS: Final = "recolorist.torch"
_WEIGHTS: Final = "recolorist_lab.assets.weights"
_FROZEN: Final = "recolorist_lab.training.frozen"
_DISTORTIONS: Final = ("recolorist_lab.baselines.networks.sgvits_distortions", "recolorist_lab.augmentations")
_STORED: Final = ("recolorist_lab.baselines.options", "recolorist_lab.baselines.store")


def code_of_data(config: Any) -> tuple[str, ...]:
    """Name the code that reads a dataset: images in files are decoded, synthetic ones are drawn, plugins index their own.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    if (plugin := DATASETS.module_of(config.dataset)) is not None:
        return (plugin, _FILES, _IMAGES)
    return () if config.dataset.partition(":")[0] == synthetic.NAME else (_FILES, _IMAGES)


def code_of_classify(config: Any) -> tuple[str, ...]:
    """Name the code of the algorithm and of the augmentation, and of reading weights.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    parts = parse(config.augmentation)
    modules = [module for part in parts for module in _FAMILIES[AUGMENTATIONS[part.name].family]]
    modules += [module for part in parts if (module := AUGMENTATIONS.module_of(part.name)) is not None]
    modules += [_WEIGHTS] if config.weights else []
    modules += [_FROZEN] if config.fit == "head" else []
    batches = any(part.options.get("mode") == "batch_fraction" for part in parts)
    return (module_of(config.algorithm), *modules, *((_TENSORS,) if batches else ()), *code_of_data(config))


def code_of_runtime(config: Any) -> tuple[str, ...]:
    """Name the code of the method that is timed.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    return (_TENSORS, "recolorist.bank.style_bank") if config.method == "colorist_batch" else _network(config.method)


def code_of_spaces(config: Any) -> tuple[str, ...]:
    """Name the code of a histogram method and of the metrics.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    ranks = _RANKS if MATCHERS[config.method].needs_pixels else ()
    return (*ranks, *_metrics(config), *code_of_data(config))


def code_of_cost(config: Any) -> tuple[str, ...]:
    """Name the code of the methods whose time is measured.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    ranks = _RANKS if any(MATCHERS[method].needs_pixels for method in config.methods) else ()
    return (*ranks, *code_of_data(config))


def code_of_check(config: Any) -> tuple[str, ...]:
    """Name the code of the method that is checked.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    return _RANKS if MATCHERS[config.method].needs_pixels else ()


def code_of_transfer(config: Any) -> tuple[str, ...]:
    """Name the code of the method that transfers, of reading its weights, and of the metrics.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    network = _network(config.method)
    weights = (*_STORED, "recolorist_lab.baselines.pretrained", _WEIGHTS) if network else ()
    return (*network, *weights, *_metrics(config), *code_of_data(config))


def code_of_train(config: Any) -> tuple[str, ...]:
    """Name the code of the network that is trained, and of the weights it starts with.

    Args:
        config: The configuration of the cell.

    Returns:
        Names of modules.
    """
    training = (*(f"recolorist_lab.baselines.{name}" for name in ("crops", "sheet", "trainer")), *_STORED)
    start = ("recolorist_lab.baselines.start", *_network(config.start)) if config.start else ()
    weights = (_WEIGHTS,) if config.encoder == "auto" or config.start in METHODS else ()
    view = _DISTORTIONS if config.view == "distorted_crop" or (config.method == "sgvits" and not config.view) else ()
    return (*_network(config.method), *training, *start, *weights, *view, *code_of_data(config))


def _metrics(config: Any) -> tuple[str, ...]:
    return tuple(f"recolorist_lab.metrics.{module}" for name in sorted(with_parts(config.metrics)) for module in MODULES[name])


def _network(method: str) -> tuple[str, ...]:
    return (METHODS[method].module,) if method in METHODS else ()
