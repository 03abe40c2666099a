"""Results of a comparison as plain values."""

from __future__ import annotations

import json

import numpy as np

from recolorist_lab.compare.results import title_of
from tests.lab.compare.conftest import made


def test_results_become_json_with_every_score() -> None:
    comparison = made({"none": np.full((2, 3), 0.5), "colorist": np.full((2, 3), 0.6)})
    values = json.loads(json.dumps(comparison.to_json()))
    assert values["methods"][1]["unseen"] == [[0.6] * 3] * 2
    assert values["methods"][0]["difference"] is None
    assert values["methods"][1]["difference"]["better"] == 2
    assert (values["level"], values["resamples"]) == (0.95, 10_000)


def test_guessing_depends_on_the_number_of_classes() -> None:
    assert made({"none": np.full((1, 3), 0.5), "camera": np.full((1, 3), 0.5)}).chance == 0.5
    assert title_of("colorist(p=1.0)") == "colorist(p=1.0)"
