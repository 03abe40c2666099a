"""Whether bank, options and images go together: refusals and warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recolorist import Colorist, StyleBank
from recolorist.augment.bank_checks import pixels_of_histograms, refuse_unfit_bank, warn_of_preparation
from recolorist.augment.samplers import beyond_by, own_style_by
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


@pytest.mark.parametrize(
    ("sampler", "options", "message"),
    [
        ("own_style", {"space": "lab"}, "sampler='own_style' changes RGB values.*use space='rgb'"),
        (own_style_by(2.0), {"space": "lab"}, "sampler='own_style' changes RGB values"),
        ("beyond", {"space": "hed"}, "sampler='beyond' changes RGB values"),
        (beyond_by(0.1), {"space": "hed"}, "sampler='beyond' changes RGB values"),
        ("balanced_domain", {}, "needs domains, and the bank has none"),
        ("interpolate", {"method": "histogram"}, "needs styles that are images"),
        ("gaussian", {"method": "exact_histogram"}, "needs styles that are images"),
        (own_style_by(2.0), {"method": "histogram"}, "needs styles that are images"),
    ],
    ids=["own", "own with sizes", "beyond", "beyond with a spread", "domains", "interpolate", "gaussian", "own by pixels"],
)
def test_a_sampler_that_could_never_draw_is_refused_at_once(sampler: Any, options: dict[str, Any], message: str) -> None:
    """It was refused at the first image that was drawn for; a command wrote a folder in which every image had failed."""
    bank = StyleBank.build(TILES, split="train", space=options.get("space", "rgb"), with_histograms="method" in options)
    with pytest.raises(OptionError, match=message):
        Colorist(bank, sampler=sampler, **options)


def test_the_pixels_have_the_histograms_of_the_image() -> None:
    bank = StyleBank.build(TILES, with_histograms=True)
    pixels = pixels_of_histograms(bank, Style("1", 1, bank.moments(1)), "histogram")
    np.testing.assert_array_equal(pixels[:, 0], np.sort(TILES[1].reshape(-1, 3), axis=0))
    with pytest.raises(OptionError, match="use a sampler of rows"):
        pixels_of_histograms(bank, Style("new", None, bank.moments(1)), "histogram")


def test_the_warning_names_both() -> None:
    with pytest.warns(PreprocessingWarning, match="28 x 28 and these are 32 x 32"):
        warn_of_preparation("28 x 28", "32 x 32")
