"""What commands share: failures, exit codes, reports and progress."""

from __future__ import annotations

import io
import json
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from recolorist.cli import common
from recolorist.collections.chunks import Failure
from recolorist.collections.options import Where
from recolorist.errors import OptionError, RecoloristError

FAILURES = [Failure(f"{i}.png", "it is\n  empty") for i in range(23)]


class TestFinish:
    def test_all_done_is_no_exit(self, capsys: pytest.CaptureFixture[str]) -> None:
        common.finish({"images": 3}, [], as_json=True)
        assert json.loads(capsys.readouterr().out) == {"images": 3, "failures": []}

    def test_without_json_nothing_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        common.finish({"images": 3}, [], as_json=False)
        assert capsys.readouterr() == ("", "")

    @pytest.mark.parametrize(("code", "expected"), [(0, 3), (common.DRIFTED, 4)])
    def test_some_failed_is_3_unless_a_code_goes_before_it(self, code: int, expected: int) -> None:
        with pytest.raises(typer.Exit) as left:
            common.finish({}, FAILURES[:1], as_json=False, code=code)
        assert left.value.exit_code == expected

    def test_json_has_every_failure_and_standard_error_the_first_twenty(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(typer.Exit):
            common.finish({}, FAILURES, as_json=True)
        out, err = capsys.readouterr()
        assert len(json.loads(out)["failures"]) == 23
        lines = err.splitlines()
        assert lines[0] == "recolorist: 0.png: it is empty"
        assert lines[20:] == ["recolorist: and 3 more; --json lists all"]

    def test_a_name_is_not_repeated(self, capsys: pytest.CaptureFixture[str]) -> None:
        common.name_failures([Failure("a.png", "a.png is empty")])
        assert capsys.readouterr().err == "recolorist: a.png is empty\n"


def test_an_interrupt_leaves_with_130_and_names_resume(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        common.interrupted()
    assert left.value.code == 130
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "1.5", "first"])
def test_a_level_is_a_whole_number_or_none(text: str) -> None:
    assert (common.level_of("None"), common.level_of("2")) == (None, 2)
    with pytest.raises(typer.BadParameter, match="neither a whole number nor 'none'"):
        common.level_of(text)


class TestReports:
    def test_an_existing_file_is_kept_unless_forced(self, tmp_path: Path) -> None:
        path = tmp_path / "r.txt"
        common.write_text(path, "first", force=False)
        with pytest.raises(OptionError, match=r"r\.txt exists; pass --force"):
            common.write_text(path, "second", force=False)
        assert path.read_text("utf-8") == "first"
        common.write_text(path, "second", force=True)
        assert path.read_text("utf-8") == "second"
        assert list(tmp_path.iterdir()) == [path]

    def test_names_that_are_no_unicode_are_written_escaped(self, tmp_path: Path) -> None:
        common.write_text(tmp_path / "r.txt", "a\udcff", force=False)
        assert (tmp_path / "r.txt").read_text("utf-8") == "a\\udcff"

    def test_a_missing_folder_is_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match="choose an existing, writable folder"):
            common.write_text(tmp_path / "none" / "r.txt", "text", force=True)

    def test_any_of_several_files_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "b").touch()
        common.refuse_existing(False, None, tmp_path / "a")
        common.refuse_existing(True, tmp_path / "b")
        with pytest.raises(OptionError, match="exists"):
            common.refuse_existing(False, None, tmp_path / "a", tmp_path / "b")

    def test_charts_are_named_svg(self) -> None:
        common.refuse_other_than_svg(None)
        common.refuse_other_than_svg(Path("a.SVG"))
        with pytest.raises(OptionError, match=r"a\.pdf does not end in \.svg"):
            common.refuse_other_than_svg(Path("a.pdf"))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class TestProgress:
    def test_results_pass_through_in_order_without_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(common.progress(iter("abc"), 3, "done")) == ["a", "b", "c"]
        assert stream.getvalue() == ""

    @pytest.mark.parametrize(("step", "is_shown"), [(0.001, False), (5.0, True)])
    def test_a_terminal_shows_a_bar_once_it_takes_long(
        self, monkeypatch: pytest.MonkeyPatch, step: float, is_shown: bool
    ) -> None:
        clock, stream = SimpleNamespace(monotonic=count(0.0, step).__next__), Terminal()
        monkeypatch.setattr("recolorist.cli.common.time", clock)
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(common.progress(iter("abc"), 3, "measured")) == ["a", "b", "c"]
        assert ("measured" in stream.getvalue()) is is_shown

    def test_a_bar_changes_nothing_else_of_where_the_work_is_done(self) -> None:
        where = common.with_bar(Where(jobs=3), "done")
        assert (where.jobs, where.engine) == (3, "local")
        assert where.progress is not None
        assert list(where.progress([1, 2], 2)) == [1, 2]
