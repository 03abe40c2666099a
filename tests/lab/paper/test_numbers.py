"""The paper's numbers as we typed them, against its own tables where those lie beside the repository."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from recolorist.core.spaces import SPACES
from recolorist_lab.paper import numbers as paper

TABLES = Path(__file__).resolve().parents[4] / "shared" / "paper"


def lines(name: str) -> list[dict[str, str]]:
    path = TABLES / name
    if not path.is_file():
        pytest.skip("the paper's tables are not here")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class TestTyped:
    def test_table_1(self) -> None:
        titles = {title: space for space, title in paper.TITLES.items()}
        read = {
            titles[row["space"]]: tuple(float(row[name]) for name in paper.Quality._fields)
            for row in lines("table1_colour_spaces.csv")
        }
        assert read == dict(paper.SPACES)

    def test_table_2(self) -> None:
        read = {
            row["method"]: tuple(float(row[name]) for name in paper.Quality._fields) for row in lines("table2_style_transfer.csv")
        }
        assert read == dict(paper.STYLE_TRANSFER)

    def test_table_3(self) -> None:
        columns = paper.BALANCED_ACCURACY_COLUMNS
        read = {row["method"]: tuple(float(row[name]) for name in columns) for row in lines("table3_balanced_accuracy.csv")}
        assert read == dict(paper.BALANCED_ACCURACY)

    def test_table_s2(self) -> None:
        names = ("resolution", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "throughput_it_s", "energy_mwh")
        read = {
            (row["device"], row["method"].partition(" (")[0]): tuple(float(row[name]) for name in names)
            for row in lines("tableS2_runtime.csv")
        }
        assert read == dict(paper.RUNTIME)

    def test_the_zoo(self) -> None:
        names = ("classes", "colorist", "sd", "no_augmentation")
        read = {row["dataset"]: tuple(float(row[name]) for name in names) for row in lines("zoo_balanced_accuracy.csv")}
        assert read == dict(paper.ZOO)

    def test_properties(self) -> None:
        assert {row["quantity"]: float(row["value"]) for row in lines("properties.csv")} == dict(paper.PROPERTIES)

    def test_corrections(self) -> None:
        path = TABLES / "corrections.md"
        if not path.is_file():
            pytest.skip("the paper's corrections are not here")
        text = path.read_text("utf-8")
        for space in ("hsi", "yiq", "ypbpr", "yuv"):
            assert f"{paper.SPACES[space].artfid:.2f} → {paper.CORRECTED_ARTFID[space]:.2f}" in text


class TestConsistent:
    def test_every_space_is_named_and_either_corrected_or_said_to_move_little(self) -> None:
        assert set(paper.TITLES) == set(SPACES)
        assert set(paper.CORRECTED_ARTFID) | set(paper.LAST_DIGIT) == set(paper.SPACES)
        assert not set(paper.CORRECTED_ARTFID) & set(paper.LAST_DIGIT)

    def test_corrections_only_lower_and_leave_four_as_they_were(self) -> None:
        moved = {space: paper.SPACES[space].artfid - value for space, value in paper.CORRECTED_ARTFID.items()}
        assert min(moved.values()) == 0
        assert sorted(space for space, by in moved.items() if by == 0) == ["lab", "lch", "luv", "ycbcr"]
