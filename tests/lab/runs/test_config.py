"""Configurations, studies and run ids: what counts, what does not, and what is refused."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recolorist.errors import OptionError
from recolorist_lab.runs.config import canonical, digest, identity, identity_of, operational, parse, roles
from recolorist_lab.runs.kind import Kind
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.study import Cell, StudyError, load
from tests.lab.study_files import grid, rehearsal, with_code

ROOT = Path(__file__).parents[3]
STUDIES = sorted((ROOT / "configs").glob("*.toml"))

# Two values that are accepted for every field of every kind; a kind that is added must add its fields here.
VALUES: dict[str, dict[str, tuple[Any, Any]]] = {
    "classify": {
        "dataset": ("synthetic", "ddi"),
        "seed": (71397589, 0),
        "augmentation": ("none", "colorist"),
        "algorithm": ("plain", "erm"),
        "probability": (None, 0.5),
        "variant": ("upstream", "authors"),
        "minibatches": ("pooled", "by_domain"),
        "model": ("densenet121", "test_resnet"),
        "size": (224, 64),
        "resize": ("letterbox", "squash"),
        "epochs": (100, 50),
        "patience": (15, 10),
        "batch": (256, 64),
        "accumulate": (1, 2),
        "learning_rate": (1e-3, 1e-4),
        "weight_decay": (0.01, 0.0),
        "warmup_epochs": (0, 5),
        "warmup_rate": (1e-5, 1e-4),
        "floor_rate": (0.0, 1e-6),
        "clip_norm": (1.0, 0.0),
        "precision": ("32-true", "bf16-mixed"),
        "devices": (1, 2),
        "validation": ("val", "train"),
        "weights": ("", "5f2a" * 16),
        "weights_file": ("", "lite0.safetensors"),
        "validation_share": (0.2, 0.1),
        "source_share": (0.0, 0.1),
        "harmonise": (False, True),
        "root": ("", "elsewhere"),
        "workers": (4, 0),
        "accelerator": ("auto", "cpu"),
        "threads": (0, 1),
        "checkpoint_seconds": (300.0, 0.0),
        "tensorboard": ("", "curves"),
    },
    "properties": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "split": ("train", "test"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 0),
        "resize": ("squash", "letterbox"),
        "space": ("rgb", "lab"),
        "max_gain": (10.0, 2.0),
        "max_clip": (1.0, 0.0),
        "mask": ("none", "tissue"),
        "eps_mode": ("exact", "paper"),
        "root": ("", "data"),
    },
    "runtime": {
        "method": ("colorist", "adain"),
        "device": ("cpu", "cuda"),
        "size": (0, 64),
        "iterations": (5, 6),
        "warmups": (0, 1),
        "seconds": (1.0, 2.0),
        "threads": (0, 1),
        "repeat": (0, 1),
        "seed": (0, 1),
    },
    "transfer": {
        "method": ("colorist", "adain"),
        "dataset": ("synthetic", "synthetic:size=32"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "split": ("train", "test"),
        "size": (64, 32),
        "native": (0, 64),
        "resize": ("squash", "letterbox"),
        "options": ((), ("alpha=0.5",)),
        "weights": ("", "made.safetensors"),
        "fid_backend": ("classic", "torchvision"),
        "metrics": (("ssim",), ("wasserstein",)),
        "batch": (16, 8),
        "root": ("", "data"),
        "features": ("", "features"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
    },
    "transfer_train": {
        "method": ("adain", "efdm"),
        "dataset": ("synthetic", "synthetic:size=32"),
        "seed": (0, 1),
        "split": ("train", "test"),
        "iterations": (0, 3),
        "epochs": (0, 2),
        "batch": (1, 2),
        "accumulate": (0, 1),
        "load_size": (64, 48),
        "crop_size": (32, 48),
        "rate": (0.0, 0.5),
        "view": ("", "whole"),
        "encoder": ("auto", "random"),
        "options": ((), ("alpha=0.5",)),
        "start": ("", "adain"),
        "start_file": ("", "adain.safetensors"),
        "root": ("", "data"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
        "readers": (1, 2),
        "checkpoint": (200, 1),
    },
    "transfer_cost": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "split": ("train", "test"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 48),
        "resize": ("squash", "letterbox"),
        "rounds": (3, 4),
        "spaces": (("rgb",), ("lab",)),
        "methods": (("mean_std",), ("histogram",)),
        "root": ("", "data"),
    },
    "spaces": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "space": ("rgb", "lab"),
        "method": ("mean_std", "histogram"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "split": ("train", "test"),
        "size": (64, 32),
        "resize": ("squash", "letterbox"),
        "fid_backend": ("classic", "torchvision"),
        "metrics": (("ssim",), ("wasserstein",)),
        "batch": (16, 8),
        "root": ("", "data"),
        "features": ("", "features"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
    },
    "rehearsal": {
        "index": (0, 1),
        "steps": (3, 4),
        "trouble": ("none", "raise"),
        "ballast": (0, 64),
        "pause": (0.0, 0.5),
        "witness": ("", "witnesses"),
        "fuse": ("", "fuses"),
    },
    "transfer_check": {
        "space": ("rgb", "lab"),
        "method": ("mean_std", "histogram"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 48),
    },
}
FIELDS = [(kind, name) for kind, fields in VALUES.items() for name in fields]


@dataclasses.dataclass(frozen=True)
class Everything:
    whole: int = identity()
    fraction: float = identity(0.5)
    text: str = identity("a")
    choice: Literal["one", "two"] = identity("one")
    many: tuple[int, ...] = identity(())
    maybe: int | None = identity(None)
    flag: bool = identity(default=False)
    workers: int = operational(2)


def cell(kind: str, **changes: Any) -> Cell:
    values = {name: pair[0] for name, pair in VALUES[kind].items()}
    return Cell("grid", kind, KINDS[kind].config(**{**values, **changes}), code="c", data="d")


class TestRoles:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_field_of_every_kind_is_marked_and_tested_here(self, kind: str) -> None:
        assert set(roles(KINDS[kind].config)) == set(VALUES[kind])

    def test_an_unmarked_field_is_refused_when_the_kind_is_declared(self) -> None:
        @dataclasses.dataclass(frozen=True)
        class Unmarked:
            seed: int = identity(0)
            folder: str = "data"

        with pytest.raises(OptionError, match=r"the field 'folder' of Unmarked has no role"):
            Kind(Unmarked, KINDS["rehearsal"].run)

    def test_a_configuration_that_can_change_is_refused(self) -> None:
        @dataclasses.dataclass
        class Loose:
            seed: int = identity(0)

        with pytest.raises(OptionError, match="not a frozen dataclass"):
            roles(Loose)


class TestRunId:
    @pytest.mark.parametrize(("kind", "name"), FIELDS)
    def test_depends_on_identity_fields_and_on_no_others(self, kind: str, name: str) -> None:
        before, after = cell(kind), cell(kind, **{name: VALUES[kind][name][1]})
        is_identity = roles(KINDS[kind].config)[name] == "identity"
        assert (before.run_id != after.run_id) is is_identity
        assert (before.config_digest != after.config_digest) is is_identity

    def test_depends_on_code_data_inputs_and_revision(self, monkeypatch: pytest.MonkeyPatch) -> None:
        base = cell("rehearsal")
        others = [
            dataclasses.replace(base, code="other"),
            dataclasses.replace(base, data="other"),
            dataclasses.replace(base, inputs=(("train", cell("rehearsal", index=7)),)),
            dataclasses.replace(base, inputs=(("train", with_code(cell("rehearsal", index=7), "other")),)),
        ]
        ids = {base.run_id, *(other.run_id for other in others)}
        revised = dict(KINDS) | {"rehearsal": dataclasses.replace(KINDS["rehearsal"], revision=2)}
        monkeypatch.setattr("recolorist_lab.runs.study.KINDS", revised)
        assert len(ids | {cell("rehearsal").run_id}) == 6

    def test_does_not_depend_on_grid_names_or_resources(self) -> None:
        base = cell("rehearsal")
        assert dataclasses.replace(base, grid="other", axes=("index",)).run_id == base.run_id

    def test_code_and_data_leave_the_place_alone(self) -> None:
        base = cell("rehearsal")
        assert dataclasses.replace(base, code="other", data="other").config_digest == base.config_digest

    def test_does_not_depend_on_order_of_keys_folder_or_process(self, tmp_path: Path) -> None:
        here = load(ROOT / "configs" / "check.quick.toml")
        text = (
            'name = "check"\n[[grid]]\naxes = { space = ["rgb", "ycbcr"], method = ["mean_std", "histogram"], seed = [0, 1] }\n'
            'set = { size = 48, pairs = 2 }\nkind = "transfer_check"\n'
        )
        (tmp_path / "same.toml").write_text(text, "utf-8")
        program = "from pathlib import Path; from recolorist_lab.runs.study import load\n"
        program += "print(*[cell.run_id for cell in load(Path('same.toml')).cells])"
        settings = {**os.environ, "PYTHONHASHSEED": "12345", "OMP_NUM_THREADS": "7"}
        printed = subprocess.check_output([sys.executable, "-c", program], cwd=tmp_path, env=settings, text=True)  # noqa: S603
        assert printed.split() == [cell.run_id for cell in here.cells]

    def test_is_the_sha256_of_canonical_json(self) -> None:
        # `printf '{"a":1,"b":[0.5,"x"]}' | sha256sum`
        assert digest({"b": [0.5, "x"], "a": 1}) == "d9dda6d0c61c7433e4751740c766c964aa4c33cbf44060db3843e8fbbce9f537"

    @given(
        st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
    )
    def test_order_of_keys_never_matters(self, table: dict[str, Any]) -> None:
        assert canonical(table) == canonical(dict(reversed(table.items())))

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {"a": {1, 2}}])
    def test_what_json_cannot_hold_is_refused(self, value: Any) -> None:
        with pytest.raises(OptionError, match="cannot be kept as JSON"):
            digest({"value": value})


class TestParse:
    def test_accepts_every_type(self) -> None:
        given = {"whole": 3, "fraction": 2, "choice": "two", "many": [1, 2], "maybe": 4, "flag": True, "workers": 8}
        config = parse(Everything, given, "here")
        assert config == Everything(3, 2.0, "a", "two", (1, 2), 4, flag=True, workers=8)
        assert "workers" not in identity_of(config)
        assert type(config.fraction) is float

    @pytest.mark.parametrize(
        ("name", "value", "accepted"),
        [
            ("whole", "3", "a whole number"),
            ("whole", 3.0, "a whole number"),
            ("whole", True, "a whole number"),
            ("fraction", "0.5", "a number"),
            ("fraction", True, "a number"),
            ("fraction", float("nan"), "a finite number"),
            ("text", 1, "text"),
            ("flag", "false", "true or false"),
            ("flag", 1, "true or false"),
            ("many", 3, "a list"),
            ("many", [1, "2"], "a whole number"),
            ("maybe", "x", "a whole number"),
        ],
    )
    def test_converts_nothing(self, name: str, value: Any, accepted: str) -> None:
        with pytest.raises(OptionError, match=f"here: {name} is .*; accepted is {accepted}"):
            parse(Everything, {"whole": 1, name: value}, "here")

    @pytest.mark.parametrize(("wrong", "right"), [("hwole", "whole"), ("fractoin", "fraction"), ("worker", "workers")])
    def test_names_the_nearest_key(self, wrong: str, right: str) -> None:
        with pytest.raises(OptionError, match=f"'{wrong}' is unknown; did you mean '{right}'"):
            parse(Everything, {"whole": 1, wrong: 1}, "here")

    def test_names_the_nearest_choice(self) -> None:
        with pytest.raises(OptionError, match="'tow' is unknown; did you mean 'two'"):
            parse(Everything, {"whole": 1, "choice": "tow"}, "here")

    def test_names_what_is_absent(self) -> None:
        with pytest.raises(OptionError, match="here: 'whole' must be given"):
            parse(Everything, {}, "here")


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
