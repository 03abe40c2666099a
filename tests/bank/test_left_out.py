"""Distances of images, and of patients, that are left out in turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recolorist.bank import left_out
from recolorist.bank.shift import sort_units


def test_leaving_out_by_formula_is_leaving_out() -> None:
    points = np.random.default_rng(0).normal(size=(40, 4)) @ np.diag([1.0, 3.0, 0.2, 1.0])

    def distance(point: NDArray[np.float64], others: NDArray[np.float64]) -> float:
        away = point - others.mean(axis=0)
        return float(away @ np.linalg.solve(np.cov(others.T), away))

    inside = np.array([distance(point, points) for point in points])
    expected = [distance(points[i], np.delete(points, i, axis=0)) for i in range(len(points))]
    assert np.allclose(left_out.leave_one_out(inside, len(points)), expected, rtol=1e-10)


def test_f_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(4000):
        points = rng.normal(size=(13, 3))
        cloud_, new = points[:12], points[12]
        away = new - cloud_.mean(axis=0)
        found += float(away @ np.linalg.solve(np.cov(cloud_.T), away)) > left_out.f_threshold(12, 3, 0.95)
    assert 0.04 < found / 4000 < 0.06


def test_patients_are_left_out_whole() -> None:
    points = np.random.default_rng(2).normal(size=(24, 3))
    patients = np.tile(["b", "a", "c"], 8)
    found = left_out.leave_units_out(points, sort_units(patients, 24))
    others = points[patients != "a"]
    away = points[1] - others.mean(axis=0)
    assert np.isclose(found[1], away @ np.linalg.solve(np.cov(others.T), away), rtol=1e-10)
    single = left_out.leave_units_out(points, sort_units(None, 24))
    inside = ((points - points.mean(axis=0)) @ np.linalg.inv(np.cov(points.T)) * (points - points.mean(axis=0))).sum(axis=1)
    assert np.allclose(single, left_out.leave_one_out(inside, 24), rtol=1e-9)
