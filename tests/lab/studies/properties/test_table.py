"""The tables of the properties."""

from __future__ import annotations

from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.properties import table as properties_table
from tests.lab.studies.properties.kit import Row


def test_the_tables_say_what_the_rows_say(rows: tuple[list[Row], dict[str, bytes]]) -> None:
    text = markdown(properties_table.comparison(rows[0]))
    assert "0.9916" in text
    assert "2.35 %" in text
    assert "38.2 %" in text
    assert "0.903" in text
    assert f"{rows[0][0]['result.pearson_after_mean']:.4f}" in text
    assert len(text.splitlines()) == 2 + 1 + 2
    limits = markdown(properties_table.limits(rows[0]))
    assert len(limits.splitlines()) == 2 + 5
    assert "clip ≤ 1 %, gain ≤ 10" in limits
    assert "mask tissue, gain ≤ 10" in limits
    assert len(markdown(properties_table.spaces(rows[0])).splitlines()) == 2 + 2
