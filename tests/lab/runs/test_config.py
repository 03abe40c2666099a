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
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.study import load
from tests.lab.runs.kit import ROOT, VALUES, cell
from tests.lab.study_files import with_code

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


class TestRoles:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_field_of_every_kind_is_marked_and_tested_here(self, kind: str) -> None:
        assert set(roles(KINDS[kind].config)) == set(VALUES[kind])


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
