"""The sentences of the page of the runtime study follow its rows."""

from __future__ import annotations

import re

from recolorist_lab.studies.runtime import page
from tests.lab.studies.runtime.kit import ROWS, row

GROWN = [row("colorist", 0.01 * side, side, "growth") for side in (64, 2048)] + [row("adain", 9000.0, 2048, "growth-large")]
BUSY = [{**each, "result.load_before": load, "result.threads": 2} for each, load in zip(ROWS, (0.1, 0.5, 1.9, 2.0), strict=True)]


def words(text: str) -> str:
    return " ".join(text.split())


class TestPage:
    def test_ratios_and_extremes_are_those_of_the_rows(self) -> None:
        text = words(page.finding(ROWS))
        assert "4,000 (AdaIN) to 180,000 (Modflows) times as long as Colorist" in text  # 200 / 0.05 and 9000 / 0.05
        assert "in the paper 52 to 5,680" in text  # 132.2 / 2.53 and 14373 / 2.53
        assert "Colorist takes 0.05 ms here" in text
        assert len(re.findall(r"\.(?= |$)", text)) == 3

    def test_the_network_that_gained_most_on_the_paper_is_named(self) -> None:
        assert page.besides(ROWS) == "Beside the paper's time Modflows takes least: 9,000 ms here, 14,400 there.\n"

    def test_forms_that_were_not_timed_are_not_named(self) -> None:
        assert "package" not in page.finding(ROWS)
        assert "float" not in page.besides(ROWS)
        more = [row("colorist_aug", 1.25), row("colorist_float", 0.2), row("colorist_batch", 0.5)]
        assert "two 8-bit images and the authors' package 1.25; " in words(page.finding([*ROWS, *more]))
        text = words(page.besides([*ROWS, *more]))
        assert "float32 images take Colorist 4 times" in text
        assert "tensors take 10 times" in text

    def test_a_graphics_card_is_another_table(self) -> None:
        assert page.finding([*ROWS, row("adain", 1.0, device="cuda")]) == page.finding(ROWS)

    def test_the_load_of_the_machine_is_told(self) -> None:
        assert page.conditions(BUSY).startswith("Threads: 2. Load average before a method was timed: median 1.2, 0.1 to 2.0;")

    def test_only_modelled_energy_is_called_so(self) -> None:
        assert "**modelled**" in page.meter(ROWS)
        counted = page.meter([{**ROWS[0], "result.energy_source": "rapl"}, *ROWS[1:]])
        assert counted == "The column *source* says where energy comes from: modelled, rapl.\n"

    def test_the_largest_side_is_looked_up(self) -> None:
        assert page.largest(GROWN) == "At 2,048 pixels AdaIN takes 9 seconds, and Colorist 20.5 milliseconds.\n"

    def test_every_mark_has_its_part(self) -> None:
        with_loads = [*BUSY, *({**each, "result.load_before": 1.0, "result.threads": 2} for each in GROWN)]
        parts = "conditions latency finding besides meter energy growth largest"
        assert list(page.tables(with_loads)) == parts.split()

    def test_missing_runs_leave_sentences_out(self) -> None:
        assert page.conditions([]) == page.largest([]) == page.finding(ROWS[:2]) == page.finding(ROWS[2:]) == ""
        assert page.besides(ROWS[:2]) == page.besides(ROWS[2:]) == ""
        assert page.largest(GROWN[2:]) == page.largest(GROWN[:2]) == ""
