"""The drawing of the tissue: amounts of dye, glands, nuclei."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recolorist.demo.fields import cloud, stream
from recolorist.demo.synthetic import KINDS, tissue
from recolorist.demo.tissue import _distances, _glands, _Nucleus, _paint


def test_parts_have_streams_of_their_own() -> None:
    with_mucin, without = tissue(9, (150, 200)), tissue(9, (150, 200), replace(KINDS["normal"], goblets=0.0))
    glands = list(_glands(stream(9, "glands"), (150, 200), KINDS["normal"]))
    changed = (np.abs(with_mucin - without) > 1e-3).any(axis=2)
    assert changed.sum() > 500
    assert (_distances(glands, (150, 200))[0][changed] < 0.0).all()
    assert np.abs(with_mucin - without)[..., 0].max() < 0.2  # not one nucleus moved: they hold 0.6 or more


@pytest.mark.parametrize("kind", KINDS)
def test_dyes_are_never_negative_and_finite(kind: str) -> None:
    for seed in range(6):
        dyes = tissue(seed, (90, 130), kind)
        assert dyes.shape == (90, 130, 2)
        assert np.isfinite(dyes).all()
        assert dyes.min() >= 0.0


def test_chromatin_has_texture() -> None:
    blue, pink = np.zeros((2, 40, 60))
    cell = _Nucleus(y=20.0, x=30.0, long=14.0, short=10.0, angle=0.3, dark=0.7, bump=1.0)
    _paint(blue, pink, cloud(np.random.default_rng(1), (40, 60), 1.0), cell)
    middle = blue[16:25, 25:36]
    assert middle.std() > 0.05
    assert 0.4 < middle.mean() < 0.8


def test_tumour_has_more_and_more_varied_nuclei_in_its_glands() -> None:
    share = {kind: np.mean([(tissue(seed, (160, 224), kind)[..., 0] > 0.45).mean() for seed in range(5)]) for kind in KINDS}
    assert share["tumour"] > share["normal"]
