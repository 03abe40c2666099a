"""The studies that a ledger remembers."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.remembered import remember, studies_of
from tests.lab.report.kit import SMALL


def test_the_last_of_one_name_counts(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger")
    for seeds in ("[0]", "[0, 1]"):
        (tmp_path / "small.toml").write_text(SMALL.replace("[0]", seeds), "utf-8")
        remember(book, tmp_path / "small.toml")
    (study,) = studies_of(book)
    assert len(study.cells) == 2
