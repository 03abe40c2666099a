"""The tables of the colour spaces, and the algebra that they must keep."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist as rc
from recolorist.errors import OptionError
from recolorist_lab.paper import numbers as paper
from recolorist_lab.report.writers import markdown
from recolorist_lab.studies.protocol import open_pairs
from recolorist_lab.studies.spaces import statistics as spaces_statistics
from recolorist_lab.studies.spaces.cell import Spaces, _Clock, transferred
from recolorist_lab.studies.spaces.table import (
    ORDER,
    AlgebraError,
    SpaceScores,
    agreement,
    assert_algebra,
    by_dataset,
    by_method,
    in_paper,
    sizes,
    table_one,
    times,
)
from tests.lab.studies.spaces.kit import TINY, full, row


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
        assert assert_algebra(SpaceScores.of(rows)) == 2
        rows[2]["result.fid"] = 20.004  # printed as 20.00
        assert assert_algebra(SpaceScores.of(rows)) == 2
        rows[2]["result.fid"] = 20.006
        with pytest.raises(AlgebraError, match=r"fid of d, seed 0, is 20.0 in ycbcr and 20.006 in yuv"):
            markdown(table_one(SpaceScores.of(rows)))

    def test_other_methods_may_differ(self) -> None:
        rows = [row("d", space, "covariance", fid=number) for number, space in enumerate(("ycbcr", "ypbpr", "yuv"))]
        assert assert_algebra(SpaceScores.of(rows)) == 0


class TestTables:
    def test_table_one_to_the_letter(self) -> None:
        rows = [row("a", "rgb", seed=0), row("a", "rgb", seed=1, artfid=25.1), row("b", "rgb", seed=0, artfid=30.0)]
        rows += [row("a", "yuv", lpips=0.25, fid=100.125), row("b", "yuv"), row("a", "lalphabeta"), row("b", "lalphabeta")]
        assert markdown(table_one(SpaceScores.of(rows))) == (
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
        scores = SpaceScores.of(rows)
        assert scores.value("artfid", "a", "rgb", "mean_std") == 3.0
        assert scores.mean("artfid", "rgb", "mean_std") == 6.0

    def test_a_hole_is_a_dash_and_no_mean_is_made_of_the_rest(self) -> None:
        rows = full()
        gone = next(one for one in rows if one["space"] == "hed" and one["dataset"] == "d1" and one["method"] == "histogram")
        for name in [name for name in gone if name.startswith("result.")]:
            del gone[name]
        scores = SpaceScores.of(rows)
        assert scores.mean("artfid", "hed", "histogram") is None
        line = next(line for line in markdown(by_method(scores)).splitlines() if line.startswith("| HED"))
        assert line.split("|")[3].strip() == "—"
        assert "—" not in markdown(by_dataset(scores))
        with pytest.raises(OptionError, match="1 cells have no result"):
            spaces_statistics.significance(scores)

    def test_what_the_paper_lacks_is_marked(self) -> None:
        lines = markdown(by_method(SpaceScores.of(full()))).splitlines()
        assert [line.count("†") for line in lines[2:]] == [1, 1, 1, 1, 1, 1]
        assert sum(in_paper(space, method) for space in ORDER for method in rc.MATCHERS) == 33

    def test_agreement_is_of_ranks(self) -> None:
        """Ours grow with the corrected ArtFID, so that is 1; the printed ones have placeholders in them."""
        corrected = {space: paper.CORRECTED_ARTFID.get(space, one.artfid) for space, one in paper.SPACES.items()}
        rows = [row("d", space, artfid=value**2, fid=-value) for space, value in corrected.items()]
        lines = markdown(agreement(SpaceScores.of(rows))).splitlines()
        cells = [cell.strip() for cell in lines[-1].split("|")[1:-1]]
        assert (cells[0], cells[2]) == ("ArtFID", "1.00")
        assert 0.5 < float(cells[1]) < 0.95
        assert "-0" in lines[4]

    def test_times_and_sizes(self) -> None:
        rows = full()
        for one in rows:
            one["result.time.transform_ms"] = 2.0 if one["space"] == "hed" else 0.5
        assert "| HED | mean_std | 2.000 | 4.0 | 2.00 | 0.200 % |" in markdown(times(SpaceScores.of(rows)))
        assert markdown(sizes(SpaceScores.of(rows))).splitlines()[2] == "| d0 | train | 9 | 8 | 1 | no |"
