"""The record of a run: lines survive a kill, and only lines of ours are read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.collections.journal import JOURNAL, PROVENANCE, Journal, as_line, read_records
from recolorist.collections.target import OutputError, Target

LINE = '{"source": "a", "output": "b", "sha256": "c"}'


def test_lines_are_kept_for_a_resume_until_the_run_is_closed(tmp_path: Path) -> None:
    journal = Journal(Target(str(tmp_path)))
    journal.add([LINE])
    journal.close(None)
    assert (tmp_path / JOURNAL).exists()
    assert [record["output"] for record in read_records(Target(str(tmp_path)))] == ["b"]


def test_the_final_list_replaces_the_journal(tmp_path: Path) -> None:
    journal = Journal(Target(str(tmp_path)))
    journal.add(["{}"])
    journal.close([LINE])
    assert [path.name for path in tmp_path.iterdir()] == [PROVENANCE]
    assert (tmp_path / PROVENANCE).read_text("utf-8") == LINE + "\n"


def test_a_line_that_was_cut_off_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(LINE[:20].encode())
    journal = Journal(Target(str(tmp_path)))
    journal.add([LINE])
    journal.close(None)
    assert len(read_records(Target(str(tmp_path)))) == 1


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        Journal(Target(str(tmp_path / "none")))


@pytest.mark.parametrize("name", ["a\nb", 'a"b', "ä", "\udcff", "tab\t"])
def test_names_stay_on_one_line_of_ascii(name: str) -> None:
    line = as_line({"source": name})
    assert line.isascii()
    assert "\n" not in line


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        as_line({"x": float("nan")})


@pytest.mark.parametrize(
    "line", ["", "nothing", "[1, 2]", "null", '{"source": "a"}', '{"source": "a", "output": "b"}', "[" * 100_000, "\udcff"]
)
def test_lines_that_are_no_records_are_left_out(tmp_path: Path, line: str) -> None:
    (tmp_path / PROVENANCE).write_bytes(f"{line}\n{LINE}\n".encode("utf-8", "surrogateescape"))
    assert [record["source"] for record in read_records(Target(str(tmp_path)))] == ["a"]


def test_the_journal_comes_after_the_list_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / PROVENANCE).write_text(LINE + "\n", "utf-8")
    (tmp_path / JOURNAL).write_text(LINE.replace('"c"', '"d"') + "\n", "utf-8")
    assert [record["sha256"] for record in read_records(Target(str(tmp_path)))] == ["c", "d"]


def test_a_folder_without_records_has_none(tmp_path: Path) -> None:
    assert read_records(Target(str(tmp_path))) == []


def test_closing_with_an_empty_list_leaves_an_empty_record(tmp_path: Path) -> None:
    journal = Journal(Target(str(tmp_path)))
    journal.close([])
    assert (tmp_path / PROVENANCE).read_bytes() == b""
    assert not (tmp_path / JOURNAL).exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """What is written stays in the target; another file was appended to through a link of this name."""
    target, other = tmp_path / "out", tmp_path / "other.txt"
    target.mkdir()
    other.write_text("mine")
    (target / JOURNAL).symlink_to(other)
    with pytest.raises(OutputError, match=rf"{JOURNAL} cannot be written"):
        Journal(Target(str(target)))
    assert other.read_text() == "mine"
