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

from recolorist.demo import synthetic
from recolorist.demo.fields import Array
from recolorist.demo.synthetic import KINDS, SCANNERS, Scanner, scan, tile, tissue
from recolorist.demo.tissue import draw
from recolorist.errors import RecoloristError

PERFECT = Scanner("perfect", (0.6, 0.7, 0.3), (0.1, 0.8, 0.4), (1.0, 1.0), (1.0, 1.0, 1.0), gamma=1.0, blur=0.0, noise=0.0)


@lru_cache
def drawn(seed: int, kind: str = "normal") -> Array:
    return tissue(seed, (160, 224), kind)


def nuclei_and_stroma(seed: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    dyes = drawn(seed)
    return dyes[..., 0] > 0.45, (dyes[..., 0] < 0.10) & (dyes[..., 1] > 0.22)


@pytest.fixture
def _drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every map, also one that was drawn before."""
    monkeypatch.setattr(synthetic, "draw", draw)


@pytest.mark.usefixtures("_drawn_anew")
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
        digests = {tissue(seed, (40, 64)).tobytes() for seed in range(8)}
        assert len(digests) == 8

    def test_numpy_integers_are_seeds_too(self) -> None:
        assert np.array_equal(tile(5, size=24), tile(int(np.int64(5)), size=24))
        assert np.array_equal(tissue(np.uint8(5), 24), tissue(5, 24))  # type: ignore[arg-type]


class TestShape:
    @pytest.mark.parametrize("size", [1, (1, 9), (9, 1), (2, 2), (3, 17), 31, (40, 72), (72, 40)])
    def test_any_size(self, size: int | tuple[int, int]) -> None:
        picture = tile(3, "valley", size)
        assert picture.shape == ((size, size, 3) if isinstance(size, int) else (*size, 3))
        assert picture.dtype == np.uint8


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
