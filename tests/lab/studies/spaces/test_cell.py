"""The colour-space study: what it streams, what the algebra demands of it, its tables to the letter, and its tests."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import recolorist as rc
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report import rows as table
from recolorist_lab.report.writers import markdown
from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, load
from recolorist_lab.studies.protocol import open_pairs
from recolorist_lab.studies.spaces import figure as spaces_figure
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces.cell import FILE, METRICS, Spaces, _Clock, run, transferred
from recolorist_lab.studies.spaces.table import (
    METRICS as PRINTED,
)
from recolorist_lab.studies.spaces.table import (
    ORDER,
    AlgebraError,
    Scores,
    agreement,
    assert_algebra,
    by_dataset,
    by_method,
    in_paper,
    sizes,
    table_one,
    times,
)
from tests.lab.study_files import finished

pytestmark = pytest.mark.usefixtures("one_thread")

Row = dict[str, Any]
QUICK = Path(__file__).parents[4] / "configs" / "spaces.quick.toml"
TINY = "synthetic:hospitals=3,tiles=6,size=48"


def row(dataset: str, space: str, method: str = "mean_std", seed: int = 0, **values: float) -> Row:
    """A row as the ledger gives it."""
    scores = {"lpips": 0.1, "ssim": 0.9, "fid": 20.0, "wasserstein": 0.03, "artfid": 23.1, **values}
    told = {f"result.{name}": value for name, value in scores.items()}
    more = {"result.pairs": 8, "result.images": 9, "result.repeats": False, "split": "train"}
    time = {"result.time.transform_ms": 0.5, "result.time.whole": 2.0, "result.time.transform_share": 0.002}
    return {"dataset": dataset, "space": space, "method": method, "seed": seed, **told, **more, **time}


def full(datasets: int = 4, methods: tuple[str, ...] = ("mean_std", "histogram", "exact_histogram", "covariance")) -> list[Row]:
    """A complete table with differences: later methods are worse, and so is every space but RGB's kin."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(datasets):
        for place, method in enumerate(methods):
            for space in ("rgb", "hed", "ycbcr", "ypbpr", "yuv", "lalphabeta"):
                noise = 0.0 if space in ("ycbcr", "ypbpr", "yuv") else rng.random()
                rows.append(row(f"d{number}", space, method, artfid=20 + number + 5 * place + noise + 9 * (space == "hed")))
    return rows


class TestStream:
    def test_triples_are_pairs_and_what_match_makes_of_them(self) -> None:
        config = Spaces(dataset=TINY, pairs=5, size=48, space="lab", method="histogram")
        paired = open_pairs(config)
        triples = list(transferred(config, paired, _Clock()))
        assert len(triples) == 5
        for number, triple in enumerate(triples):
            content = paired.samples[int(paired.pairs.content[number])].image
            style = paired.samples[int(paired.pairs.style[number])].image
            assert np.array_equal(triple.content, content)
            assert np.array_equal(triple.style, style)
            assert np.array_equal(triple.output, rc.match(content, style, "histogram", "lab"))
            assert triple.audit is None

    def test_images_are_read_one_pair_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = Spaces(dataset=TINY, pairs=6, size=48)
        paired = open_pairs(config)
        read: list[int] = []
        genuine = type(paired.samples).__getitem__

        def reading(samples: Any, place: int) -> Any:
            read.append(place)
            return genuine(samples, place)

        monkeypatch.setattr(type(paired.samples), "__getitem__", reading)
        stream = transferred(config, paired, _Clock())
        for number in range(1, 4):
            next(stream)
            assert len(read) == 2 * number

    def test_letterboxed_borders_stay_black_and_take_no_part(self, tmp_path: Path) -> None:
        from PIL import Image

        from recolorist_lab.data.own import Plan, index_folder

        rng = np.random.default_rng(0)
        for name in "abcd":
            (tmp_path / "one").mkdir(exist_ok=True)
            Image.fromarray(rng.integers(40, 200, (20, 60, 3)).astype(np.uint8)).save(tmp_path / "one" / f"{name}.png")
        index_folder(tmp_path, Plan("wide")).write(tmp_path / "wide.parquet")
        config = Spaces(dataset="wide", root=str(tmp_path), pairs=2, size=60, resize="letterbox")
        for triple in transferred(config, open_pairs(config), _Clock()):
            assert not triple.output[:20].any()
            inside = rc.match(triple.content[20:40], triple.style[20:40])
            assert np.array_equal(triple.output[20:40], inside)

    def test_the_audit_is_that_of_the_plan(self) -> None:
        config = Spaces(dataset=TINY, pairs=3, size=48)
        for triple in transferred(config, open_pairs(config), _Clock()):
            assert triple.audit is not None
            assert triple.audit.clipped_overall == triple.audit.predicted_clipped_overall
            assert triple.audit.pearson.tolist() == pytest.approx(rc.audit(triple.content, triple.output).pearson.tolist())

    @pytest.mark.parametrize("wrong", [{"space": "rbg"}, {"method": "mean"}, {"metrics": ("fids",)}, {"size": 0}, {"batch": 0}])
    def test_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            Spaces(**wrong)

    def test_every_metric_is_known(self) -> None:
        from recolorist_lab.metrics import ALL

        assert sorted(METRICS) == sorted(ALL)


class TestRun:
    def test_every_pair_is_measured_whatever_the_batch(self) -> None:
        kept: dict[str, bytes] = {}

        class Here:
            inputs: ClassVar[dict[str, Any]] = {}

            def keep(self, name: str, data: bytes) -> None:
                kept[name] = data

        for batch in (1, 2, 3, 7):
            config = Spaces(dataset=TINY, pairs=7, size=48, metrics=("ssim", "wasserstein"), batch=batch)
            found: Any = run(config, Here())  # type: ignore[arg-type]
            lines = kept[FILE].decode().splitlines()
            assert (found["pairs"], len(lines)) == (7, 8)
            assert found["ssim"] == pytest.approx(np.mean([float(line.split(",")[0]) for line in lines[1:]]))


class TestAlgebra:
    @pytest.mark.parametrize("dataset", [TINY, TINY + ",seed=5"])
    def test_three_spaces_give_the_same_bytes(self, dataset: str) -> None:
        outputs = []
        for space in ("ycbcr", "ypbpr", "yuv"):
            config = Spaces(dataset=dataset, pairs=6, size=48, space=space)
            outputs.append([triple.output for triple in transferred(config, open_pairs(config), _Clock())])
        for one, two, three in zip(*outputs, strict=True):
            assert np.array_equal(one, two)
            assert np.array_equal(one, three)

    def test_is_asserted_to_the_last_printed_digit(self) -> None:
        rows = [row("d", space) for space in ("ycbcr", "ypbpr", "yuv")]
        assert assert_algebra(Scores.of(rows)) == 2
        rows[2]["result.fid"] = 20.004  # printed as 20.00
        assert assert_algebra(Scores.of(rows)) == 2
        rows[2]["result.fid"] = 20.006
        with pytest.raises(AlgebraError, match=r"fid of d, seed 0, is 20.0 in ycbcr and 20.006 in yuv"):
            markdown(table_one(Scores.of(rows)))

    def test_other_methods_may_differ(self) -> None:
        rows = [row("d", space, "covariance", fid=number) for number, space in enumerate(("ycbcr", "ypbpr", "yuv"))]
        assert assert_algebra(Scores.of(rows)) == 0


class TestTables:
    def test_table_one_to_the_letter(self) -> None:
        rows = [row("a", "rgb", seed=0), row("a", "rgb", seed=1, artfid=25.1), row("b", "rgb", seed=0, artfid=30.0)]
        rows += [row("a", "yuv", lpips=0.25, fid=100.125), row("b", "yuv"), row("a", "lalphabeta"), row("b", "lalphabeta")]
        assert markdown(table_one(Scores.of(rows))) == (
            "| space | LPIPS ↓ paper | ours | SSIM ↑ paper | ours | FID ↓ paper | ours | W ↓ paper | ours | ArtFID ↓ paper | "
            "corrected | ours |\n"
            "|:---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            "| YUV | 0.11 | 0.175 | 0.84 | 0.900 | 28.54 | 60.06 | 0.04 | 0.0300 | 33.00 | 30.61 | 23.10 |\n"
            "| RGB | 0.11 | 0.100 | 0.84 | 0.900 | 26.32 | 20.00 | 0.04 | 0.0300 | 30.66 | last digit | 27.05 |\n"
            "| lαβ † | — | 0.100 | — | 0.900 | — | 20.00 | — | 0.0300 | — | — | 23.10 |\n"
        )

    def test_means_are_over_seeds_first(self) -> None:
        rows = [row("a", "rgb", seed=seed, artfid=value) for seed, value in enumerate((1.0, 2.0, 6.0))] + [
            row("b", "rgb", artfid=9.0)
        ]
        scores = Scores.of(rows)
        assert scores.value("artfid", "a", "rgb", "mean_std") == 3.0
        assert scores.mean("artfid", "rgb", "mean_std") == 6.0

    def test_a_hole_is_a_dash_and_no_mean_is_made_of_the_rest(self) -> None:
        rows = full()
        gone = next(one for one in rows if one["space"] == "hed" and one["dataset"] == "d1" and one["method"] == "histogram")
        for name in [name for name in gone if name.startswith("result.")]:
            del gone[name]
        scores = Scores.of(rows)
        assert scores.mean("artfid", "hed", "histogram") is None
        line = next(line for line in markdown(by_method(scores)).splitlines() if line.startswith("| HED"))
        assert line.split("|")[3].strip() == "—"
        assert "—" not in markdown(by_dataset(scores))
        with pytest.raises(OptionError, match="1 cells have no result"):
            spaces_statistics.significance(scores)

    def test_what_the_paper_lacks_is_marked(self) -> None:
        lines = markdown(by_method(Scores.of(full()))).splitlines()
        assert [line.count("†") for line in lines[2:]] == [1, 1, 1, 1, 1, 1]
        assert sum(in_paper(space, method) for space in ORDER for method in rc.MATCHERS) == 33

    def test_agreement_is_of_ranks(self) -> None:
        """Ours grow with the corrected ArtFID, so that is 1; the printed ones have placeholders in them."""
        corrected = {space: paper.CORRECTED_ARTFID.get(space, one.artfid) for space, one in paper.SPACES.items()}
        rows = [row("d", space, artfid=value**2, fid=-value) for space, value in corrected.items()]
        lines = markdown(agreement(Scores.of(rows))).splitlines()
        cells = [cell.strip() for cell in lines[-1].split("|")[1:-1]]
        assert (cells[0], cells[2]) == ("ArtFID", "1.00")
        assert 0.5 < float(cells[1]) < 0.95
        assert "-0" in lines[4]

    def test_times_and_sizes(self) -> None:
        rows = full()
        for one in rows:
            one["result.time.transform_ms"] = 2.0 if one["space"] == "hed" else 0.5
        assert "| HED | mean_std | 2.000 | 4.0 | 2.00 | 0.200 % |" in markdown(times(Scores.of(rows)))
        assert markdown(sizes(Scores.of(rows))).splitlines()[2] == "| d0 | train | 9 | 8 | 1 | no |"


class TestSignificance:
    def test_tests_are_those_of_the_samples(self) -> None:
        from recolorist_lab.report.stats import wilcoxon

        rows = full(9)
        found = spaces_statistics.significance(Scores.of(rows))
        rgb, hed = (
            [one["result.artfid"] for one in rows if (one["space"], one["method"]) == (space, "mean_std")]
            for space in ("rgb", "hed")
        )
        against = next(one for one in found.spaces if one.against == "hed")
        assert against.test.p == wilcoxon(rgb, hed).p == found.smallest == 2 / 2**9
        assert against.bonferroni == pytest.approx(5 * against.test.p)
        assert found.friedman["rgb"].ranks == {"mean_std": 1.0, "histogram": 2.0, "exact_histogram": 3.0}
        assert found.friedman_all["rgb"].df == 3
        assert len(found.methods) == 6 * 3

    def test_what_is_equal_by_algebra_is_a_tie_in_spite_of_last_bits(self) -> None:
        rows = full(6)
        for one in rows:
            if one["space"] == "yuv":
                one["result.artfid"] += 1e-9
        found = spaces_statistics.significance(Scores.of(rows))
        assert len({found.ranks.ranks[name] for name in ("YCbCr", "YPbPr", "YUV")}) == 1

    def test_tables_have_a_line_for_every_test(self) -> None:
        found = spaces_statistics.significance(Scores.of(full(9)))
        assert len(markdown(spaces_statistics.friedman_table(found)).splitlines()) == 2 + 6
        assert len(markdown(spaces_statistics.method_table(found)).splitlines()) == 2 + 18
        assert "| HED | 9 : 0 | 0 | 9 | 0.0039 | -2.67 | 0.89 | -2.67, 0.89 | 0.0195 |" in markdown(
            spaces_statistics.space_table(found)
        )

    def test_refuses_a_single_dataset(self) -> None:
        with pytest.raises(OptionError, match="needs two at least"):
            spaces_statistics.significance(Scores.of(full(1)))

    def test_figures_can_be_drawn(self) -> None:
        from recolorist_lab.report.figures import render

        scores = Scores.of(full(6))
        assert render(spaces_figure.methods(scores), "png")[:4] == b"\x89PNG"
        assert render(spaces_figure.ranks(spaces_statistics.significance(scores)), "png")[:4] == b"\x89PNG"


class TestData:
    def test_a_worker_with_other_data_refuses_the_cell(self, tmp_path: Path) -> None:
        cell = load(QUICK).cells[0]
        ledger = Ledger(tmp_path / "book")
        with pytest.raises(RecoloristError, match="planned with other data than the ones this worker has"):
            run_cell(ledger.root, ledger.lease, dataclasses.replace(cell, data="absent"))

    def test_data_that_are_missing_are_said_to_be(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path))
        cell = load(QUICK.with_name("spaces.toml")).cells[0]
        assert cell.data == "absent"
        ledger = Ledger(tmp_path / "book")
        outcome = run_cell(ledger.root, ledger.lease, cell)
        assert outcome.name == "failed"
        assert "the dataset 'pathmnist' is not here" in outcome.message


def with_config(cell: Cell, config: Spaces) -> Cell:
    """The cell of another configuration, planned with the code that it uses."""
    return dataclasses.replace(cell, config=config, code=KINDS[cell.kind].fingerprint(config))


class TestQuickStudy:
    def test_without_networks(self, tmp_path: Path) -> None:
        """The quick study with the metrics that need no weights: every cell, its tables, and a second run that finds all done."""
        study, ledger = load(QUICK), Ledger(tmp_path / "book")
        cells = [
            with_config(cell, dataclasses.replace(cell.config, metrics=METRICS[:4], pairs=3)) if cell.kind == "spaces" else cell
            for cell in study.cells
        ]
        small = dataclasses.replace(study, cells=tuple(cells))
        with pytest.raises(table.IncompleteError, match="25 of 25 cells"):
            table.rows(small, ledger)
        finished(small, ledger)
        rows = table.rows(small, ledger)
        scores = Scores.of(one for one in rows if one["grid"] == "spaces")
        assert assert_algebra(scores) == 4
        assert markdown(table_one(scores)).count("—") == 4 * 3  # LPIPS, FID and ArtFID were not asked for
        assert all(0 < one["result.ssim"] <= 1 for one in rows if one["grid"] == "spaces")  # type: ignore[operator]
        kept = ledger.result(cells[0]).read(FILE).decode().splitlines()
        assert kept[0].split(",")[:2] == ["ssim", "ssim_luminance"]
        assert len(kept) == 1 + 3
        cost = rows[-1]
        assert all(cost[f"result.ms.{space}.mean_std.median"] > 0 for space in ("rgb", "ycbcr", "lab"))  # type: ignore[operator]

    def test_with_networks(self, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cells of the quick study as they are: the same bytes in three spaces, so the same numbers from all networks."""
        assert weights.is_dir()
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
        study, ledger = load(QUICK), Ledger(tmp_path / "book")
        wanted = [
            cell
            for cell in study.cells
            if cell.kind == "spaces" and cell.config.method == "mean_std" and cell.config.dataset == "synthetic:tiles=20"
        ]
        small = dataclasses.replace(study, cells=tuple(wanted))
        finished(small, ledger)
        rows: list[Row] = table.rows(small, ledger)
        three = [{name: one[f"result.{name}"] for name in PRINTED} for one in rows if one["space"] != "rgb"]
        assert three[0] == three[1] == three[2]
        assert all(value is not None for value in three[0].values())
        for one in rows:
            assert one["result.artfid"] == pytest.approx((1 + one["result.lpips"]) * (1 + one["result.fid"]))
            assert 0 < one["result.time.transform_share"] < 1
        assert "features_of_styles" not in {name.rpartition(".")[2] for name in rows[1] if rows[1][name] is not None}
        assert paper.TITLES["rgb"] in markdown(table_one(Scores.of(rows)))
