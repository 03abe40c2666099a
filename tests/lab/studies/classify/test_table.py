"""Tables and figure: from the published numbers per dataset the printed aggregates must come out, digit by digit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.assets.zoo import CHECKPOINTS
from recolorist_lab.data.registry import CARDS
from recolorist_lab.paper import numbers as paper
from recolorist_lab.paper.numbers import ZOO
from recolorist_lab.report import figures
from recolorist_lab.report.table import Column, text_of
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.classify import hospitals as hospitals_table
from recolorist_lab.studies.classify import probability_figure
from recolorist_lab.studies.classify import table as classify_table
from recolorist_lab.studies.classify.table import DIGITS, MEDMNIST, OOD, aggregates, main_table, method_of, sets, summary

PUBLISHED = {one.dataset: ZOO[one.their_dataset] for one in CHECKPOINTS.values()}


def row(method: str, dataset: str, seed: int, value: float, **more: Any) -> dict[str, Any]:
    several = {"result.test.exact_match": 0.1, "result.test.accuracy": value} if dataset == "chestmnist" else {}
    balanced = 0.5 if dataset == "chestmnist" else value
    return {
        "grid": "augmentations",
        "algorithm": "plain",
        "augmentation": method,
        "dataset": dataset,
        "seed": seed,
        "result.test.balanced_accuracy": balanced,
        **several,
        **more,
    }


def published(seeds: int = 1) -> Iterator[dict[str, Any]]:
    for dataset, known in PUBLISHED.items():
        for seed in range(seeds):
            yield row("none", dataset, seed, known.no_augmentation / 100)
            yield row("colorist", dataset, seed, known.colorist / 100 + 0.01 * (seed - (seeds - 1) / 2))


class TestAggregates:
    def test_they_are_formed_as_the_paper_forms_them(self) -> None:
        """Printed in the text: MM 0.787 and 0.795, OOD 0.3953 and 0.5438."""
        found = {method: aggregates(seeds[0]) for method, seeds in sets(list(published())).items()}
        assert found["Baseline"]["MM"] == pytest.approx(paper.PROPERTIES["medmnist_balanced_accuracy_p0"], abs=5e-4)
        assert found["Colorist"]["MM"] == pytest.approx(paper.PROPERTIES["medmnist_balanced_accuracy_p30"], abs=5e-4)
        assert found["Baseline"]["OOD"] == pytest.approx(paper.PROPERTIES["ood_balanced_accuracy_p0"], abs=5e-5)
        assert found["Colorist"]["OOD"] == pytest.approx(paper.PROPERTIES["ood_balanced_accuracy_p30"], abs=5e-5)
        assert found["Colorist"]["Avg"] == pytest.approx(0.58, abs=5e-3)
        assert found["Baseline"]["Avg"] == pytest.approx(0.444, abs=5e-4)  # printed as 0.45, which rounded columns give

    @pytest.mark.parametrize("method", paper.BALANCED_ACCURACY)
    def test_the_printed_average_is_that_of_the_eight_printed_columns(self, method: str) -> None:
        *columns, average = paper.BALANCED_ACCURACY[method]
        assert sum(columns) / 8 == pytest.approx(average, abs=0.00501)

    def test_chest_enters_with_its_accuracy_and_the_other_reading_is_shown(self) -> None:
        rows = list(published())
        balanced = sets(rows, lambda one: classify_table.value_of(one, balanced=True))["Baseline"][0]
        found = aggregates(sets(rows)["Baseline"][0], balanced)
        assert found["MM"] - found["MM, balanced"] == pytest.approx((0.9478 - 0.5) / 12)

    def test_none_is_formed_with_a_set_missing(self) -> None:
        values = sets(list(published()))["Baseline"][0]
        for missing in ("ddi", "pathmnist"):
            part = aggregates({name: value for name, value in values.items() if name != missing})
            assert "Avg" not in part
            assert ("OOD" in part, "MM" in part) == (missing == "pathmnist", missing == "ddi")

    def test_groups_are_twelve_and_seven(self) -> None:
        assert (len(MEDMNIST), len(OOD)) == (12, 7)
        assert {*MEDMNIST, *OOD.values()} == set(CARDS)


class TestMainTable:
    def test_the_papers_numbers_stand_beside_ours(self) -> None:
        lines = markdown(main_table(list(published(3)))).splitlines()
        assert lines[0].startswith("| method | MM | MM, balanced | camelyon17 |")
        baseline, colorist = lines[2], lines[3]
        assert baseline.startswith("| Baseline | 0.787 ± 0.000 [0.79] |")
        assert "0.930 ± 0.010 [0.93]" in colorist
        assert colorist.endswith("0.544 ± 0.010 [0.54] |")

    def test_gaps_are_shown(self) -> None:
        text = markdown(main_table([row("none", "ddi", 0, 0.5)]))
        assert "| — [0.79] | — |" in text
        assert "0.500 [0.48]" in text

    def test_rows_stand_in_the_papers_order_and_ours_after_them(self) -> None:
        rows = [row(name, "ddi", 0, 0.5) for name in ("hed_jitter", "colorist", "none")]
        assert [line.split(" | ")[0] for line in markdown(main_table(rows)).splitlines()[2:]] == [
            "| Baseline",
            "| Colorist",
            "| hed_jitter",
        ]

    def test_every_dataset_stands_beside_the_published_value(self) -> None:
        lines = markdown(classify_table.by_dataset(list(published(3)))).splitlines()
        assert len(lines) == 2 + 19
        assert any("0.626 ± 0.000 [0.626]" in line and "0.930 ± 0.010 [0.930 ± 0.039]" in line for line in lines)


def test_every_row_of_the_paper_has_a_method_of_ours() -> None:
    from recolorist_lab.augmentations.table import AUGMENTATIONS

    names = {method_of({"algorithm": "plain", "augmentation": name}) for name, one in AUGMENTATIONS.items() if one.paper}
    names |= {method_of({"algorithm": name, "augmentation": "none"}) for name in classify_table.ALGORITHMS}
    assert names == set(paper.BALANCED_ACCURACY)


def test_names_of_what_the_paper_does_not_have() -> None:
    assert method_of({"algorithm": "rsc", "augmentation": "colorist+random_flip"}) == "RSC + colorist+random_flip"
    assert method_of({"algorithm": "plain", "augmentation": "colorist", "probability": 0.5}) == "Colorist, p = 0.5"


def test_summaries() -> None:
    column = Column("accuracy", digits=DIGITS)
    assert text_of(summary([0.5]), column) == "0.500"
    assert text_of(summary([0.1, 0.2, 0.3]), column) == "0.200 ± 0.100"


def swept(datasets: list[str], seeds: int = 3) -> list[dict[str, Any]]:
    return [
        row("colorist", dataset, seed, 0.5 + 0.1 * p + 0.01 * seed, probability=p, grid="probability")
        for dataset in datasets
        for p in (0.0, 0.3, 1.0)
        for seed in range(seeds)
    ]


class TestProbability:
    def test_two_panels_a_band_and_a_line_at_thirty_percent(self) -> None:
        pytest.importorskip("matplotlib")
        drawn = probability_figure.sweep(swept([*MEDMNIST, *OOD.values()]))
        left, right = drawn.axes
        assert len(left.lines) == 12 + 1  # and the dotted line
        assert len(right.lines) == 7 + 2 + 1
        assert len(right.collections) == 2  # a band for each aggregate
        for panel in (left, right):
            dotted = [line for line in panel.lines if line.get_linestyle() == ":"]
            assert [list(line.get_xdata()) for line in dotted] == [[0.3, 0.3]]
        assert left.get_ylim() == right.get_ylim()
        assert figures.render(drawn, "png")[:4] == b"\x89PNG"

    def test_the_aggregate_is_formed_within_a_seed(self) -> None:
        rows = swept(list(OOD.values()))
        found = probability_figure.aggregate(rows, "OOD", tuple(OOD.values()))
        assert found.points[0.3] == pytest.approx([0.53, 0.54, 0.55])
        p, mean, spread = found.arrays()
        assert (p.tolist(), mean[0]) == ([0.0, 0.3, 1.0], pytest.approx(0.51))
        assert spread == pytest.approx([0.01] * 3)
        assert not probability_figure.aggregate(rows[:-9], "OOD", tuple(OOD.values())).points.get(2.0)

    def test_nothing_to_draw_is_refused(self) -> None:
        with pytest.raises(OptionError, match="run the sweep first"):
            probability_figure.sweep([])


class TestHospitals:
    def rows(self) -> list[dict[str, Any]]:
        more = {"result.source.balanced_accuracy": 0.9, "result.val_split.balanced_accuracy": 0.3}
        rows = [row(name, "synthetic", seed, 0.4 + 0.1 * seed, **more) for name in ("none", "colorist") for seed in (0, 1)]
        return rows + [{**one, **more} for one in swept(["synthetic"], 2)]

    def test_source_and_unseen_side_by_side(self) -> None:
        tables = {name: markdown(table) for name, table in hospitals_table.tables(self.rows()).items()}
        assert "| Baseline | 0.900 ± 0.000 | 0.300 ± 0.000 | 0.450 ± 0.071 | 0.375 ± 0.035 |" in tables["methods"]
        assert tables["methods"].count("\n") == 4
        assert "| 30% | 0.900" in tables["probabilities"]

    def test_the_picture_has_the_source_on_the_left(self) -> None:
        pytest.importorskip("matplotlib")
        drawn = probability_figure.hospitals([one for one in self.rows() if one["grid"] == "probability"])
        assert [panel.get_title(loc="left") for panel in drawn.axes] == ["Source, held out", "Unseen hospitals"]
        assert len(drawn.axes[1].lines) == 2 + 1 + 1
