"""Choosing a style: that of another image, one between, beyond or like those of the bank, or the image's own after a change."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from recolorist.augment.new_styles import (
    beyond,
    beyond_by,
    extrapolate,
    extrapolate_by,
    gaussian,
    interpolate,
    own_style,
    own_style_by,
)
from recolorist.augment.row_samplers import balanced_domain, other_domain, other_label, same_label, uniform
from recolorist.augment.styles import Content, Sampler, Style
from recolorist.bank.features import style_features

__all__ = [
    "SAMPLERS",
    "Content",
    "Sampler",
    "Style",
    "balanced_domain",
    "beyond",
    "beyond_by",
    "extrapolate",
    "extrapolate_by",
    "gaussian",
    "interpolate",
    "other_domain",
    "other_label",
    "own_style",
    "own_style_by",
    "same_label",
    "style_features",
    "uniform",
]

#: Every sampler by its name; a callable of the same signature serves as well.
SAMPLERS: Final = MappingProxyType(
    {
        "uniform": uniform,
        "other_domain": other_domain,
        "same_label": same_label,
        "other_label": other_label,
        "balanced_domain": balanced_domain,
        "interpolate": interpolate,
        "gaussian": gaussian,
        "extrapolate": extrapolate,
        "beyond": beyond,
        "own_style": own_style,
    }
)
