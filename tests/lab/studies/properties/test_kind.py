"""The kind `properties`: how long its cells take."""

from __future__ import annotations

from types import SimpleNamespace

from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.studies.properties.cell import Properties
from recolorist_lab.studies.properties.kind import PROPERTIES


def test_its_time_is_that_of_its_pairs() -> None:
    assert KINDS["properties"] is PROPERTIES
    assert PROPERTIES.seconds(Properties(dataset="synthetic", pairs=8), SimpleNamespace(properties=0.25)) == 2.0
