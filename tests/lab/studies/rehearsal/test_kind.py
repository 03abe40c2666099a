"""The kind `rehearsal`: study files find it, and no report has a heading for it."""

from __future__ import annotations

from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.studies.rehearsal.kind import REHEARSAL


def test_study_files_find_it_and_it_belongs_to_no_study_of_the_paper() -> None:
    assert KINDS["rehearsal"] is REHEARSAL
    assert not REHEARSAL.headings
    assert REHEARSAL.show is None
