"""`recolorist-lab baseline list` and `info`."""

from __future__ import annotations

from recolorist_lab.baselines import METHODS
from tests.lab.cli.baseline_kit import refused, said, told


class TestList:
    def test_says_what_is_known_of_all_thirteen(self) -> None:
        rows = told("list")
        assert [row["method"] for row in rows] == list(METHODS)
        adain = rows[0]
        assert (adain["parameters"], adain["trained_parameters"], adain["size"]) == (7_010_959, 3_505_219, 256)
        text = said("list").splitlines()
        assert len(text) == 14
        assert text[1].split()[:2] == ["adain", "AdaIN"]
        assert "7,010,959" in text[1]

    def test_info(self) -> None:
        facts = told("info", "adain")
        assert facts["recipe"]["iterations"] == 160_000
        assert facts["options"]["style_weight"] == 10.0
        assert facts["official"][1]["file"] == "decoder.pth"
        assert "3,505,740" in said("info", "adain")
        refused("did you mean 'adain'", "info", "adian")
