"""Charts of banks, drift and audits: every image is there, in its colour, and nothing overflows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.bank import drift
from recolorist.bank.style_bank import StyleBank
from recolorist.report import charts
from recolorist.report.svg import BAD, NEUTRAL

SVG = "{http://www.w3.org/2000/svg}"


def bank(count: int, shift: int = 0, channels: int = 3, domains: Sequence[str | None] | None = None) -> StyleBank:
    rng = np.random.default_rng(count + shift)
    base = rng.integers(40, 160, (count, 1, 1, channels))
    images: NDArray[np.uint8] = (base + shift + rng.integers(0, 40, (count, 12, 10, channels))).astype(np.uint8)
    return StyleBank.build(list(images), split="train", name="mine", domains=domains)


def circles(chart: str) -> list[ET.Element]:
    return list(ET.fromstring(chart).iter(f"{SVG}circle"))  # noqa: S314 - our own


class TestBank:
    def test_every_style_is_a_point_of_its_colour_in_both_panels(self) -> None:
        styles = bank(5)
        fills = [circle.get("fill") for circle in circles(charts.bank_chart(styles))]
        assert fills == [charts.hex_colour(mean) for mean in styles.mean] * 2

    def test_grey_styles_have_one_panel(self) -> None:
        chart = charts.bank_chart(bank(4, channels=1))
        assert len(circles(chart)) == 4
        assert "Colour cast" not in chart

    def test_domains_have_outlines_and_a_legend(self) -> None:
        chart = charts.bank_chart(bank(4, domains=["north", "south", "north", "south"]))
        lines = [circle.get("stroke") for circle in circles(chart)]
        assert set(lines) == set(charts.OUTLINES[:2])
        assert ">north<" in chart
        assert ">south<" in chart

    def test_many_domains_are_counted_and_long_names_cut(self) -> None:
        names = [f"a hospital with a very long name {number}" for number in range(12)]
        chart = charts.bank_chart(bank(12, domains=names))
        assert "and 4 more" in chart
        assert not re.search(r">[^<]{60,}</text>", chart)

    @pytest.mark.parametrize("channels", [1, 3])
    def test_the_legend_tells_long_names_apart_and_leaves_the_panels_free(self, channels: int) -> None:
        names = [f"a hospital with a very long name {number}" for number in range(8)]
        chart = charts.bank_chart(bank(8, channels=channels, domains=names))
        keys = [circle for circle in circles(chart) if circle.get("fill") == "none"]
        places = [(float(key.get("cx", 0)), float(key.get("cy", 0))) for key in keys]
        rows = {y: min(x for x, row in places if row == y) for _, y in places}
        assert len(keys) == 8
        assert len(set(rows.values())) == 1  # every row begins below the first
        assert max(rows) + 5 < 100 - 28  # a title of 14 pixels stands 12 above each panel
        words = re.findall(r">(a hospital[^<]*)</text>", chart)
        assert len(set(words)) == 8
        assert max(x for x, _ in places) + 10 + 7.2 * max(map(len, words)) < 1080  # a letter is about 7 pixels wide

    def test_too_many_styles_are_thinned_out_and_the_chart_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(charts, "_MOST_POINTS", 3)
        chart = charts.bank_chart(bank(9))
        assert "3 of 9 drawn" in chart
        assert len(circles(chart)) == 6


@pytest.fixture(scope="module")
def chart() -> str:
    return drift_chart(bank(40), bank(12, shift=60))


def drift_chart(trained: StyleBank, now: StyleBank) -> str:
    region = drift.region_of(trained)
    return charts.drift_chart(trained, now, region, drift.group_of("all", region, now.mean, now.cov))


class TestDrift:
    def test_it_counts_what_lies_outside(self, chart: str) -> None:
        found = re.search(r"(\d+) of 12 images lie outside", chart)
        assert found
        marked = [circle for circle in circles(chart) if circle.get("stroke") == BAD]
        assert len(marked) == int(found[1]) + 1  # and the legend's

    def test_the_title_gives_the_verdict_of_both_tests(self) -> None:
        """All images were inside, and the title said no more, while their mean had moved."""
        trained = bank(200)
        now = StyleBank(trained.mean[:100] + 0.08, trained.cov[:100], trained.pixels[:100], trained.keys[:100])
        title = r">Group shifted: 0 of 100 images lie outside, their mean moved by [\d.]+ SD<"
        assert re.search(title, drift_chart(trained, now))

    def test_both_clouds_the_edge_and_the_legend_are_drawn(self, chart: str) -> None:
        assert len(circles(chart)) == 40 + 12 + 1 + 3

    def test_each_channel_has_its_mean_and_its_deviation(self, chart: str) -> None:
        for name in ("red", "green", "blue"):
            assert f"{name}, mean" in chart
            assert f"{name}, standard deviation" in chart


class TestAudit:
    def test_bars_hold_every_image(self) -> None:
        shares = [0.0, 0.0, 0.004, 0.5]
        chart = charts.clip_chart(shares)
        assert chart.count('class="bar"') == 2
        assert charts.clip_chart([0.0]).count('class="bar"') == 1

    def test_flagged_images_have_a_red_outline(self) -> None:
        mean = np.random.default_rng(0).uniform(0.2, 0.8, (6, 3))
        flagged = np.array([True, False, False, True, False, False])
        lines = [circle.get("stroke") for circle in circles(charts.spread_chart(mean, mean / 4, flagged))]
        assert [line == BAD for line in lines] == flagged.tolist()


@pytest.mark.parametrize(
    ("colour", "text"), [([0.0, 0.5, 1.0], "#0080ff"), ([0.2], "#333333"), ([1.4, -1.0, 0.0, 0.3], "#ff0000")]
)
def test_colours_are_written_as_css_does(colour: list[Any], text: str) -> None:
    assert charts.hex_colour(np.array(colour)) == text


class TestFewImages:
    """A drift chart of one image, or of equal ones, has no spread to draw an axis from."""

    @pytest.mark.parametrize("count", [1, 5])
    def test_equal_images_are_drawn_where_they_are(self, count: int) -> None:
        trained, one = bank(30), bank(1, shift=50)
        now = StyleBank(
            np.repeat(one.mean, count, axis=0),
            np.repeat(one.cov, count, axis=0),
            np.repeat(one.pixels, count),
            [str(i) for i in range(count)],
        )
        chart = drift_chart(trained, now)
        assert f"of {count} images lie outside" in chart
        assert "nan" not in chart
        assert "inf" not in chart.replace("information", "")

    def test_the_axes_are_at_right_angles(self) -> None:
        points = np.random.default_rng(0).normal(1.0, 1.0, (40, 9))
        for sample in (points, points[:1], np.repeat(points[:1], 3, axis=0), np.zeros((2, 9))):
            axes = charts._plane(sample)
            np.testing.assert_allclose(axes.T @ axes, np.eye(2), atol=1e-9)


def places(chart: str) -> list[float]:
    """Every coordinate of a chart; none may be missing or infinite, which a browser drops in silence."""
    root = ET.fromstring(chart)  # noqa: S314 - our own
    names = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height")
    values = [float(element.get(name, "")) for element in root.iter() for name in names if element.get(name) is not None]
    pairs = [pair for element in root.iter() for pair in element.get("points", "").split()]
    return values + [float(value) for pair in pairs for value in pair.split(",")]


class TestOddData:
    """Charts of data without a spread, with one point or with names nobody expected."""

    @pytest.mark.parametrize("channels", [1, 2, 3, 4])
    def test_a_bank_of_one_style_is_one_point_in_the_middle(self, channels: int) -> None:
        one = StyleBank(np.full((1, channels), 0.5), np.eye(channels)[None] * 0.01, np.array([64]), ["only"], name="one")
        chart = charts.bank_chart(one)
        assert np.isfinite(places(chart)).all()
        points = [(circle.get("cx"), circle.get("cy")) for circle in circles(chart)]
        assert points == ([("270.0", "300.0")] if channels == 3 else []) + [("760.0" if channels == 3 else "270.0", "300.0")]

    def test_equal_styles_lie_on_one_another(self) -> None:
        same = StyleBank(np.full((5, 3), 0.25), np.repeat(np.eye(3)[None] * 0.02, 5, axis=0), np.full(5, 9), list("abcde"))
        assert len({(circle.get("cx"), circle.get("cy")) for circle in circles(charts.bank_chart(same))}) == 2

    @pytest.mark.parametrize(
        "name", ["</text><script>alert(1)</script>", "line\nbreak", "bell\x07", "\ud800", "x" * 5000, "&amp;"]
    )
    def test_a_hostile_name_of_a_bank_or_domain_is_text(self, name: str) -> None:
        first = bank(2, domains=[name, "plain"])
        chart = charts.bank_chart(StyleBank(first.mean, first.cov, first.pixels, first.keys, None, [name, "plain"], name=name))
        root = ET.fromstring(chart.encode("utf-8", "backslashreplace"))  # noqa: S314 - our own
        assert root.find(f".//{SVG}script") is None
        assert len(circles(chart)) == 2 * 2 + 2  # two panels, two entries of the legend

    def test_styles_without_a_domain_have_a_neutral_outline_and_no_entry(self) -> None:
        lines = [circle.get("stroke") for circle in circles(charts.bank_chart(bank(3, domains=["north", None, "north"])))]
        assert lines.count(charts.OUTLINES[0]) == 2 * 2 + 1  # in both panels, and in the legend
        assert lines.count(NEUTRAL) == 2

    @pytest.mark.parametrize("channels", [1, 2, 5])
    def test_drift_of_other_than_three_channels_has_up_to_three_rows(self, channels: int) -> None:
        chart = drift_chart(bank(40, channels=channels), bank(12, shift=30, channels=channels))
        assert chart.count("level, mean") == min(3, channels)
        assert np.isfinite(places(chart)).all()

    @pytest.mark.parametrize("shares", [[0.0], [1.0], [0.0] * 500, [0.02, 1.0], [1e-12]])
    def test_a_bar_never_leaves_its_panel(self, shares: list[float]) -> None:
        chart = charts.clip_chart(shares)
        bars = [element for element in ET.fromstring(chart).iter(f"{SVG}rect") if element.get("class") == "bar"]  # noqa: S314
        assert len(bars) == len({min(39, int(100 * share / max(2.0, 102 * max(shares)) * 40)) for share in shares})
        for element in bars:
            left, top, wide, tall = (float(element.get(name, "")) for name in ("x", "y", "width", "height"))
            assert 70 <= left <= left + wide <= 690
            assert 50 <= top < top + tall <= 250 + 0.1

    def test_one_image_alone_has_a_glance_too(self) -> None:
        chart = charts.spread_chart(np.array([[0.4]]), np.array([[0.0]]), np.array([False]))
        assert [circle.get("fill") for circle in circles(chart)] == ["#666666"]
        assert np.isfinite(places(chart)).all()

    def test_thousands_of_images_are_thinned_out_with_their_flags(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(charts, "_MOST_POINTS", 4)
        mean = np.linspace(0.1, 0.9, 10)[:, None]
        flagged = np.arange(10) == 9
        lines = [circle.get("stroke") for circle in circles(charts.spread_chart(mean, mean / 3, flagged))]
        assert [line == BAD for line in lines] == [False, False, False, True]  # the last image is always among them
