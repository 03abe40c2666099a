"""What a transfer costs in every space."""

from __future__ import annotations

from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.spaces import cost
from recolorist_lab.studies.spaces.cost import TransferCost, run
from tests.lab.studies.transfer.kit import Context

SMALL: dict[str, Any] = {
    "dataset": "synthetic:hospitals=3,tiles=4,size=24", "pairs": 2, "size": 16, "rounds": 3, "spaces": ("rgb", "lab"),
    "methods": ("mean_std",),
}  # fmt: skip


def test_every_configuration_has_a_median_between_its_quartiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "_LEAST", 1e-9)
    result: Any = run(TransferCost(**SMALL), Context())
    assert list(result["ms"]) == ["rgb", "lab"]
    for times in (result["memcpy"], result["ms"]["rgb"]["mean_std"], result["ms"]["lab"]["mean_std"]):
        assert 0 <= times["low"] <= times["median"] <= times["high"]


@pytest.mark.parametrize("change", [{"rounds": 2}, {"spaces": ()}, {"methods": ("mean",)}, {"pairs": 1}])
def test_wrong_options_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        TransferCost(**{**SMALL, **change})
