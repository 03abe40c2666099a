"""Whether bank, options and images go together: refusals and warnings."""

from __future__ import annotations

import numpy as np
import pytest

from recolorist import StyleBank
from recolorist.augment.bank_checks import pixels_of_histograms, refuse_unfit_bank, warn_of_preparation
from recolorist.augment.styles import Style
from recolorist.bank.making import PreprocessingWarning
from recolorist.core.options import MatchOptions
from recolorist.errors import OptionError

TILES = np.random.default_rng(0).integers(0, 256, (2, 6, 5, 3), dtype=np.uint8)


def test_a_bank_without_histograms_serves_moments_only() -> None:
    bank = StyleBank.build(TILES)
    refuse_unfit_bank(bank, MatchOptions(space="yiq"))
    with pytest.raises(OptionError, match="with_histograms=True"):
        refuse_unfit_bank(bank, MatchOptions("histogram"))


def test_the_pixels_have_the_histograms_of_the_image() -> None:
    bank = StyleBank.build(TILES, with_histograms=True)
    pixels = pixels_of_histograms(bank, Style("1", 1, bank.moments(1)), "histogram")
    np.testing.assert_array_equal(pixels[:, 0], np.sort(TILES[1].reshape(-1, 3), axis=0))
    with pytest.raises(OptionError, match="use another sampler"):
        pixels_of_histograms(bank, Style("new", None, bank.moments(1)), "histogram")


def test_the_warning_names_both() -> None:
    with pytest.warns(PreprocessingWarning, match="28 x 28 and these are 32 x 32"):
        warn_of_preparation("28 x 28", "32 x 32")
