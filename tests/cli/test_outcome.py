"""How a command on many files ends: failures, files that were not read, exit codes."""

from __future__ import annotations

import json

import pytest
import typer

from recolorist.cli.common import DRIFTED
from recolorist.cli.outcome import finish, name_failures
from recolorist.collections.chunks import Failure
from recolorist.io.listing import Ignored

FAILURES = [Failure(f"{i}.png", "it is\n  empty") for i in range(23)]


class TestFinish:
    def test_all_done_is_no_exit(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish({"images": 3}, [], Ignored(), as_json=True)
        assert json.loads(capsys.readouterr().out) == {"images": 3, "failures": [], "ignored": {"kinds": {}, "links": []}}

    def test_without_json_nothing_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish({"images": 3}, [], Ignored(), as_json=False)
        assert capsys.readouterr() == ("", "")

    @pytest.mark.parametrize(("code", "expected"), [(0, 3), (DRIFTED, 4)])
    def test_some_failed_is_3_unless_a_code_goes_before_it(self, code: int, expected: int) -> None:
        with pytest.raises(typer.Exit) as left:
            finish({}, FAILURES[:1], Ignored(), as_json=False, code=code)
        assert left.value.exit_code == expected

    def test_json_has_every_failure_and_standard_error_the_first_twenty(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(typer.Exit):
            finish({}, FAILURES, Ignored(), as_json=True)
        out, err = capsys.readouterr()
        assert len(json.loads(out)["failures"]) == 23
        lines = err.splitlines()
        assert lines[0] == "recolorist: 0.png: it is empty"
        assert lines[20:] == ["recolorist: and 3 more; --json lists all"]

    def test_other_files_and_links_are_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        finish({}, [], Ignored({".txt": 2}, ("a.png",)), as_json=False)
        first, second = capsys.readouterr().err.splitlines()
        assert first == "recolorist: 2 files of other kinds were ignored: .txt 2"
        assert second.endswith("pass --follow-links to read them")

    def test_a_name_is_not_repeated(self, capsys: pytest.CaptureFixture[str]) -> None:
        name_failures([Failure("a.png", "a.png is empty")])
        assert capsys.readouterr().err == "recolorist: a.png is empty\n"
