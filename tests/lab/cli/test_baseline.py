"""`recolorist-lab baseline list` and `info`."""

from __future__ import annotations

from recolorist_lab.baselines import METHODS
from tests.lab.cli.baseline_kit import refused, run_json, run_text


class TestList:
    def test_says_what_is_known_of_all_thirteen(self) -> None:
        rows = run_json("list")
        assert [row["method"] for row in rows] == list(METHODS)
        adain = rows[0]
        assert (adain["parameters"], adain["trained_parameters"], adain["size"]) == (7_010_959, 3_505_219, 256)
        text = run_text("list").splitlines()
        assert len(text) == 14
        assert text[1].split()[:2] == ["adain", "AdaIN"]
        assert "7,010,959" in text[1]

    def test_info(self) -> None:
        facts = run_json("info", "adain")
        assert facts["recipe"]["iterations"] == 160_000
        assert facts["options"]["style_weight"] == 10.0
        assert facts["official"][1]["file"] == "decoder.pth"
        assert "3,505,740" in run_text("info", "adain")
        refused("did you mean 'adain'", "info", "adian")

    def test_frozen_tables_are_not_trained(self) -> None:
        facts = run_json("info", "sgvits")
        assert (facts["parameters"], facts["trained_parameters"]) == (85_798_656, 85_647_360)
        assert "trained: 85,647,360" in run_text("info", "sgvits")

    def test_length_is_said_once(self) -> None:
        assert "iterations" not in run_json("info", "sgvits")["recipe"]
        assert "epochs" not in run_json("info", "adain")["recipe"]

    def test_names_as_they_are_printed(self) -> None:
        assert run_json("info", "Contrimix") == run_json("info", "contrimix")

    def test_where_released_weights_are(self) -> None:
        text = run_text("info", "wct2")
        assert "https://github.com/clovaai/WCT2" in text
        assert "git blob 3f7fd4cbd4398a053dd21b22c00dd0012dfcc6e2" in text


def test_apply_is_called_stylise() -> None:
    refused("baseline stylise", "apply", "adain", "--content", "a.png")
