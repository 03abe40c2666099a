"""Committed results: the tables of every page are those its data give, letter by letter, and the pages' snippets run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.pages import fill, tables_of
from recolorist_lab.runs.study import load
from recolorist_lab.studies import publish
from tools.results_page import FOLDER, TABLES, filled

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", TABLES)
class TestCommitted:
    def test_tables_are_those_of_the_data(self, name: str) -> None:
        page = (FOLDER / f"{name}.md").read_text("utf-8")
        assert tables_of(page)
        assert filled(name) == page

    def test_data_name_their_environment_and_no_machine(self, name: str) -> None:
        text = (FOLDER / f"{name}.json").read_text("utf-8")
        rows, environments = publish.read(text.encode())
        done = [row for row in rows if row.get("state", "done") == "done"]
        assert {row["environment"] for row in done} == set(range(len(environments)))
        assert not any(key.startswith("result.") for row in rows if row.get("state", "done") != "done" for key in row)
        assert all({"cpu", "python", "versions"} <= set(one) for one in environments)
        assert not re.search(r'"(/home|/tmp|/work|/root|/Users)', text)

    def test_the_study_file_has_a_row_for_every_cell(self, name: str) -> None:
        rows, _ = publish.read((FOLDER / f"{name}.json").read_bytes())
        cells = load(FOLDER / f"{name}.toml").cells
        assert [row["grid"] for row in rows] == [cell.grid for cell in cells]
        for row, cell in zip(rows, cells, strict=True):
            for field in ("dataset", "method", "seed"):
                if hasattr(cell.config, field):
                    assert row[field] == getattr(cell.config, field)

    def test_pictures_are_there_and_small(self, name: str) -> None:
        pictures = re.findall(r"\]\(([\w.]+\.(?:png|jpg))\)", (FOLDER / f"{name}.md").read_text("utf-8"))
        assert pictures
        for picture in pictures:
            assert 5_000 < (FOLDER / picture).stat().st_size < 400_000, picture


def test_the_page_on_statistics_runs() -> None:
    pytest.importorskip("matplotlib")
    namespace: dict[str, Any] = {}
    found = BLOCK.findall((FOLDER.parent / "statistics.md").read_text("utf-8"))
    assert len(found) == 2
    for block in found:
        exec(compile(block, "statistics.md", "exec"), namespace)  # noqa: S102 - our own documentation


class TestPages:
    PAGE = "A\n<!-- table: one -->\n| a |\n<!-- end -->\nB\n<!-- table: two -->\n<!-- end -->\n"

    def test_filling_twice_is_filling_once(self) -> None:
        tables = {"one": "| x |\n", "two": "| y |\n"}
        once = fill(self.PAGE, tables)
        assert tables_of(once) == tables
        assert fill(once, tables) == once
        assert "A\n" in once

    def test_refuses_marks_without_tables_and_tables_without_marks(self) -> None:
        with pytest.raises(OptionError, match="'two' is unknown"):
            fill(self.PAGE, {"one": ""})
        with pytest.raises(OptionError, match="'three' is unknown"):
            fill(self.PAGE, {"one": "", "two": "", "three": ""})
        with pytest.raises(OptionError, match="no end"):
            fill("<!-- table: one -->\n", {"one": ""})
