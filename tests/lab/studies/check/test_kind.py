"""The kind `transfer_check`, as study files and reports find it."""

from __future__ import annotations

from recolorist_lab.runs.kinds import KINDS, headings
from recolorist_lab.studies.check.kind import TRANSFER_CHECK


def test_study_files_find_it_and_the_report_has_its_heading() -> None:
    assert KINDS["transfer_check"] is TRANSFER_CHECK
    assert headings()["check"] == TRANSFER_CHECK.headings["check"]
    assert not TRANSFER_CHECK.alone
