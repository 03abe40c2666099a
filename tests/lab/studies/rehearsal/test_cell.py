"""The rehearsal: a chain of hashes that shows whether resuming is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.studies.rehearsal.cell import Rehearsal, chain, run
from tests.lab.studies.transfer.kit import Context


def test_a_resumed_run_ends_with_the_same_link() -> None:
    whole = Context()
    assert run(Rehearsal(7, steps=4), whole)["chain"] == chain(7, 4)
    assert sorted(whole.saved) == [1, 2, 3, 4]
    resumed = Context(found=(2, whole.saved[2]))
    assert run(Rehearsal(7, steps=4), resumed)["chain"] == chain(7, 4)
    assert sorted(resumed.saved) == [3, 4]


def test_the_chain_depends_on_what_it_builds_on() -> None:
    assert len({chain(1, 2), chain(2, 2), chain(1, 3), chain(1, 2, [chain(0, 1)])}) == 4


def test_trouble_comes_only_while_the_fuse_lies_there(tmp_path: Path) -> None:
    config = Rehearsal(3, steps=1, trouble="raise", fuse=str(tmp_path))
    assert run(config, Context())["chain"] == chain(3, 1)
    (tmp_path / "3").touch()
    with pytest.raises(OptionError, match="was asked to fail"):
        run(config, Context())
    assert not (tmp_path / "3").exists()


def test_ballast_is_kept_and_no_steps_are_refused() -> None:
    context = Context()
    run(Rehearsal(1, steps=1, ballast=128), context)
    assert len(context.kept["ballast.bin"]) == 128
    with pytest.raises(OptionError, match="steps=0"):
        Rehearsal(1, steps=0)
