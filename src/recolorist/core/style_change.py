"""A style relative to the image it is for: its own mean and covariance, changed by a step and a matrix.

The image has the mean m and the covariance C, in a range from 0 to 1. The style has the mean m + d and the covariance T C T.
The map that gives an image its changed style is x → T (x - m) + m + d where C has full rank. Matching needs the moments of the
image for that, so this style becomes moments when the plan is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recolorist.core import kernels
from recolorist.core.moments import Moments, trusted_moments
from recolorist.core.options import MatchOptions
from recolorist.core.sums import Pairs
from recolorist.errors import StatisticsError

__all__ = ["LEAST_MEAN", "MOST_LOGARITHM", "MOST_MEAN", "ChangedStyle", "StyleChange", "resolve_style"]

LEAST_MEAN: Final = 0.02  #: a changed mean is at least this share of the range, unless the image's own is smaller
MOST_MEAN: Final = 0.98  #: and at most this, unless the image's own is larger
MOST_LOGARITHM: Final = 3.0  #: largest logarithm of a gain that samplers draw: a factor of 20


class ChangedStyle(NamedTuple):
    """The style that a change gives one image."""

    style: Pairs | Moments
    is_capped: bool  #: whether a mean or variance came out that no image should have, and was reduced


@dataclass(frozen=True, slots=True)
class StyleChange:
    """A change of an image's own style.

    Args:
        step: d, added to the mean of each channel, in a range from 0 to 1.
        gains: Factor on the deviation of each channel, for ``method="mean_std"``, which does not mix channels.
        matrix: T, symmetric and positive definite, row by row, for ``method="covariance"``.

    Example:
        >>> darker = StyleChange((-0.1,), (0.5,), ((0.5,),))
        >>> darker.change([(100.0, 16.0)], 255.0, "mean_std").style
        [(74.5, 4.0)]
    """

    step: tuple[float, ...]
    gains: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...]

    def change(self, content: Pairs | Moments, data_range: float, method: str) -> ChangedStyle:
        """Return the style of an image after the change, reduced to what an image can have.

        A mean stays between 0.02 and 0.98 of the range, or the image's own mean where that lies beyond. Values of mean m have a
        variance of at most m (1 - m). If that of a channel is larger, all of the covariance is reduced by one factor.

        Args:
            content: The moments of the image, or mean and variance of each channel.
            data_range: The largest value of the image.
            method: ``"covariance"`` for the matrix, anything else for the gains.

        Returns:
            The style, of the kind and in the units of ``content``, and whether it was reduced.

        Raises:
            StatisticsError: The image has other channels, no finite range, or was not measured in RGB.
        """
        pairs = content.pairs if isinstance(content, Moments) else content
        self._refuse_other_content(content, len(pairs), data_range)
        wanted = [mean + step * data_range for (mean, _), step in zip(pairs, self.step, strict=True)]
        low, high = LEAST_MEAN * data_range, MOST_MEAN * data_range
        means = [min(max(goal, min(low, own)), max(high, own)) for goal, (own, _) in zip(wanted, pairs, strict=True)]
        variances = [variance * (gain * gain) for (_, variance), gain in zip(pairs, self.gains, strict=True)]
        cov = None
        if isinstance(content, Moments):
            cov = self._mix(content.cov) if method == "covariance" else self._stretch(content.cov, variances)
            variances = cov.diagonal().tolist()
        factor = _allowed_share(means, variances, data_range)
        is_capped = means != wanted or factor < 1.0
        if isinstance(content, Moments) and cov is not None:
            return ChangedStyle(trusted_moments(content.count, np.array(means), cov * factor, data_range), is_capped)
        return ChangedStyle([(mean, variance * factor) for mean, variance in zip(means, variances, strict=True)], is_capped)

    def _stretch(self, cov: NDArray[np.float64], variances: list[float]) -> NDArray[np.float64]:
        """Return the covariance with each channel stretched by its gain; the variances are those of the channels alone."""
        stretched = cov * np.multiply.outer(self.gains, self.gains)
        np.fill_diagonal(stretched, variances)  # to the last bit those of an image that was measured by channel
        return stretched

    def _mix(self, cov: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T C T, symmetric to the last bit."""
        matrix = np.array(self.matrix)
        if len(cov) == 3:  # summed in order: a library would choose its own, by processor
            factors = matrix.ravel().tolist()
            mixed = np.array(kernels.loops.product(factors, cov.ravel().tolist(), factors)).reshape(3, 3)
        else:
            mixed = matrix @ cov @ matrix
        symmetric: NDArray[np.float64] = (mixed + mixed.T) / 2
        return symmetric

    def _refuse_other_content(self, content: Pairs | Moments, channels: int, data_range: float) -> None:
        if channels != len(self.step):
            raise StatisticsError(
                f"the image has {channels} channel(s) and the change of style {len(self.step)}; use a bank of such images"
            )
        if math.isinf(data_range):
            raise StatisticsError("the image declares no largest value, which a change of its style needs; declare data_range")
        if isinstance(content, Moments) and content.space != "rgb":
            raise StatisticsError(
                f"moments of {content.space!r} were given, and a change of style is one of RGB; use space='rgb'"
            )


def resolve_style(
    style: Pairs | Moments | StyleChange, content: Pairs | Moments, data_range: float, options: MatchOptions
) -> Pairs | Moments:
    """Return the style to match an image to: as it is, or, where it is a change, the image's own after it.

    Args:
        style: The style.
        content: What was measured of the image.
        data_range: The largest value of the image.
        options: How it is matched.

    Returns:
        The style as numbers.

    Example:
        >>> resolve_style([(20.0, 4.0)], [(100.0, 16.0)], 255.0, MatchOptions())
        [(20.0, 4.0)]
    """
    return style.change(content, data_range, options.method).style if isinstance(style, StyleChange) else style


def _allowed_share(means: list[float], variances: list[float], data_range: float) -> float:
    """Return the factor, at most 1, that brings every variance to what values with this mean can have."""
    share = 1.0
    for mean, variance in zip(means, variances, strict=True):
        most = max(0.0, mean * (data_range - mean))
        if variance > most:
            share = min(share, most / variance)
    return share
