"""Synthetic tiles: the same seed gives the same bytes, scanners differ, and the picture obeys the optics it claims."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.demo.fields import _STREAMS, Array, along, cloud, smooth, step, stream
from recolorist.demo.synthetic import KINDS, SCANNERS, Scanner, scan, tile, tissue
from recolorist.demo.tissue import _distances, _glands, _Nucleus, _paint
from recolorist.errors import RecoloristError

PERFECT = Scanner("perfect", (0.6, 0.7, 0.3), (0.1, 0.8, 0.4), (1.0, 1.0), (1.0, 1.0, 1.0), gamma=1.0, blur=0.0, noise=0.0)


@lru_cache
def drawn(seed: int, kind: str = "normal") -> Array:
    return tissue(seed, (160, 224), kind)


def nuclei_and_stroma(seed: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    dyes = drawn(seed)
    return dyes[..., 0] > 0.45, (dyes[..., 0] < 0.10) & (dyes[..., 1] > 0.22)


class TestRepeatable:
    @pytest.mark.parametrize("scanner", SCANNERS)
    def test_same_seed_same_bytes(self, scanner: str) -> None:
        assert tile(5, scanner, (48, 80)).tobytes() == tile(5, scanner, (48, 80)).tobytes()

    def test_same_bytes_in_another_process(self) -> None:
        code = (
            "import hashlib; from recolorist.demo.synthetic import tile;"
            "print(hashlib.sha256(tile(5, 'mill', (48, 80)).tobytes()).hexdigest())"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
        assert other == hashlib.sha256(tile(5, "mill", (48, 80)).tobytes()).hexdigest()

    def test_the_global_generator_plays_no_part(self) -> None:
        np.random.seed(1)  # noqa: NPY002
        first = tile(5, size=(32, 40))
        np.random.seed(2)  # noqa: NPY002
        assert np.array_equal(first, tile(5, size=(32, 40)))

    def test_seeds_differ(self) -> None:
        digests = {tissue(seed, (40, 64)).tobytes() for seed in range(20)}
        assert len(digests) == 20

    def test_numpy_integers_are_seeds_too(self) -> None:
        assert np.array_equal(tile(5, size=24), tile(int(np.int64(5)), size=24))
        assert np.array_equal(tissue(np.uint8(5), 24), tissue(5, 24))  # type: ignore[arg-type]

    def test_parts_have_streams_of_their_own(self) -> None:
        with_mucin, without = tissue(9, (150, 200)), tissue(9, (150, 200), replace(KINDS["normal"], goblets=0.0))
        glands = list(_glands(stream(9, "glands"), (150, 200), KINDS["normal"]))
        changed = (np.abs(with_mucin - without) > 1e-3).any(axis=2)
        assert changed.sum() > 500
        assert (_distances(glands, (150, 200))[0][changed] < 0.0).all()
        assert np.abs(with_mucin - without)[..., 0].max() < 0.2  # not one nucleus moved: they hold 0.6 or more

    def test_no_two_parts_draw_alike(self) -> None:
        assert len({stream(1, part).random() for part in _STREAMS}) == len(_STREAMS)


class TestShape:
    @pytest.mark.parametrize("size", [1, (1, 9), (9, 1), (2, 2), (3, 17), 31, (40, 72), (72, 40)])
    def test_any_size(self, size: int | tuple[int, int]) -> None:
        picture = tile(3, "valley", size)
        assert picture.shape == ((size, size, 3) if isinstance(size, int) else (*size, 3))
        assert picture.dtype == np.uint8

    @pytest.mark.parametrize("kind", KINDS)
    def test_dyes_are_never_negative_and_finite(self, kind: str) -> None:
        for seed in range(6):
            dyes = tissue(seed, (90, 130), kind)
            assert dyes.shape == (90, 130, 2)
            assert np.isfinite(dyes).all()
            assert dyes.min() >= 0.0


class TestLook:
    @pytest.mark.parametrize(("one", "other"), list(combinations(SCANNERS, 2)))
    def test_scanners_differ_in_mean_colour(self, one: str, other: str) -> None:
        dyes = drawn(4)
        gap = scan(dyes, one, 4).mean((0, 1)) - scan(dyes, other, 4).mean((0, 1))
        assert np.abs(gap).max() > 15.0

    def test_scanners_differ_more_than_tissues(self) -> None:
        means = np.array([[scan(drawn(seed), scanner, seed).mean((0, 1)) for seed in range(4)] for scanner in SCANNERS])
        between, within = means.mean(1).std(0).mean(), means.std(1).mean()
        assert between > 2.0 * within

    @pytest.mark.parametrize("scanner", SCANNERS)
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_nuclei_are_darker_and_bluer_than_stroma(self, scanner: str, seed: int) -> None:
        nuclei, stroma = nuclei_and_stroma(seed)
        assert min(nuclei.sum(), stroma.sum()) > 1000
        picture = scan(drawn(seed), scanner, seed).astype(np.float64)
        dark, pink = picture[nuclei].mean(0), picture[stroma].mean(0)
        assert (dark < pink - 5.0).all()
        assert dark[2] / dark.sum() > pink[2] / pink.sum()
        assert dark[2] - dark[0] > pink[2] - pink[0] + 10.0

    @pytest.mark.parametrize("seed", range(8))
    def test_there_is_tissue_glass_and_nuclei_in_every_tile(self, seed: int) -> None:
        dyes = drawn(seed)
        glass, nuclei = (dyes.sum(2) < 0.10).mean(), (dyes[..., 0] > 0.45).mean()
        assert 0.01 < glass < 0.45
        assert 0.05 < nuclei < 0.45

    def test_chromatin_has_texture(self) -> None:
        blue, pink = np.zeros((2, 40, 60))
        cell = _Nucleus(y=20.0, x=30.0, long=14.0, short=10.0, angle=0.3, dark=0.7, bump=1.0)
        _paint(blue, pink, cloud(np.random.default_rng(1), (40, 60), 1.0), cell)
        middle = blue[16:25, 25:36]
        assert middle.std() > 0.05
        assert 0.4 < middle.mean() < 0.8

    def test_tumour_has_more_and_more_varied_nuclei_in_its_glands(self) -> None:
        share = {kind: np.mean([(drawn(seed, kind)[..., 0] > 0.45).mean() for seed in range(5)]) for kind in KINDS}
        assert share["tumour"] > share["normal"]


class TestOptics:
    def test_densities_add_up(self) -> None:
        dyes = tissue(6, (40, 56))
        dyes = dyes / dyes.max()
        picture = scan(dyes, PERFECT).astype(np.float64)
        expected = 255.0 * 10.0 ** -(dyes @ np.array([PERFECT.haematoxylin, PERFECT.eosin]))
        assert np.abs(picture - expected).max() <= 0.5 + 1e-9

    def test_strength_is_a_factor_on_the_dye(self) -> None:
        dyes = tissue(6, (40, 56))
        strong = scan(dyes, replace(PERFECT, strength=(1.5, 0.5)))
        assert np.array_equal(strong, scan(dyes * np.array([1.5, 0.5]), PERFECT))

    def test_glass_shows_the_white_point(self) -> None:
        white = (0.9, 0.8, 0.7)
        glass = scan(np.zeros((8, 12, 2)), replace(PERFECT, white=white))
        assert (glass == np.rint(255 * np.array(white))).all()

    def test_gamma_above_one_is_brighter(self) -> None:
        dyes = tissue(6, (40, 56))
        assert scan(dyes, replace(PERFECT, gamma=1.3)).mean() > scan(dyes, PERFECT).mean() + 5

    def test_blur_softens_and_keeps_the_mean(self) -> None:
        dyes = tissue(6, (64, 96))
        sharp, soft = (scan(dyes, replace(PERFECT, blur=b)).astype(np.float64) for b in (0.0, 2.0))
        assert np.abs(np.diff(soft, axis=1)).mean() < 0.7 * np.abs(np.diff(sharp, axis=1)).mean()
        assert np.abs(soft.mean((0, 1)) - sharp.mean((0, 1))).max() < 2.0

    def test_noise_has_the_declared_spread(self) -> None:
        grey = scan(np.full((200, 300, 2), 0.3), replace(PERFECT, noise=0.02)).astype(np.float64)
        light = grey.mean((0, 1)) / 255.0
        expected = np.sqrt((255.0 * 0.02) ** 2 * light + 1.0 / 12.0)  # shot noise, and rounding to whole levels
        assert np.allclose(grey.std((0, 1)), expected, rtol=0.03)

    def test_two_scanners_do_not_share_their_noise(self) -> None:
        one, two = (scan(np.full((100, 150, 2), 0.3), replace(PERFECT, name=n, noise=0.03), 1) for n in "ab")
        for channel in range(3):
            assert abs(np.corrcoef(one[..., channel].ravel(), two[..., channel].ravel())[0, 1]) < 0.05

    def test_dyes_are_not_written_to(self) -> None:
        dyes = tissue(6, (20, 28))
        before = dyes.copy()
        dyes.flags.writeable = False
        scan(dyes, "mill")
        assert np.array_equal(dyes, before)


class TestFields:
    def test_smooth_is_the_gaussian(self) -> None:
        spike = np.zeros((41, 61))
        spike[20, 30] = 1.0
        y, x = np.mgrid[-20:21, -30:31]
        bell = np.exp(-(y**2 + x**2) / (2 * 2.5**2)) / (2 * np.pi * 2.5**2)
        assert np.abs(smooth(spike, 2.5) - bell).max() < 1e-5

    def test_smooth_of_zero_width_changes_nothing(self) -> None:
        field = np.random.default_rng(1).random((5, 7))
        assert np.array_equal(smooth(field, 0.0), field)

    @pytest.mark.parametrize("sigma", [0.8, 2.2, 9.0])
    def test_cloud_has_mean_0_and_spread_1(self, sigma: float) -> None:
        values = cloud(np.random.default_rng(1), (300, 500), sigma)
        assert abs(values.mean()) < 0.15
        assert abs(values.std() - 1.0) < 0.12

    def test_step_is_monotone_between_0_and_1(self) -> None:
        values = step(np.linspace(-5, 5, 99), 0.5, 0.7)
        assert (np.diff(values) > 0).all()
        assert 0.0 <= values[0] < 0.01
        assert 0.99 < values[-1] <= 1.0

    def test_along_keeps_the_spread_across(self) -> None:
        noise = np.random.default_rng(1).standard_normal((80, 120))
        down = along(noise, (np.ones((80, 120)), np.zeros((80, 120))), 10)
        assert np.abs(np.diff(down, axis=0)).mean() < 0.5 * np.abs(np.diff(down, axis=1)).mean()


class TestRefusals:
    @pytest.mark.parametrize("seed", [-1, 1.5, "7", True, None])
    def test_seed(self, seed: object) -> None:
        with pytest.raises(RecoloristError, match="accepted are whole numbers"):
            tile(seed, size=8)  # type: ignore[arg-type]

    @pytest.mark.parametrize("size", [0, -3, (0, 5), (5, 0), (8193, 1), (3,), (3, 4, 5), "9", 2.5, (4.0, 4.0), True])
    def test_size(self, size: object) -> None:
        with pytest.raises(RecoloristError, match="from 1 to 8192"):
            tile(1, size=size)  # type: ignore[arg-type]

    def test_scanner(self) -> None:
        with pytest.raises(RecoloristError, match="'aperture' is unknown; choose from 'north', 'harbour', 'valley', 'mill'"):
            tile(1, "aperture", 8)

    def test_kind(self) -> None:
        with pytest.raises(RecoloristError, match="'liver' is unknown; choose from 'normal', 'tumour'"):
            tile(1, size=8, kind="liver")

    @pytest.mark.parametrize("shape", [(4, 4), (4, 4, 3), (1, 4, 4, 2)])
    def test_dyes(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(RecoloristError, match="height, width, 2"):
            scan(np.zeros(shape))


def test_tables_are_keyed_by_the_names_they_hold() -> None:
    assert all(name == scanner.name for name, scanner in SCANNERS.items())
    assert all(name == kind.name for name, kind in KINDS.items())
