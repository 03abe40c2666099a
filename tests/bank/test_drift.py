"""Drift: the threshold keeps what it promises, and what moved is named."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from recolorist.bank import drift, shift
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
    @pytest.mark.parametrize("shape", ["normal", "skewed"])
    @pytest.mark.parametrize("count", [150, 1000])
    def test_false_alarms_are_one_in_a_hundred(self, shape: str, count: int) -> None:
        rates = [alarms(cloud(count, seed, shape), cloud(2000, 1000 + seed, shape)) for seed in range(12)]
        assert 0.004 < float(np.mean(rates)) < 0.017

    def test_small_banks_use_the_largest_distance_or_that_of_normal_data(self) -> None:
        region = drift.region_of(cloud(40, 0))
        assert region.rule == "small bank"
        rates = [alarms(cloud(40, seed), cloud(2000, 500 + seed)) for seed in range(40)]
        assert 0.002 < float(np.mean(rates)) < 0.02
        assert drift.region_of(cloud(99, 0)).rule == "leave-one-out"

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
        moved = drift.group_of("x", region, mean, now.cov)
        words = moved.to_dict()["words"]
        assert words.startswith(f"{name}: ")
        assert "levels darker" in words
        assert moved.mean_shift[channel] == pytest.approx(-40, abs=2)
        assert moved.drifted
        assert moved.share > 0.8

    def test_contrast_is_named_first_where_it_moved_further(self) -> None:
        trained, now = cloud(300, 0), cloud(200, 1)
        region = drift.region_of(trained)
        scale = np.diag([1.0, 2.0, 1.0])
        moved = drift.group_of("x", region, now.mean, scale @ now.cov @ scale)
        assert moved.to_dict()["words"].startswith("green: contrast × 2.0")

    def test_nothing_moved_is_not_drift(self) -> None:
        trained, now = cloud(1000, 0), cloud(300, 1)
        region = drift.region_of(trained)
        found = drift.group_of("x", region, now.mean, now.cov)
        assert not found.drifted

    def test_chance(self) -> None:
        assert drift.beta_binomial_tail(0, 10, 1, 99) == 1.0
        assert drift.beta_binomial_tail(1, 1, 2, 98) == pytest.approx(0.02)
        assert drift.beta_binomial_tail(200, 200, 1, 99) == pytest.approx(1 / math.comb(299, 99), rel=1e-6)
        known = 10**7  # a threshold that is known exactly leaves the binomial distribution
        assert drift.beta_binomial_tail(1, 10, known // 100, known) == pytest.approx(1 - (1 - 1 / 101) ** 10, rel=1e-4)


@pytest.mark.parametrize(
    ("images", "verdict"), [(1, "too few to judge"), (2, "images outside, group shifted"), (5, "images outside, group shifted")]
)
def test_one_image_is_too_few_to_judge(images: int, verdict: str) -> None:
    region = drift.region_of(cloud(200, 0))
    now = cloud(images, 1)
    group = drift.group_of("g", region, now.mean / 4, now.cov)
    assert group.outside == images
    assert (group.verdict, group.to_dict()["verdict"]) == (verdict, verdict)


class TestTheTwoTests:
    def test_a_shift_of_all_images_by_a_third_of_a_deviation_is_seen_while_all_are_inside(self) -> None:
        region, now = drift.region_of(cloud(500, 0)), cloud(200, 1)
        group = drift.group_of("g", region, now.mean + 0.01, now.cov)
        assert (group.verdict, group.has_images_outside, group.is_shifted) == ("group shifted", False, True)
        assert 0.3 < group.shift.size < 1.0

    def test_stray_images_are_seen_where_the_mean_stays(self) -> None:
        region, now = drift.region_of(cloud(500, 0)), cloud(400, 1)
        mean = now.mean.copy()
        mean[:30] += np.where(np.arange(30) % 2, 0.25, -0.25)[:, None]
        group = drift.group_of("g", region, mean, now.cov)
        assert group.verdict == "images outside"

    def test_alpha_decides(self) -> None:
        region, now = drift.region_of(cloud(500, 0)), cloud(40, 1)
        chance = drift.group_of("g", region, now.mean + 0.006, now.cov).shift.chance
        for alpha, is_shifted in ((chance, False), (chance + 1e-9, True)):
            assert drift.group_of("g", region, now.mean + 0.006, now.cov, None, alpha).is_shifted is is_shifted

    def test_changes_in_how_channels_vary_together_are_named(self) -> None:
        region, now = drift.region_of(cloud(500, 0)), cloud(200, 1)
        deviations = now.std
        cov = now.cov.copy()
        cov[:, 0, 1] = cov[:, 1, 0] = 0.9 * deviations[:, 0] * deviations[:, 1]
        cov[:, 2, :2] = cov[:, :2, 2] = 0.0
        assert drift.group_of("g", region, now.mean, cov).words.endswith("mostly in how the channels vary together")


@pytest.mark.parametrize("count", [99, 150])
def test_groups_of_200_do_not_alarm_because_the_edge_of_a_small_bank_is_uncertain(count: int) -> None:
    """With a binomial tail a bank of 99 raises an alarm in one of forty groups instead of one in a thousand."""
    found = []
    for seed in range(60):
        region, now = drift.region_of(cloud(count, seed, "skewed")), cloud(200, 900 + seed, "skewed")
        outside = int((region.distance(now.mean, now.cov) > region.threshold).sum())
        found.append(drift.beta_binomial_tail(outside, 200, region.styles + 1 - region.rank, region.rank))
    assert min(found) > 0.001
    assert np.mean(np.array(found) < 0.1) < 0.2


def test_images_of_one_patient_do_not_count_as_many_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight images of each patient: counted one by one, many unchanged groups were called drifted."""
    monkeypatch.setattr(shift, "RESAMPLES", 9)  # the shift is not looked at
    found: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(60):
        patients = cloud(60, seed, "skewed")
        rows = np.repeat(np.arange(60), 8)
        units, half = rows.astype(str), rows < 30
        keys = [str(number) for number in range(int(half.sum()))]
        bank = StyleBank(patients.mean[rows[half]], patients.cov[rows[half]], np.full(len(keys), 4096), keys)
        for is_known in (True, False):
            region = drift.region_of(bank, units=units[half] if is_known else None)
            new = (patients.mean[rows[~half]], patients.cov[rows[~half]], units[~half] if is_known else None)
            found[is_known].append(drift.group_of("g", region, *new).chance < 0.001)
    assert sum(found[True]) == 0
    assert sum(found[False]) >= 5


def test_the_edge_leaves_out_whole_patients() -> None:
    """Images of one patient stand in for each other: left out one by one, none is far from the rest."""
    patients = cloud(60, 3, "skewed")
    rows = np.repeat(np.arange(60), 8)
    bank = StyleBank(patients.mean[rows], patients.cov[rows], np.full(480, 4096), [str(number) for number in range(480)])
    region = drift.region_of(bank, units=rows.astype(str))
    features = style_features(patients.mean, patients.cov)
    others = np.repeat(features[1:], 8, axis=0)
    away = features[0] - others.mean(axis=0)
    distance = np.sqrt(away @ np.linalg.solve(np.cov(others.T), away))
    assert np.abs(region.left_out - distance).min() < 1e-9 * distance
    assert region.threshold > 1.2 * drift.region_of(bank).threshold


@pytest.mark.parametrize("others", [0, 1, 2, 11])
def test_images_are_left_out_where_other_patients_are_too_few(others: int) -> None:
    """One patient, or nearly all images of one: what is left of the bank makes no cloud."""
    bank = cloud(40, 3)
    units = np.where(np.arange(40) < others, np.arange(40), 99).astype(str)
    np.testing.assert_array_equal(drift.region_of(bank, units=units).left_out, drift.region_of(bank).left_out)


def test_a_patient_counts_by_its_share_of_images_outside() -> None:
    bank = cloud(400, 0)
    region = drift.region_of(bank, units=np.repeat(np.arange(100), 4).astype(str))
    far = bank.mean[:40] + np.where(np.arange(40) % 4 < 2, 0.4, 0.0)[:, None]  # half of the images of ten patients
    group = drift.group_of("g", region, far, bank.cov[:40], np.repeat(np.arange(10), 4).astype(str))
    above, below = region.styles + 1 - region.rank, region.rank
    assert group.outside == 20
    assert group.chance == pytest.approx(drift.beta_binomial_tail(5, 10, above / 4, below / 4))


@pytest.mark.parametrize("count", [60, 80])
def test_small_banks_of_skewed_data_keep_false_alarms_low(count: int) -> None:
    """The F distribution alone puts four to eight per cent of such images outside."""
    rates = [alarms(cloud(count, seed, "skewed"), cloud(1000, 300 + seed, "skewed")) for seed in range(20)]
    assert float(np.mean(rates)) < 0.02


def test_rank_of_a_distance() -> None:
    region = drift.region_of(cloud(200, 0))
    assert (region.share_nearer(0.0), region.share_nearer(99.0)) == (0.0, 1.0)
    assert region.share_nearer(region.threshold) == pytest.approx(0.99, abs=0.006)
    assert region.expected == pytest.approx(2 / 201)


def test_whitening_makes_the_cloud_round() -> None:
    bank = cloud(500, 3)
    white = drift.region_of(bank).whiten_styles(bank.mean, bank.cov)
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


def test_words_count_and_say_where_no_channel_explains_the_distance() -> None:
    """An image seven deviations away was described as three levels darker, and a group as 1 levels brighter."""
    change = (np.array([1.2, 0.1, 0.0]), np.array([0.5, 0.1, 0.0]), np.ones(3), np.zeros(3))
    assert drift.describe_shift(*change) == "red: 1 level brighter (0.5 SD), contrast × 1.00 (0.0 SD)"
    assert drift.describe_shift(*change, 7.4).endswith("; mostly in how the channels vary together")


def test_contrast_comes_first_where_it_moved_further() -> None:
    words = drift.describe_shift(np.array([-2.0]), np.array([-0.5]), np.array([0.5]), np.array([-3.0]))
    assert words == "grey: contrast × 0.50 (3.0 SD), 2 levels darker (0.5 SD)"


def test_records_of_images_agree_with_the_group() -> None:
    trained, now = cloud(200, 0), cloud(30, 1)
    region = drift.region_of(trained)
    moved = np.clip(now.mean + 0.2, 0, 1)
    distance = region.distance(moved, now.cov)
    lines = drift.image_lines(region, now.keys, ["g"] * 30, moved, now.std, distance)
    group = drift.group_of("g", region, moved, now.cov)
    assert sum(line["outside"] for line in lines) == group.outside > 0
    assert [line["source"] for line in lines] == list(now.keys)
    assert (group.images, group.share, group.drifted) == (30, group.outside / 30, True)
    assert json.loads(json.dumps(group.to_dict()))["words"] == group.words
