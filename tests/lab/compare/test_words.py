"""Sentences follow from the numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recolorist_lab.compare.words import can_conclude, cannot_conclude
from tests.lab.compare.conftest import made

BASE = np.array([[0.60, 0.62], [0.55, 0.57], [0.65, 0.61]])


def test_a_gain_a_loss_and_neither() -> None:
    mixed = BASE + np.array([[0.05, 0.04], [-0.05, -0.04], [0.0, 0.01]])
    sentences = "\n".join(can_conclude(made({"none": BASE, "colorist": BASE + 0.1, "gray_scale": BASE - 0.1, "augmix": mixed})))
    assert "Colorist raised it by 10.0 points (95 % interval 10.0 to 10.0); better on 3 of 3 hospitals." in sentences
    assert "Gray Scale lowered it by 10.0 points" in sentences
    assert "AugMix made no difference that is distinct from chance" in sentences
    assert "; guessing gives 0.500. The change of hospital costs 30 points" in sentences


def test_hospitals_that_do_not_differ() -> None:
    assert "hardly differ" in can_conclude(made({"none": BASE, "colorist": BASE}, known=float(BASE.mean())))[0]


def test_a_network_that_learnt_nothing_proves_nothing() -> None:
    guesses = np.full((3, 2), 0.5)
    sentences = can_conclude(made({"none": guesses, "colorist": guesses + 0.02}, known=0.51))
    assert len(sentences) == 1
    assert "Nothing follows about the methods" in sentences[0]
    lucky = can_conclude(made({"none": guesses + 0.2, "colorist": guesses}, known=0.45))
    assert "Nothing follows about the methods" in lucky[0]  # although the unseen hospitals were guessed well


def test_few_held_out_images_may_be_guessed_well() -> None:
    comparison = made({"none": BASE, "colorist": BASE}, known=0.6)
    few, many = (can_conclude(replace(comparison, held_out=count)) for count in (57, 570))
    assert "less than 0.63 may be luck. Nothing follows about the methods." in few[0]  # 0.5 and 2 * sqrt(0.25 / 57)
    assert len(many) > 1


def test_few_hospitals_and_one_hospital_are_said() -> None:
    assert "3 hospitals are too few" in cannot_conclude(made({"none": BASE, "colorist": BASE}))[0]
    one = made({"none": BASE[:, :1], "colorist": BASE[:, :1]}, is_one_hospital=True)
    assert "all images, trained on and tested on, are of one" in cannot_conclude(one)[0]
    assert not any("hospitals" in sentence for sentence in can_conclude(one))


def test_one_training_of_each_kind_is_too_few() -> None:
    sentences = "\n".join(can_conclude(made({"none": BASE[:1, :1], "colorist": BASE[:1, :1] + 0.1}, is_one_hospital=True)))
    assert "Colorist: +10.0 points in 1 pair of trainings, too few to tell a difference from chance." in sentences
    assert "interval" not in sentences


def test_the_highest_mean_is_named_with_a_warning() -> None:
    sentences = can_conclude(made({"none": BASE, "colorist": BASE + 0.1}))
    assert sentences[-1].startswith("The highest mean is 0.710, with Colorist and harmonised test images")
    assert "after the results were seen" in sentences[-1]
