"""Names of methods and targets of the shift study for the pages."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

__all__ = ["BASELINE_NAME", "group_of", "has_several_sources", "method_name", "source_name", "target_name"]

BASELINE_NAME: Final = "no augmentation"
_STRONG: Final = "color_jitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)"
#: Parts of a method, longest first, and what they are called.
_PARTS: Final = MappingProxyType(
    {
        _STRONG: "strong jitter",
        "Baseline": BASELINE_NAME,
        "colorist(sampler='beyond', p=0.8, method='covariance', spread=0.3)": "beyond (covariance, p = 0.8, spread 0.3)",
        "colorist(sampler='beyond', p=0.8, method='covariance')": "beyond (covariance, p = 0.8)",
        "colorist(sampler='beyond', p=0.5, method='covariance')": "beyond (covariance)",
        "colorist(sampler='beyond', p=0.3, method='covariance')": "beyond (covariance, p = 0.3)",
        "own_style(p=0.8, scale=2.0)": "own_style (p = 0.8, scale 2)",
        "own_style(p=0.3, scale=0.5)": "own_style (p = 0.3, scale 0.5)",
        "own_style(p=0.3, method='mean_std')": "own_style (p = 0.3, mean_std)",
        "own_style(p=0.3)": "own_style (p = 0.3)",
        "own_style(p=0.2)": "own_style (p = 0.2)",
        "colorist(sampler='beyond', p=0.5, spread=0.3)": "beyond (spread 0.3)",
        "colorist(sampler='beyond', p=0.8)": "beyond (p = 0.8)",
        "colorist(sampler='beyond', p=0.5)": "beyond",
        "colorist(sampler='extrapolate', factor=1.5, p=0.5)": "extrapolate (1.5, p = 0.5)",
        "colorist(sampler='extrapolate', factor=2.0, p=0.5)": "extrapolate (2, p = 0.5)",
        "colorist(sampler='extrapolate', factor=3.0, p=0.3)": "extrapolate (3, p = 0.3)",
        "colorist(sampler='extrapolate', factor=3.0, p=0.5)": "extrapolate (3, p = 0.5)",
        "colorist(sampler='extrapolate', factor=3.0, p=0.8)": "extrapolate (3, p = 0.8)",
        "colorist(sampler='extrapolate', factor=4.0, p=0.5)": "extrapolate (4, p = 0.5)",
        "colorist(sampler='gaussian')": "gaussian",
        "colorist(sampler='interpolate')": "interpolate",
        "colorist(sampler='same_label')": "same_label",
        "colorist(sampler='other_label')": "other_label",
        "colorist(sampler='other_domain')": "other_domain",
        "colorist(sampler='balanced_domain')": "balanced_domain",
        "colorist(method='covariance')": "Colorist (covariance)",
        "colorist(space='lab')": "Colorist (CIELAB)",
        "colorist(space='hed')": "Colorist (HED)",
        "colorist(max_clip=0.01)": "Colorist (at most 1 % clipped)",
        "colorist(p=1.0)": "Colorist (p = 1)",
        "histogram": "histogram matching",
        "targeted": "MedMNIST-C corruptions",
        "Random Resized Crop": "crop",
        "Random Erasing": "erasing",
        "Random Flip": "flip",
        "Color Jitter": "colour jitter",
        "Gray Scale": "grey scale",
        "color_jitter": "colour jitter",
        "trivialaugment": "TrivialAugment",
        "randaugment": "RandAugment",
        "autoaugment": "AutoAugment",
        "randstainna": "RandStainNA",
        "hed_jitter": "HED jitter",
        "gray_scale": "grey scale",
        "augmix": "AugMix",
        "colorist(styles='unseen', p=0.5)": "ceiling: styles of the target",
        "colorist": "Colorist",
        "+": " + ",
    }
)
_SOURCES: Final = MappingProxyType(
    {"acevedo20": "A", "zheng18_tecom": "Z", "bccd": "B", "deepdrid_regular": "DeepDRiD", "idrid": "IDRiD"}
)


def method_name(method: str) -> str:
    """Return a readable name of a method.

    Args:
        method: An augmentation as a configuration names it.

    Returns:
        The name for people.

    Example:
        >>> method_name("colorist(p=1.0)+color_jitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)")
        'Colorist (p = 1) + strong jitter'
    """
    for part, name in _PARTS.items():
        method = method.replace(part, name)
    return method


def target_name(dataset: str) -> str:
    """Return a target without the size of its images.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        The name for people.

    Example:
        >>> target_name("blood-acevedo20-bccd-to-zheng18_tecom-48")
        'blood: A and B → Z'
    """
    if "-to-" not in dataset:
        return dataset
    task, _, rest = dataset.rpartition("-")[0].partition("-")
    sources, _, target = rest.partition("-to-")
    return (
        f"{task}: {' and '.join(_SOURCES.get(source, source) for source in sources.split('-'))} → {_SOURCES.get(target, target)}"
    )


def source_name(dataset: str) -> str:
    """Return the task and the domains that train.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        The name for people.

    Example:
        >>> source_name("blood-acevedo20-bccd-to-zheng18_tecom-48")
        'blood: A and B'
    """
    return target_name(dataset).partition(" → ")[0]


def group_of(dataset: str) -> str:
    """Return the kind of target: the task and, for blood, whether one laboratory trains or two.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        The name of the group.

    Example:
        >>> group_of("blood-acevedo20-bccd-to-zheng18_tecom-48"), group_of("breast-warm-to-cool-96")
        ('blood, two laboratories', 'breast')
    """
    task = dataset.partition("-")[0]
    return f"{task}, {'two laboratories' if has_several_sources(dataset) else 'one laboratory'}" if task == "blood" else task


def has_several_sources(dataset: str) -> bool:
    """Tell whether images of more than one laboratory or clinic train.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        Whether there are several.

    Example:
        >>> has_several_sources("blood-acevedo20-bccd-to-zheng18_tecom-48"), has_several_sources("breast-warm-to-cool-96")
        (True, False)
    """
    return "-" in dataset.partition("-")[2].partition("-to-")[0]
