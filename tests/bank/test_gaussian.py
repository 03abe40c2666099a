"""Sharing the Gaussian of a bank: the same distribution, nothing of any image, and noise as the budget asks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recolorist as rc
from recolorist.augment.samplers import Content, gaussian
from recolorist.bank.features import style_features
from recolorist.bank.gaussian import LEAST_IMAGES, Budget, share_gaussian
from recolorist.demo.synthetic import SCANNERS, tile
from tests.commands import refused, run_json


@pytest.fixture(scope="module")
def bank() -> rc.StyleBank:
    names = [name for name in sorted(SCANNERS) for _ in range(15)]
    images = [tile(number, name, 32) for number, name in enumerate(names)]
    keys = [f"p{number // 2}_{number}" for number in range(len(images))]
    return rc.StyleBank.build(images, keys=keys, labels=["x"] * len(images), domains=names, split="train", name="ward")


def test_the_features_have_the_mean_and_covariance_of_the_bank(bank: rc.StyleBank) -> None:
    made = share_gaussian(bank).bank
    own, given = style_features(bank.mean, bank.cov), style_features(made.mean, made.cov)
    assert np.allclose(given.mean(axis=0), own.mean(axis=0), atol=1e-9)
    assert np.allclose(np.cov(given.T), np.cov(own.T), atol=1e-9)


def test_the_sampler_draws_the_same_styles(bank: rc.StyleBank) -> None:
    """The roots of the covariance differ, so that single draws do; their distribution is the same."""
    drawn = []
    for each in (bank, share_gaussian(bank).bank):
        styles = [gaussian(each, np.random.default_rng(i), Content()) for i in range(400)]
        drawn.append(np.array([style.moments.mean for style in styles]))
    assert np.allclose(drawn[0].mean(axis=0), drawn[1].mean(axis=0), atol=0.02)
    assert np.allclose(drawn[0].std(axis=0), drawn[1].std(axis=0), rtol=0.2)


def test_nothing_of_an_image_is_left(bank: rc.StyleBank, tmp_path: Path) -> None:
    made = share_gaussian(bank).bank
    assert (made.labels, made.domains, made.name, made.size, made.histograms, made.split) == ((), (), "", None, None, "train")
    assert "ward" not in made.to_json()
    assert "60 images" in made.preprocessing
    turned = bank.subset(rows=np.arange(len(bank))[::-1])
    assert np.allclose(share_gaussian(turned).bank.mean, made.mean)
    assert np.array_equal(rc.StyleBank.open(made.save(tmp_path / "g.rcb")).cov, made.cov)


def test_patients_count_once(bank: rc.StyleBank) -> None:
    owners = np.array([f"p{i // 1}" if i < 59 else "p0" for i in range(60)])
    assert share_gaussian(bank, patients=owners).fitted_to == 59
    with pytest.raises(rc.RecoloristError, match="has 30 patients; a Gaussian of fewer than 50"):
        share_gaussian(bank, patients=np.array([key.partition("_")[0] for key in bank.keys]))


def test_few_images_and_other_spaces_are_refused(bank: rc.StyleBank) -> None:
    with pytest.raises(rc.RecoloristError, match="49 images"):
        share_gaussian(bank.subset(rows=range(LEAST_IMAGES - 1)))
    with pytest.raises(rc.RecoloristError, match="'lab'"):
        share_gaussian(rc.StyleBank.build([tile(i, "north", 16) for i in range(50)], space="lab"))


@pytest.mark.parametrize("budget", [Budget(0.0), Budget(21.0), Budget(1.0, 0.0), Budget(1.0, 0.5), Budget(float("nan"))])
def test_budgets_outside_their_limits_are_refused(bank: rc.StyleBank, budget: Budget) -> None:
    with pytest.raises(rc.RecoloristError, match="accepted are an epsilon"):
        share_gaussian(bank, budget)


def test_noise_has_the_size_that_the_budget_asks(bank: rc.StyleBank) -> None:
    """The mean of a clipped vector of nine changes by 2 * 3 / n at most, and half of the budget is spent on it."""
    low, high = np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, 1.0])
    centres = [
        style_features(made.mean, made.cov).mean(axis=0)[:3]
        for seed in range(60)
        for made in [share_gaussian(bank, Budget(20.0), rng=np.random.default_rng(seed)).bank]
    ]
    log = np.log(1e6)
    rho = (np.sqrt(log + 20.0) - np.sqrt(log)) ** 2 / 2
    expected = 2 * 3 / len(bank) / np.sqrt(2 * rho) * (high - low) / 2
    assert np.allclose(np.std(centres, axis=0), expected, rtol=0.35)


def test_a_private_gaussian_is_a_valid_bank_and_never_the_same(bank: rc.StyleBank) -> None:
    first, second = (share_gaussian(bank, Budget(1.0)).bank for _ in range(2))
    assert not np.array_equal(first.mean, second.mean)
    assert (np.linalg.eigvalsh(first.cov) > -1e-9).all()
    assert ((first.mean >= 0) & (first.mean <= 1)).all()


def test_the_command_prints_what_was_spent(bank: rc.StyleBank, tmp_path: Path) -> None:
    bank.save(tmp_path / "in.rcb")
    words = ("bank", "share", tmp_path / "in.rcb", "-o", tmp_path / "out.rcb")
    summary = run_json(*words, "--gaussian")
    assert (summary["fitted_to"], summary["counted"], summary["budget"]) == (60, "images", None)
    summary = run_json(*words, "--epsilon", "2", "--force")
    assert summary["budget"] == {"epsilon": 2.0, "delta": 1e-6}
    assert "30 patients" in refused(*words, "--gaussian", "--patients", "^(p[0-9]+)_", "--force")
