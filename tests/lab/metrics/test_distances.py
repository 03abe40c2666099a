"""Features of styles are extracted once and kept; see test_frechet and test_kernel for the distances."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist_lab.metrics import (
    FeatureCache,
    Triple,
    evaluate,
)
from tests.lab.metrics.triples import contents, matched, styles


class TestStyles:
    def test_repeated_styles_are_looked_at_once(self, looked_at: list[int]) -> None:
        style = styles(2)
        evaluate([Triple(one, style[number % 2], one) for number, one in enumerate(contents())], metrics=["fid"], batch=4)
        assert looked_at == [4, 2, 2]  # outputs, the two styles, outputs

    def test_33_configurations_share_them(self, looked_at: list[int], tmp_path: Path) -> None:
        cache = FeatureCache(tmp_path / "features")
        for _ in range(33):
            evaluate(matched(), metrics=["fid"], cache=cache)
        assert sum(looked_at) == 33 * 6 + 6
        assert len(list((tmp_path / "features").iterdir())) == 1

    def test_a_shelf_of_other_images_does_no_harm(self, looked_at: list[int], tmp_path: Path) -> None:
        """One key for two sets is a mistake of the caller; the values are right all the same."""
        cache = FeatureCache(tmp_path / "features")
        alone = evaluate(matched(), metrics=["fid"]).fid
        evaluate([Triple(one, one, one) for one in contents()], metrics=["fid"], cache=cache, style_key="same")
        assert evaluate(matched(), metrics=["fid"], cache=cache, style_key="same").fid == alone
        assert sum(looked_at) == 3 * 12  # nothing was found that should not have been

    def test_part_of_a_shelf_is_used(self, looked_at: list[int], tmp_path: Path) -> None:
        cache = FeatureCache(tmp_path / "features")
        evaluate(matched(4), metrics=["fid"], cache=cache, style_key="k")
        looked_at.clear()
        evaluate(matched(6), metrics=["fid"], cache=cache, style_key="k")
        assert looked_at == [6, 2]

    def test_order_does_not_matter(self, looked_at: list[int]) -> None:
        assert looked_at == []
        first, second = evaluate(matched(), metrics=["fid"]), evaluate(matched()[::-1], metrics=["fid"])
        assert first.fid == pytest.approx(second.fid, rel=1e-9)
