"""Study files: what is accepted, and the sentence for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.runs.study import StudyError, load
from tests.lab.runs.kit import ROOT
from tests.lab.study_files import grid, rehearsal

STUDIES = sorted((ROOT / "configs").glob("*.toml"))


class TestStudy:
    @pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
    def test_every_study_of_the_repository_loads(self, path: Path) -> None:
        study = load(path)
        assert study.cells
        assert len({cell.name for cell in study.cells}) == len(study.cells)

    @pytest.mark.parametrize("path", [path for path in STUDIES if ".quick" not in path.name], ids=lambda path: path.name)
    def test_every_study_has_a_quick_twin(self, path: Path) -> None:
        assert path.with_suffix(".quick.toml") in STUDIES

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("name = 3\n[[grid]]", "must have a name"),
            ('name = "a"', r"at least one \[\[grid\]\]"),
            ('nmae = "a"', "'nmae' is unknown; did you mean 'name'"),
            ('name = "a"\n[[grid]]\nkind = "rehersal"', "kind: 'rehersal' is unknown; did you mean 'rehearsal'"),
            ('name = "a"\n[[grid]]', "must name its kind"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxis = {}', "'axis' is unknown; did you mean 'axes'"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.indx = [1]', "'indx' is unknown; did you mean 'index'"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = 1', "accepted is a list with at least one value"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = []', "accepted is a list with at least one value"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1, 1]', "are the same run"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nset.index = 2', "both set and an axis"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nresources.cpu = 2', "did you mean 'cpus'"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nresources.gpus = -1', "zero or more"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\nset = 3', "accepted is a table"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nneeds = "b"', "accepted is a list"),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nneeds = [{ grid = "b" }]', "not a grid above it"),
            (
                'name = "a"\n[[grid]]\nkind = "transfer_check"\naxes.space = ["rbg"]\nset.method = "mean_std"',
                "did you mean 'rgb'",
            ),
            ('name = "a"\n[[grid]]\nkind = "rehearsal"\nset.steps = 0\naxes.index = [1]', "at least one"),
            ("name = ", "not valid TOML"),
            (f'name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [1]\nresources.cpus = 1{"0" * 400}', "of 1,329 bits"),
            (f'name = "a"\n[[grid]]\nkind = "rehearsal"\naxes.index = [0x{"f" * 4_000}]', "of 16,000 bits"),
            ("a = " + "[" * 100_000, "not valid TOML"),
            ("seed = " + "9" * 5_000, "not valid TOML: Exceeds the limit"),  # Python refuses to read such a number
        ],
    )
    def test_refuses_with_a_sentence(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "wrong.toml"
        path.write_text(text, "utf-8")
        with pytest.raises(StudyError, match=message) as caught:
            load(path)
        assert "wrong.toml" in str(caught.value)

    def test_refuses_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StudyError, match="cannot be read: No such file"):
            load(tmp_path / "absent.toml")

    def test_refuses_more_cells_than_anyone_wants(self, tmp_path: Path) -> None:
        many = f"axes = {{ index = {list(range(1001))}, steps = {list(range(1, 1001))} }}"
        (tmp_path / "many.toml").write_text(f'name = "a"\n[[grid]]\nkind = "rehearsal"\n{many}', "utf-8")
        with pytest.raises(StudyError, match="span 1001000 cells"):
            load(tmp_path / "many.toml")

    def test_cells_build_on_those_with_equal_fields(self, tmp_path: Path) -> None:
        needs = [{"grid": "train", "on": ["index"]}]
        path = rehearsal(tmp_path, grid([1, 2, 3]), grid([3, 1], name="score", steps=9, needs=needs))
        cells = {cell.name: cell for cell in load(path).cells}
        assert cells["score[index=3]"].inputs == (("train", cells["train[index=3]"]),)
        assert cells["score[index=1]"].inputs == (("train", cells["train[index=1]"]),)

    def test_cells_build_on_all_where_nothing_must_be_equal(self, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1, 2]), grid([9], name="score", needs=[{"grid": "train"}]))
        *trained, score = load(path).cells
        assert score.inputs == tuple(("train", cell) for cell in trained)

    def test_refuses_to_build_on_nothing(self, tmp_path: Path) -> None:
        path = rehearsal(tmp_path, grid([1]), grid([2], name="score", needs=[{"grid": "train", "on": ["index"]}]))
        with pytest.raises(StudyError, match="no cell of 'train' has index=2"):
            load(path)
