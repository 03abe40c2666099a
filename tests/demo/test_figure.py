"""The demonstration's charts and page: equations, curves and pictures are those of the pairs."""

from __future__ import annotations

import base64
import json
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from recolorist.core.plan import Plan
from recolorist.demo import figure
from recolorist.demo import run as demo
from recolorist.demo.hospitals import TRAININGS
from recolorist.demo.pairs import Pair

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("offset", "wanted"), [(-40.06, "R′ = 1.25 R − 40.1"), (7.0, "R′ = 1.25 R + 7.0"), (-0.04, "R′ = 1.25 R + 0.0")]
)
def test_the_sign_of_the_offset_is_the_operator(result: demo.DemoResult, offset: float, wanted: str) -> None:
    values = json.loads(result.pairs[0].plan.to_json())
    values["gain"][0], values["matrix"][0][0], values["offset"][0] = 1.25, 1.25, offset
    assert figure._equation(Plan.from_json(json.dumps(values)), 0) == wanted


def test_a_chart_has_three_panels_of_three_histograms(pair: Pair) -> None:
    chart = ET.fromstring(figure.channels_chart(pair))  # noqa: S314 - our own
    kinds = [shape.get("class") for shape in chart.iter() if shape.tag in (f"{SVG}polygon", f"{SVG}polyline")]
    assert kinds == [kind for channel in range(3) for kind in ("before", "line dashed", f"line c{channel}")]
    words = [text.text for text in chart.iter(f"{SVG}text")]
    assert [figure._equation(pair.plan, channel) for channel in range(3)] == [word for word in words if word and "=" in word]


def test_every_curve_stays_inside_its_panel(pair: Pair) -> None:
    chart = ET.fromstring(figure.channels_chart(pair))  # noqa: S314 - our own
    for shape in chart.iter():
        if shape.tag in (f"{SVG}polygon", f"{SVG}polyline"):
            points = np.array([point.split(",") for point in str(shape.get("points")).split()], float)
            assert 40 <= points[:, 1].min() <= points[:, 1].max() <= 160
            assert 0 <= points[:, 0].min() <= points[:, 0].max() <= figure._WIDTH


def test_masked_pixels_take_no_part_in_a_histogram(result: demo.DemoResult) -> None:
    case = result.pairs[-1].case
    assert case.mask is not None
    values = figure._values(case.content, case.mask, 0)
    assert values.size == case.mask.sum()
    assert values.mean() == pytest.approx(result.pairs[-1].plan.content_mean[0])


def test_the_page_holds_the_pictures_themselves(result: demo.DemoResult) -> None:
    page = figure.index_page(result.pairs, result.scores)
    inside = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", page)]
    files = [
        result.folder / f"{pair.case.key}_{name}.png"
        for pair in result.pairs
        for name in ("content", "style", "output", "clipped")
    ]
    assert inside[: len(files)] == [file.read_bytes() for file in files]
    assert len(inside) == len(files) + 3  # and one picture for each hospital


def test_the_page_needs_nothing_else(result: demo.DemoResult) -> None:
    page = figure.index_page(result.pairs, result.scores)
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)
    for pair in result.pairs:
        assert pair.case.title in page
        assert f"{100 * pair.clipped:.2f} % of pixels" in page


def test_the_page_shows_every_score_and_the_way_to_the_studio(result: demo.DemoResult) -> None:
    page = figure.index_page(result.pairs, result.scores, "studio.html")
    assert 'href="studio.html"' in page
    for score in result.scores:
        assert (
            f"{score.unseen} unseen, {score.training}</th><td>{100 * score.source:.1f} %</td><td>{100 * score.target:.1f} %"
            in page
        )
    chart = (result.folder / "hospitals.svg").read_text("utf-8")
    assert chart.count("<circle") == len(result.scores) + len(TRAININGS)


def test_clipped_pixels_are_marked_and_the_outside_is_white() -> None:
    output = np.full((1, 4, 3), 100, np.uint8)
    below, above, mask = (np.array([row], bool) for row in ((1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 1, 0)))
    picture = figure.mark_clipped(output, below, above, mask)
    assert picture.tolist() == [[[0, 114, 178], [216, 27, 140], [190, 190, 190], [255, 255, 255]]]
