"""What commands share: levels, reports and progress."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from recolorist.cli import common
from recolorist.collections.options import Where
from recolorist.errors import OptionError, RecoloristError


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
        assert not common.check_reports(None, tmp_path / "a", force=False)
        assert not common.check_reports(tmp_path / "b", force=True)
        with pytest.raises(OptionError, match="exists"):
            common.check_reports(None, tmp_path / "a", tmp_path / "b", force=False)

    def test_a_dash_is_standard_output(self, capsys: pytest.CaptureFixture[str]) -> None:
        common.write_text(Path("-"), "text\n", force=False)
        assert capsys.readouterr() == ("text\n", "")
        assert not Path("-").exists()
        assert common.check_reports(Path("-"), None, force=False)

    @pytest.mark.parametrize(("paths", "as_json"), [((Path("-"), Path("-")), False), ((Path("-"),), True)])
    def test_standard_output_takes_one_report(self, paths: tuple[Path, ...], as_json: bool) -> None:
        with pytest.raises(OptionError, match="one report at a time"):
            common.check_reports(*paths, force=False, as_json=as_json)

    def test_charts_are_named_svg(self) -> None:
        common.refuse_other_than_svg(None)
        common.refuse_other_than_svg(Path("a.SVG"))
        with pytest.raises(OptionError, match=r"a\.pdf does not end in \.svg"):
            common.refuse_other_than_svg(Path("a.pdf"))


def test_a_bar_changes_nothing_else_of_where_the_work_is_done() -> None:
    where = common.with_bar(Where(jobs=3), "done")
    assert (where.jobs, where.engine) == (3, "local")
    assert where.progress is not None
    assert list(where.progress([1, 2], 2)) == [1, 2]
