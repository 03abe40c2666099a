"""Where published results come from: the committed pages say it, and say when it was an earlier version of the code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study, load
from recolorist_lab.studies import publish
from recolorist_lab.studies.origin import is_current, origin_sentence, refuse_unclean
from tests.lab.study_files import finished, grid, rehearsal, with_code

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def published(name: str) -> tuple[list[Any], list[Any]]:
    """Rows and environments of a committed document."""
    data = (RESULTS / f"{name}.json").read_bytes()
    document = json.loads(data)
    if "format" in document:
        return publish.read(data)
    return document["rows"], [document["environment"]]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_page_is_made_by_the_present_code_or_says_that_it_is_not(path: Path) -> None:
    rows, environments = published(path.stem)
    current = is_current(load(path.with_suffix(".toml")), rows)
    page = path.with_suffix(".md").read_text("utf-8")
    assert origin_sentence(environments, current=current) in page
    assert current is not ("Made by an earlier version of the code" in page)


class TestIsCurrent:
    def study(self, folder: Path) -> tuple[Study, list[Any]]:
        needs = [{"grid": "train", "on": ["index"]}]
        study = load(rehearsal(folder, grid([1, 2], steps=1), grid([1], name="score", steps=2, needs=needs)))
        ledger = Ledger(folder / "book")
        finished(study, ledger)
        return study, publish.read(publish.write(publish.document(study, ledger, unclean=True)))[0]

    def test_results_of_the_same_code(self, tmp_path: Path) -> None:
        study, rows = self.study(tmp_path)
        assert is_current(study, rows)

    def test_results_of_other_code(self, tmp_path: Path) -> None:
        study, rows = self.study(tmp_path)
        assert not is_current(replace(study, cells=tuple(with_code(cell, "other") for cell in study.cells)), rows)

    def test_data_that_are_not_here_count_as_recorded(self, tmp_path: Path) -> None:
        study, rows = self.study(tmp_path)
        first, second, score = (replace(cell, data="absent") for cell in study.cells)
        away = Study(study.name, (first, second, replace(score, inputs=(("train", first),))))
        assert is_current(away, rows)
        assert not is_current(away, [{**row, "data": "other"} for row in rows])

    def test_a_study_with_other_cells(self, tmp_path: Path) -> None:
        study, rows = self.study(tmp_path)
        assert not is_current(study, rows[:-1])


@pytest.mark.parametrize(
    ("commits", "current", "text"),
    [
        (["abc"], True, "Made from commit abc by the present version of the code."),
        (["abc+changes"], True, "Made from commit abc with changes that were not committed by the present"),
        (["abc", "def"], False, "Made by an earlier version of the code, from commit abc and from commit def. Run"),
        ([None], True, "Made from a commit that was not recorded by the present version"),
    ],
)
def test_the_sentence_names_commits(commits: list[str | None], current: bool, text: str) -> None:
    assert text in origin_sentence([{"commit": commit} for commit in commits], current=current)


@pytest.mark.parametrize(
    ("commit", "text"), [("abc+changes", "changed since their commit"), (None, "commit was not recorded"), ("", "not recorded")]
)
def test_results_whose_code_is_in_no_commit_are_not_published(commit: str | None, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        refuse_unclean([{"commit": "abc"}, {"commit": commit}])
