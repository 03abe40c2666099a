"""`recolorist-lab sweep`: quick studies to their table, verification, retries and refused options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from tests.lab.command import answer, lab

ROOT = Path(__file__).parents[3]


# Those that take seconds; the quick studies that take minutes have tests of their own, cut short.
QUICK = [ROOT / "configs" / f"{name}.quick.toml" for name in ("check", "properties")]


def shortened(path: Path, folder: Path) -> Path:
    """The same study with less data and one value for each axis, which takes seconds instead of half a minute."""
    text = path.read_text("utf-8").replace("tiles=40", "tiles=6").replace("pairs = 24, size = 64", "pairs = 2, size = 24")
    text = re.sub(r"^(axes\.\w+ = \[[^,\]]+),.*", r"\1]", text, flags=re.MULTILINE)
    (folder / path.name).write_text(text, "utf-8")
    return folder / path.name


class TestConfigs:
    @pytest.mark.parametrize("path", QUICK, ids=lambda path: path.name)
    def test_every_quick_study_runs_to_its_table(self, path: Path, book: Path, tmp_path: Path) -> None:
        path = shortened(path, tmp_path)
        first = answer("sweep", "run", path, "--ledger", book, "--jobs", "2")
        assert first["ran"] == first["done"] == first["total"] > 0
        again = answer("sweep", "run", path, "--ledger", book)
        assert (again["ran"], again["reused"]) == (0, first["total"])
        status = answer("sweep", "status", path, "--ledger", book)
        assert (status["done"], status["seconds_left"]) == (first["total"], 0.0)
        assert answer("sweep", "verify", path, "--ledger", book) == {"verified": first["total"], "corrupt": {}}
        table = tmp_path / "table.csv"
        assert lab("sweep", "export", path, "--ledger", book, "--out", table).code == 0
        assert len(table.read_text("utf-8").splitlines()) == first["total"] + 1

    def test_the_check_finds_what_it_should(self, book: Path) -> None:
        path = ROOT / "configs" / "check.quick.toml"
        answer("sweep", "run", path, "--ledger", book, "--jobs", "2")
        rows = answer("sweep", "export", path, "--ledger", book)
        assert all(row["result.error_after"] < row["result.error_before"] for row in rows)
        # The pairs depend on the seed alone: whatever the space and method, the error before matching is the same.
        assert len({(row["seed"], row["result.error_before"]) for row in rows}) == 2


class TestUpkeep:
    def test_verify_finds_damage_without_being_told_of_a_study(self, done: Path, book: Path) -> None:
        assert answer("sweep", "verify", "--ledger", book) == {"verified": 3, "corrupt": {}}
        path = Ledger(book).folder(load(done).cells[0]) / "result.json"
        path.write_bytes(path.read_bytes()[:-20])
        found = answer("sweep", "verify", "--ledger", book, code=3)
        assert (found["verified"], list(found["corrupt"])) == (2, [path.parent.name])

    def test_retry_of_an_unknown_run_is_refused(self, done: Path, book: Path) -> None:
        outcome = lab("sweep", "retry", done, "--ledger", book, "--run", "zz")
        assert (outcome.code, "no cell of rehearsed has a run id that begins with zz" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "dask"], "engine='dask' is unknown; choose from 'local', 'ray'"),
        (["--address", "auto"], "--address names a Ray cluster; add --engine ray"),
    ],
)
def test_options_that_make_no_sense_are_refused(done: Path, book: Path, words: list[str], message: str) -> None:
    outcome = lab("sweep", "run", done, "--ledger", book, *words)
    assert outcome.code == 1
    assert message in outcome.err
