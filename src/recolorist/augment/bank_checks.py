"""Whether a bank, the options of a match and the images go together."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recolorist.augment.new_styles import beyond, extrapolate, gaussian, interpolate, own_style, refuse_other_space
from recolorist.augment.row_samplers import balanced_domain, refuse_no_domains
from recolorist.augment.styles import Sampler, Style, name_of_sampler
from recolorist.bank.making import PreprocessingWarning
from recolorist.bank.style_bank import StyleBank
from recolorist.core.options import MatchOptions
from recolorist.errors import OptionError

__all__ = ["pixels_of_histograms", "refuse_unfit_bank", "warn_of_preparation"]

_MADE: Final = (interpolate, gaussian, extrapolate, beyond, own_style)  # their styles are no image's


def refuse_unfit_bank(bank: StyleBank, options: MatchOptions, sampler: Sampler | None = None) -> None:
    """Refuse a bank that does not hold what the options and the sampler need.

    Args:
        bank: The bank.
        options: How images are matched to its styles.
        sampler: How styles are drawn: a sampler of the library, one with options of its own, or any other.

    Raises:
        OptionError: It has no histograms, moments of another space, or nothing that the sampler could draw.

    Example:
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3))
        >>> refuse_unfit_bank(bank, MatchOptions(space="lab"))
        Traceback (most recent call last):
        recolorist.errors.OptionError: the bank holds moments of 'rgb', and space='lab' needs those of 'lab'; build it with ...
    """
    needed = options.measured_space
    if options.needs_pixels:
        if bank.histograms is None or options.space != "rgb":
            raise OptionError(
                f"method={options.method!r} with a bank needs its histograms and space='rgb'; build it with with_histograms=True"
            )
    elif bank.space != needed:
        raise OptionError(
            f"the bank holds moments of {bank.space!r}, and space={options.space!r} needs those of {needed!r}; build it "
            f"with space={needed!r}"
        )
    if sampler is not None:
        _refuse_unfit_sampler(bank, options, getattr(sampler, "func", sampler))


def _refuse_unfit_sampler(bank: StyleBank, options: MatchOptions, sampler: Sampler) -> None:
    if sampler in (beyond, own_style):
        refuse_other_space(bank, name_of_sampler(sampler))
    if sampler is balanced_domain:
        refuse_no_domains(bank)
    if options.needs_pixels and sampler in _MADE:
        raise OptionError(f"method={options.method!r} needs styles that are images; use a sampler of rows, such as 'uniform'")


def pixels_of_histograms(bank: StyleBank, style: Style, method: str) -> NDArray[np.uint8]:
    """Return a column of pixels with the style's histograms, in ascending order: all that a histogram method looks at.

    Args:
        bank: The bank, with histograms.
        style: The style.
        method: The method that asks, for the message.

    Returns:
        Pixels (N, 1, C).

    Raises:
        OptionError: The style is not that of an image of the bank.

    Example:
        >>> bank = StyleBank.build(np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3), with_histograms=True)
        >>> pixels_of_histograms(bank, Style("0", 0, bank.moments(0)), "histogram")[:2, 0].tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    if style.row is None or bank.histograms is None:
        raise OptionError(f"method={method!r} needs styles that are images; use a sampler of rows, such as 'uniform'")
    counts = bank.histograms[style.row]
    levels = np.arange(counts.shape[1], dtype=np.uint8)
    return np.stack([np.repeat(levels, channel) for channel in counts], axis=-1)[:, None]


def warn_of_preparation(bank: str, pipeline: str) -> None:
    """Warn that the images of the bank were prepared differently from those that come.

    Args:
        bank: How those of the bank were prepared.
        pipeline: How those that come are.
    """
    warnings.warn(
        f"the bank's images were {bank} and these are {pipeline}. Resizing changes deviations: build the bank from images "
        "as they come to this step.",
        PreprocessingWarning,
        stacklevel=3,
    )
