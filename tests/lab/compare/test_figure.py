"""The picture: a dot for every target and method, an interval for every method but the baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recolorist_lab.compare.figure import draw
from recolorist_lab.report import figures
from tests.lab.compare.conftest import made

BASE = np.array([[0.60, 0.62], [0.55, 0.57], [0.7, 0.7]])


def test_every_number_is_drawn() -> None:
    left, right = draw(made({"none": BASE, "colorist": BASE + 0.1, "augmix": BASE - 0.1})).axes
    dots = [line for line in left.lines if line.get_marker() == "o"]
    assert np.allclose([line.get_xdata()[1] for line in dots], [0.71, 0.66, 0.8])
    means = [float(line.get_xdata()[0]) for line in right.lines if line.get_marker() == "D"]
    assert np.allclose(means, [10, -10])
    assert [label.get_text() for label in left.get_yticklabels()] == ["no augmentation", "Colorist", "AugMix"]


def test_many_hospitals_have_no_legend_of_names() -> None:
    many = np.linspace(0.5, 0.9, 24).reshape(12, 2)
    figure = draw(made({"none": many, "colorist": many + 0.01}))
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"mean", "mean, test images harmonised"}


def test_the_legend_is_read_line_by_line() -> None:
    (legend,) = draw(made({"none": BASE, "colorist": BASE})).legends
    names = [text.get_text().partition(" (")[0] for text in legend.get_texts()]
    assert names == ["hospital 0", "mean", "hospital 1", "mean, test images harmonised", "hospital 2"]  # by columns


def test_names_that_matplotlib_would_hide_or_read_as_mathematics() -> None:
    targets = ("_north", "$x_{$", "A & B")
    comparison = replace(made({"none": BASE, "colorist": BASE}), targets=targets, images=dict.fromkeys(targets, 5))
    picture = draw(comparison)
    shown = {text.get_text().strip() for text in picture.legends[0].get_texts()}
    assert shown >= {"_north (5 images)", r"\$x_{\$ (5 images)", "A & B (5 images)"}
    assert figures.render(picture, "png").startswith(b"\x89PNG")
