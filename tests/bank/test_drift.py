"""Drift: the threshold keeps what it promises, and what moved is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.bank import drift
from recolorist.bank.features import style_features
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import StatisticsError


def cloud(count: int, seed: int, shape: str = "normal") -> StyleBank:
    """Styles drawn from one distribution: normal features, or heavily skewed ones."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((count, 9)) if shape == "normal" else rng.exponential(1.0, (count, 9)) ** 1.5 - 1
    mean = np.clip(0.55 + 0.03 * drawn[:, :3], 0, 1)
    factor = np.zeros((count, 3, 3))
    factor[:, range(3), range(3)] = 0.12 * np.exp(0.1 * drawn[:, 3:6])
    factor[:, (1, 2, 2), (0, 0, 1)] = 0.05 + 0.02 * drawn[:, 6:]
    cov = factor @ factor.transpose(0, 2, 1)
    return StyleBank(mean, (cov + cov.transpose(0, 2, 1)) / 2, np.full(count, 4096), [str(i) for i in range(count)])


def alarms(trained: StyleBank, now: StyleBank, coverage: float = 0.99) -> float:
    region = drift.region_of(trained, coverage)
    return float((region.distance(now.mean, now.cov) > region.threshold).mean())


class TestThreshold:
    def test_leaving_out_by_formula_is_leaving_out(self) -> None:
        points = np.random.default_rng(0).normal(size=(40, 4)) @ np.diag([1.0, 3.0, 0.2, 1.0])

        def distance(point: NDArray[np.float64], others: NDArray[np.float64]) -> float:
            away = point - others.mean(axis=0)
            return float(away @ np.linalg.solve(np.cov(others.T), away))

        inside = np.array([distance(point, points) for point in points])
        expected = [distance(points[i], np.delete(points, i, axis=0)) for i in range(len(points))]
        assert np.allclose(drift.leave_one_out(inside, len(points)), expected, rtol=1e-10)

    @pytest.mark.parametrize("shape", ["normal", "skewed"])
    @pytest.mark.parametrize("count", [150, 1000])
    def test_false_alarms_are_one_in_a_hundred(self, shape: str, count: int) -> None:
        rates = [alarms(cloud(count, seed, shape), cloud(2000, 1000 + seed, shape)) for seed in range(12)]
        assert 0.004 < float(np.mean(rates)) < 0.017

    def test_small_banks_use_the_distribution_of_normal_data(self) -> None:
        region = drift.region_of(cloud(40, 0))
        assert region.rule == "F"
        rates = [alarms(cloud(40, seed), cloud(2000, 500 + seed)) for seed in range(40)]
        assert 0.004 < float(np.mean(rates)) < 0.02
        assert drift.region_of(cloud(99, 0)).rule == "leave-one-out"

    def test_f_is_that_of_the_textbook(self) -> None:
        rng = np.random.default_rng(1)
        found = 0
        for _ in range(4000):
            points = rng.normal(size=(13, 3))
            cloud_, new = points[:12], points[12]
            away = new - cloud_.mean(axis=0)
            found += float(away @ np.linalg.solve(np.cov(cloud_.T), away)) > drift.f_threshold(12, 3, 0.95)
        assert 0.04 < found / 4000 < 0.06

    def test_other_coverages(self) -> None:
        rates = [alarms(cloud(400, seed), cloud(2000, 77 + seed), 0.9) for seed in range(6)]
        assert 0.08 < float(np.mean(rates)) < 0.12

    @pytest.mark.parametrize("coverage", [0.2, 1.0, 7.0])
    def test_nonsense_coverages(self, coverage: float) -> None:
        with pytest.raises(StatisticsError, match="coverage="):
            drift.region_of(cloud(200, 0), coverage)

    def test_too_few_styles(self) -> None:
        with pytest.raises(StatisticsError, match="at least 12 are needed"):
            drift.region_of(cloud(11, 0))

    def test_identical_styles_do_not_explode(self) -> None:
        bank = cloud(200, 0).subset(rows=[0] * 1)
        same = StyleBank(
            np.repeat(bank.mean, 120, axis=0), np.repeat(bank.cov, 120, axis=0), np.full(120, 9), [str(i) for i in range(120)]
        )
        region = drift.region_of(same)
        near = bank.mean + 0.4 / 255
        assert np.isfinite(region.distance(near, bank.cov)).all()
        assert region.distance(near, bank.cov)[0] < 2


class TestWords:
    @pytest.mark.parametrize(("channel", "name"), [(0, "red"), (1, "green"), (2, "blue")])
    def test_the_channel_that_moved_is_named(self, channel: int, name: str) -> None:
        trained, now = cloud(300, 0), cloud(200, 1)
        mean = now.mean.copy()
        mean[:, channel] -= 40 / 255
        region = drift.region_of(trained)
        moved = drift.group_of("x", region, mean, now.std, region.distance(mean, now.cov), 0.99)
        words = moved.to_dict()["words"]
        assert words.startswith(f"{name}: ")
        assert "levels darker" in words
        assert moved.mean_shift[channel] == pytest.approx(-40, abs=2)
        assert moved.drifted
        assert moved.share > 0.8

    def test_contrast_is_named_first_where_it_moved_further(self) -> None:
        trained, now = cloud(300, 0), cloud(200, 1)
        region = drift.region_of(trained)
        moved = drift.group_of("x", region, now.mean, now.std * np.array([1, 2, 1]), np.zeros(200), 0.99)
        assert moved.to_dict()["words"].startswith("green: contrast × 2.0")

    def test_nothing_moved_is_not_drift(self) -> None:
        trained, now = cloud(1000, 0), cloud(300, 1)
        region = drift.region_of(trained)
        found = drift.group_of("x", region, now.mean, now.std, region.distance(now.mean, now.cov), 0.99)
        assert not found.drifted

    def test_chance(self) -> None:
        assert drift.binomial_tail(0, 10, 0.01) == 1.0
        assert drift.binomial_tail(1, 10, 0.01) == pytest.approx(1 - 0.99**10)
        assert drift.binomial_tail(10, 10, 0.01) == pytest.approx(1e-20)


@pytest.mark.parametrize(
    ("images", "coverage", "verdict"), [(1, 0.99, "too few to judge"), (2, 0.99, "drifted"), (2, 0.9, "too few to judge")]
)
def test_chance_could_put_a_small_group_outside(images: int, coverage: float, verdict: str) -> None:
    region = drift.region_of(cloud(200, 0), coverage)
    now = cloud(images, 1)
    group = drift.group_of("g", region, now.mean / 4, now.std, region.distance(now.mean / 4, now.cov), coverage)
    assert group.outside == images
    assert (group.verdict, group.to_dict()["verdict"]) == (verdict, verdict)


def test_whitening_makes_the_cloud_round() -> None:
    bank = cloud(500, 3)
    white = drift.region_of(bank).whitened(bank.mean, bank.cov)
    varying = np.cov(style_features(bank.mean, bank.cov).T).diagonal() > 1e-4
    found = np.linalg.eigvalsh(np.cov(white.T))
    assert found[-1] == pytest.approx(1.0)
    assert varying.any()


def test_a_bank_of_another_space_is_refused() -> None:
    tiles = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    with pytest.raises(StatisticsError, match="moments of 'lab'"):
        drift.region_of(StyleBank.build(tiles, space="lab"))


@pytest.mark.parametrize(("channels", "name"), [(1, "grey"), (2, "channel 1"), (3, "blue")])
def test_the_channel_that_moved_is_named(channels: int, name: str) -> None:
    sds = np.arange(1.0, channels + 1)
    words = drift.describe_shift(10 * sds, sds, np.ones(channels), np.zeros(channels))
    assert words.startswith(f"{name}: {10 * channels} levels brighter ({channels}.0 SD)")


def test_contrast_comes_first_where_it_moved_further() -> None:
    words = drift.describe_shift(np.array([-2.0]), np.array([-0.5]), np.array([0.5]), np.array([-3.0]))
    assert words == "grey: contrast × 0.50 (3.0 SD), 2 levels darker (0.5 SD)"


def test_records_of_images_agree_with_the_group() -> None:
    trained, now = cloud(200, 0), cloud(30, 1)
    region = drift.region_of(trained)
    moved = np.clip(now.mean + 0.2, 0, 1)
    distance = region.distance(moved, now.cov)
    lines = drift.image_lines(region, now.keys, ["g"] * 30, moved, now.std, distance)
    group = drift.group_of("g", region, moved, now.std, distance, drift.COVERAGE)
    assert sum(line["outside"] for line in lines) == group.outside > 0
    assert [line["source"] for line in lines] == list(now.keys)
    assert (group.images, group.share, group.drifted) == (30, group.outside / 30, True)
    assert json.loads(json.dumps(group.to_dict()))["words"] == group.words
