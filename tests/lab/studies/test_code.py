"""Which modules a configuration asks for."""

from __future__ import annotations

import pytest

from recolorist_lab.runs.kinds import KINDS


@pytest.mark.parametrize(
    ("kind", "values", "module", "is_named"),
    [
        ("classify", {"dataset": "synthetic", "seed": 1, "augmentation": "hed_jitter"}, "recolorist_lab.augmentations.hed", True),
        ("classify", {"dataset": "synthetic", "seed": 1}, "recolorist_lab.augmentations.hed", False),
        ("classify", {"dataset": "synthetic", "seed": 1}, "recolorist.io", False),
        ("classify", {"dataset": "ddi", "seed": 1}, "recolorist.io", True),
        ("transfer", {"method": "adain"}, "recolorist_lab.baselines.networks.adain", True),
        ("transfer", {"method": "colorist"}, "recolorist_lab.baselines.store", False),
        ("transfer_train", {"method": "wct2"}, "recolorist_lab.baselines.networks.wct2", True),
        ("transfer_train", {"method": "adain", "encoder": "random"}, "recolorist_lab.assets.weights", False),
        ("transfer_train", {"method": "adain"}, "recolorist_lab.assets.weights", True),
        ("runtime", {"method": "colorist_batch"}, "recolorist.torch", True),
    ],
)
def test_a_configuration_names_its_choices(kind: str, values: dict[str, str], module: str, is_named: bool) -> None:
    entry = KINDS[kind]
    assert (module in entry.code(entry.config(**values))) is is_named
