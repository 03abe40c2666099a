"""The result of an evaluation, and the code behind each metric."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from recolorist_lab.metrics.evaluation import ALL, MODULES, Evaluation, with_parts


def test_every_metric_names_modules_that_exist() -> None:
    assert set(MODULES) == set(ALL)
    for module in {module for modules in MODULES.values() for module in modules}:
        assert importlib.util.find_spec(f"recolorist_lab.metrics.{module}") is not None, module


@pytest.mark.parametrize(("names", "expected"), [(["ssim"], {"ssim"}), (["artfid", "kid"], {"artfid", "kid", "lpips", "fid"})])
def test_artfid_brings_its_parts_and_nothing_else_does(names: list[str], expected: set[str]) -> None:
    assert with_parts(names) == expected


def test_a_value_that_is_not_defined_is_null_in_json() -> None:
    evaluation = Evaluation(2, pearson=0.5, pairs={"pearson": np.array([0.5, np.nan])})
    assert json.loads(json.dumps(evaluation.to_dict(pairs=True), allow_nan=False))["pairs"] == {"pearson": [0.5, None]}
    assert "pairs" not in evaluation.to_dict()
    assert evaluation.to_dict()["fid"] is None
