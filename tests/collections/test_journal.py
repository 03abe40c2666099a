"""The record of a run: lines survive a kill, and only lines of ours are read back."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recolorist as rc
from recolorist import StyleBank, collections
from recolorist.collections import Where
from recolorist.collections.journal import JOURNAL, PROVENANCE, Journal, as_line, read_records
from recolorist.collections.target import OutputError, Target, output_error
from recolorist.errors import ImageError
from recolorist.io.images import Reading
from tests.commands import contents, picture

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


class TestInterruptedRuns:
    """A run that ends early leaves its journal, and a resume makes of it what a run without an end would have made."""

    @pytest.mark.parametrize("after", [0, 1, 4])
    def test_a_run_that_is_interrupted_is_finished_by_a_resume(
        self, tmp_path: Path, folder: Path, bank: StyleBank, after: int
    ) -> None:
        def interrupt(results: Iterable[Any], _: int) -> Iterator[Any]:
            yield from itertools.islice(results, after)
            raise KeyboardInterrupt

        collections.augment(folder, tmp_path / "whole", bank, copies=2)
        out = tmp_path / "out"
        with pytest.raises(KeyboardInterrupt):
            collections.augment(folder, out, bank, copies=2, where=Where(jobs=1, progress=interrupt))
        assert len(read_records(Target(str(out)))) == 2 * after
        result = collections.augment(folder, out, bank, copies=2, resume=True)
        assert (result.kept, len(result.records)) == (2 * after, 12)
        assert contents(out) == contents(tmp_path / "whole")

    def test_a_failure_is_not_recorded_and_is_tried_again(self, tmp_path: Path, folder: Path, bank: StyleBank) -> None:
        whole = (folder / "hospital_a" / "benign" / "tile 000.png").read_bytes()
        (folder / "hospital_a" / "benign" / "tile 000.png").write_bytes(whole[:50])
        out = tmp_path / "out"
        first = collections.augment(folder, out, bank)
        assert [failure.key for failure in first.failures] == ["hospital_a/benign/tile 000.png"]
        assert len(read_records(Target(str(out)))) == 5
        (folder / "hospital_a" / "benign" / "tile 000.png").write_bytes(whole)
        second = collections.augment(folder, out, bank, resume=True)
        assert (second.kept, len(second.records), second.failures) == (5, 6, [])

    def test_records_of_other_sources_stay_as_long_as_their_outputs(self, tmp_path: Path, folder: Path, bank: StyleBank) -> None:
        out, parts = tmp_path / "out", [folder / "hospital_a" / kind for kind in ("benign", "malignant")]
        first = collections.augment(parts[0], out, bank)
        (out / first.records[0]["output"]).unlink()
        collections.augment(parts[1], out, bank, resume=True)
        listed = {record["output"] for record in read_records(Target(str(out)))}
        assert listed == {path.name for path in out.glob("*.png")}
        assert first.records[0]["output"] not in listed

    @pytest.mark.parametrize(
        "changed",
        [{"strength": 0.5}, {"space": "ycbcr"}, {"max_gain": 2.0}, {"method": "covariance"}, {"quality": 80}, {"keep_icc": True},
         {"blank": "match"}, {"coverage": 0.9}, {"gate": "off"}, {"max_clip": 0.5}, {"reading": Reading(bits=12)}],
        ids=str,
    )  # fmt: skip
    def test_every_option_that_decides_an_output_makes_it_another_run(
        self, tmp_path: Path, folder: Path, changed: dict[str, Any]
    ) -> None:
        style, same = rc.measure(picture(3)), {"where": Where(jobs=1), "full_audit": True}
        runs = [
            collections.harmonise(folder, tmp_path / str(place), style, **options).records[0]["run"]
            for place, options in enumerate(({}, same, changed))
        ]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]

    def test_a_full_disk_ends_the_run_and_keeps_what_was_noted(
        self, tmp_path: Path, folder: Path, bank: StyleBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add = Journal.add

        def fail(journal: Journal, lines: Iterable[str]) -> None:
            add(journal, lines)
            raise output_error(JOURNAL, OSError(errno.ENOSPC, "No space left on device"))

        monkeypatch.setattr(Journal, "add", fail)
        with pytest.raises(OutputError, match="was not written: No space left on device"):
            collections.augment(folder, tmp_path / "out", bank)
        assert (tmp_path / "out" / JOURNAL).exists()
        assert not (tmp_path / "out" / PROVENANCE).exists()


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, OutputError), (errno.EROFS, OutputError), (errno.ENAMETOOLONG, ImageError)]
)
def test_an_error_of_the_system_says_whether_the_run_can_go_on(tmp_path: Path, code: int, kind: type[Exception]) -> None:
    journal = Journal(Target(str(tmp_path)))

    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(code, "it is so")

    journal._file.close()
    journal._file = Full()  # type: ignore[assignment]
    with pytest.raises(kind, match=rf"{JOURNAL} was not written: it is so"):
        journal.add([LINE])
