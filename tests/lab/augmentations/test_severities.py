"""Ours beside the package of MedMNIST-C, called as its users call it, where it can be imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist._torchvision_ops import declare_missing_ops
from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.augmentations.severities import SETS
from tests.lab.augmentations.parts import picture

declare_missing_ops()
registry = pytest.importorskip(
    "medmnistc.corruptions.registry",
    reason="the package of MedMNIST-C is not installed; it needs NumPy below 2.3 and ImageMagick",
    exc_type=ImportError,
)

# Values of ours are rounded and those of the package cut off, so one level is the least that may differ.
CLOSE = {
    **dict.fromkeys(("pixelate", "jpeg_compression", "brightness_up", "brightness_down", "contrast_up", "contrast_down"), 0),
    **dict.fromkeys(("black_corner",), 0),
    **dict.fromkeys(("defocus_blur", "motion_blur", "saturate", "gaussian_blur", "gamma_corr_up", "gamma_corr_down"), 1),
    **dict.fromkeys(("zoom_blur",), 6),
}
NOISE = ("gaussian_noise", "speckle_noise", "shot_noise")
WHERE = [(which, name) for which in SETS for name in (*CLOSE, *NOISE) if name in SETS[which]]


class _Thirty(np.random.Generator):
    """Draws the angle of 30 degrees."""

    def uniform(self, *_: Any, **__: Any) -> Any:
        return 30.0


def theirs(which: str, name: str, level: int, image: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        if name == "motion_blur":
            patch.setattr(np.random, "uniform", lambda *_, **__: 30.0)
        return np.asarray(registry.CORRUPTIONS_DS[which][name].apply(Image.fromarray(image), severity=level)).astype(int)


@pytest.mark.parametrize("which", SETS)
def test_the_tables_are_the_packages(which: str) -> None:
    for name, corruption in registry.CORRUPTIONS_DS[which].items():
        given = corruption.severity_params
        if name == "zoom_blur":
            given = [(zooms[-1], zooms[1] - zooms[0]) for zooms in given]
        assert np.allclose(np.array(given).reshape(len(given), -1), SETS[which][name]), name


@pytest.mark.filterwarnings("ignore:The binary mode of fromstring:DeprecationWarning")  # the package's, below NumPy 2.3
@pytest.mark.parametrize(("which", "name"), WHERE)
def test_results_agree(which: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = picture(224)
    for level, strength in enumerate(SETS[which][name]):
        ours = CORRUPTIONS[name](image, strength, _Thirty(np.random.PCG64(level)), 1.0).astype(int)
        want = theirs(which, name, level, image, monkeypatch)
        if name in NOISE:
            assert np.std(ours - image) == pytest.approx(np.std(want - image), rel=0.03)
        else:
            assert np.abs(ours - want).max() <= CLOSE[name]
