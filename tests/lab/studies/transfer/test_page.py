"""The sentences of the page of the transfer study follow its rows."""

from __future__ import annotations

import re
from typing import Any

from recolorist_lab.studies.transfer import page


def transferred(method: str, artfid: float, wasserstein: float, weights: str = "trained", **more: Any) -> dict[str, Any]:
    figures = {"lpips": artfid / 1000, "ssim": 1 - artfid / 1000, "fid": artfid - 1, "artfid": artfid, "wasserstein": wasserstein}
    return {"method": method, "options": [], "result.weights": weights, **{f"result.{k}": v for k, v in figures.items()}, **more}


def trained(method: str, steps: int, seconds: float) -> dict[str, Any]:
    return {"method": method, "iterations": steps, "result.steps": steps, "result.seconds_per_step": seconds, "options": []}


ROWS = [
    trained("adain", 100, 0.5),
    trained("modflows", 2000, 0.1),
    transferred("adain", 300.0, 0.2),
    transferred("modflows", 400.0, 0.05),
    transferred("modflows", 410.0, 0.06, options=["inverse_time=legacy"]),
    transferred("adain", 200.0, 0.03, "published"),
    transferred("colorist", 100.0, 0.04, "none"),
    transferred("none", 80.0, 0.1, "none"),
]


def words(rows: list[dict[str, Any]]) -> str:
    return " ".join(page.finding(rows).split())


class TestPage:
    def test_the_budget_is_that_of_the_trainings(self) -> None:
        assert page.given(ROWS) == "Here: 100 to 2,000 steps, 50 to 200 seconds.\n"

    def test_each_metric_goes_to_the_method_that_is_best_in_it(self) -> None:
        assert page.best_methods(ROWS) == {
            "Colorist": ["LPIPS", "SSIM", "FID", "ArtFID"],
            "AdaIN, published weights": ["Wasserstein distance"],
        }
        text = words(ROWS)
        assert "Colorist has the best LPIPS, SSIM, FID and ArtFID; AdaIN, published weights has the best Wasserstein" in text

    def test_a_baseline_that_wins_is_named_first(self) -> None:
        won = [transferred("adain", 50.0, 0.01), *ROWS[3:]]
        assert "Of all methods, AdaIN has the best LPIPS, SSIM, FID, ArtFID and Wasserstein distance." in words(won)
        assert "lower ArtFID (80.0) than 4 of 5 methods" in words(won)

    def test_networks_further_away_than_the_contents_are_counted(self) -> None:
        assert "Of the 2 networks trained here 1 have not learnt to take a style: " in words(ROWS)

    def test_networks_nearer_than_the_contents_are_named(self) -> None:
        lines = page.besides(ROWS).splitlines()
        assert lines[0].endswith("colours from 0.100 to 0.040.")
        assert lines[1] == "- Networks that are nearer to them than contents left as they are: Modflows (0.050)."
        assert lines[2].endswith("the lowest ArtFID have AdaIN (300.0) and Modflows (400.0).")
        assert "contents left as they are: none.\n" in page.besides([ROWS[2], *ROWS[-2:]])

    def test_the_page_begins_with_three_sentences(self) -> None:
        assert len(re.findall(r"\.(?:\*\*)?(?= |$)", words(ROWS))) == 3

    def test_variants_stand_beside_the_released_form(self) -> None:
        assert "Modflows, inverse_time=legacy has the ArtFID 410.0; as released it is 400.0." in page.besides(ROWS)

    def test_missing_runs_leave_sentences_out(self) -> None:
        assert page.given(ROWS[2:]) == page.finding(ROWS[:-1]) == page.finding(ROWS[:-2]) == page.finding(ROWS[-2:]) == ""
        assert page.besides(ROWS[:-1]) == page.besides(ROWS[-2:]) == ""
