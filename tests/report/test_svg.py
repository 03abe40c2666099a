"""Charts as SVG: well-formed, escaped, and every point at its place."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from recolorist.report.svg import Drawing, Panel, density, equal_scale, span, ticks

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.render())  # noqa: S314 - our own


def unit_panel() -> Panel:
    return Panel(Drawing(220, 140, "A chart"), 10, 20, 200, 100, (0.0, 2.0), (-1.0, 1.0))


class TestDrawing:
    def test_has_its_size_and_its_title(self) -> None:
        root = parsed(Drawing(120, 80, "Styles of a bank"))
        assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("120", "80", "0 0 120 80")
        assert root.findtext(f"{SVG}title") == "Styles of a bank"

    @pytest.mark.parametrize("words", ["a < b & c", "</text><script>", 'say "no"', "δ → σ"])
    def test_words_are_text_whatever_they_are(self, words: str) -> None:
        drawing = Drawing(50, 50, words)
        drawing.text(1, 2, words)
        root = parsed(drawing)
        assert root.findtext(f"{SVG}text") == words
        assert root.find(f"{SVG}script") is None

    def test_control_characters_do_not_break_the_file(self) -> None:
        drawing = Drawing(50, 50, "a")
        drawing.text(1, 2, "bell\x07 and escape\x1b[31m")
        parsed(drawing)

    def test_elements_keep_their_order(self) -> None:
        drawing = Drawing(50, 50, "a")
        drawing.add("<g/>", "<path/>")
        assert [element.tag for element in parsed(drawing)][-2:] == [f"{SVG}g", f"{SVG}path"]


class TestPanel:
    def test_corners_of_the_data_are_corners_of_the_panel(self) -> None:
        panel = unit_panel()
        assert (panel.x(0.0), panel.x(2.0)) == (10.0, 210.0)
        assert (panel.y(1.0), panel.y(-1.0)) == (20.0, 120.0)

    def test_a_frame_names_its_axes_and_ticks(self) -> None:
        panel = unit_panel()
        panel.frame("The title", "across", "up")
        words = [text.text for text in parsed(panel.drawing).iter(f"{SVG}text")]
        assert {"The title", "across", "up", "0", "2", "-1", "1"} <= set(words)

    def test_numbers_of_the_vertical_axis_can_be_left_out(self) -> None:
        panel = unit_panel()
        panel.frame("The title", "across", "", numbers_up=False)
        assert "-1" not in [text.text for text in parsed(panel.drawing).iter(f"{SVG}text")]

    def test_dots_lie_at_their_points(self) -> None:
        panel = unit_panel()
        panel.dots(np.array([[0.0, 1.0], [1.0, 0.0]]), ["#111111", "#222222"], ["#333333"] * 2)
        circles = [(c.get("cx"), c.get("cy"), c.get("fill")) for c in parsed(panel.drawing).iter(f"{SVG}circle")]
        assert circles == [("10.0", "20.0", "#111111"), ("110.0", "70.0", "#222222")]

    def test_a_closed_curve_reaches_the_axis(self) -> None:
        panel = unit_panel()
        xs, ys = np.array([0.0, 2.0]), np.array([1.0, 1.0])
        panel.curve(xs, ys, "line c0")
        panel.curve(xs, ys, "before", closed=True)
        root = parsed(panel.drawing)
        line, area = root.find(f"{SVG}polyline"), root.find(f"{SVG}polygon")
        assert line is not None
        assert area is not None
        assert line.get("points") == "10.0,20.0 210.0,20.0"
        assert area.get("points") == "10.0,120.0 10.0,20.0 210.0,20.0 210.0,120.0"


@pytest.mark.parametrize(("low", "high"), [(0, 255), (-3, 3), (0, 1e-6), (1e6, 1e6 + 7), (-0.1, 12345)])
def test_ticks_are_few_evenly_spaced_and_inside(low: float, high: float) -> None:
    values = np.array(ticks(low, high))
    assert 2 <= len(values) <= 7
    assert low - 1e-9 <= values[0] <= values[-1] <= high + 1e-9
    assert np.ptp(np.diff(values)) <= 1e-6 * (high - low)


def test_a_span_holds_all_values_and_ignores_empty_arrays() -> None:
    assert span([np.array([1.0, 2.0]), np.array([]), np.array([-1.0])], margin=0.0, least=0.0) == (-1.0, 2.0)
    assert span([np.array([5.0])], least=2.0) == (3.0, 7.0)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("xs", "ys"), [((0.0, 4.0), (0.0, 1.0)), ((0.0, 1.0), (-2.0, 2.0))])
def test_equal_scale_only_widens(xs: tuple[float, float], ys: tuple[float, float], shape: float) -> None:
    wide, high = equal_scale(xs, ys, shape)
    assert (wide[1] - wide[0]) == pytest.approx(shape * (high[1] - high[0]))
    assert wide[0] <= xs[0] <= xs[1] <= wide[1]
    assert high[0] <= ys[0] <= ys[1] <= high[1]


class TestDensity:
    def test_it_sums_to_one_and_has_the_mean_of_the_sample(self) -> None:
        values = np.random.default_rng(0).normal(100.0, 12.0, 4000)
        at = np.linspace(0.0, 255.0, 511)
        curve = density(values, at)
        assert curve.sum() * (at[1] - at[0]) == pytest.approx(1.0, abs=1e-3)
        assert (curve * at).sum() / curve.sum() == pytest.approx(values.mean(), abs=0.5)

    @pytest.mark.parametrize("values", [np.array([3.0]), np.full(10, 3.0), np.array([])])
    def test_few_or_equal_values_are_no_error(self, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        curve = density(values, np.linspace(0.0, 6.0, 7))
        assert np.isfinite(curve).all()
        assert curve.argmax() == (3 if values.size else 0)


class TestText:
    def test_words_can_be_turned_and_anchored(self) -> None:
        drawing = Drawing(50, 50, "a")
        drawing.text(4, 9, "upwards", "muted", "middle", turn=True)
        element = parsed(drawing).find(f"{SVG}text")
        assert element is not None
        assert (element.get("transform"), element.get("text-anchor"), element.get("class")) == (
            "rotate(-90 4.0 9.0)",
            "middle",
            "muted",
        )

    def test_an_entry_of_a_legend_has_its_point_before_its_words(self) -> None:
        drawing = Drawing(90, 50, "a")
        drawing.key(20, 30, "north <1>", "none", "#0072b2")
        root = parsed(drawing)
        point, words = root.find(f"{SVG}circle"), root.find(f"{SVG}text")
        assert point is not None
        assert words is not None
        assert (point.get("cx"), point.get("stroke"), words.get("x"), words.text) == ("20.0", "#0072b2", "30.0", "north <1>")

    @pytest.mark.parametrize("words", ["\ud800", "null\0", "\u202eright to left", "\x1b]0;title\x07"])
    def test_a_drawing_can_always_be_written_and_read_again(self, words: str) -> None:
        drawing = Drawing(50, 50, words)
        drawing.text(1, 2, words)
        ET.fromstring(drawing.render().encode("utf-8", "backslashreplace"))  # noqa: S314 - our own


class TestBars:
    def test_a_bar_stands_on_zero(self) -> None:
        panel = Panel(Drawing(220, 140, "A chart"), 10, 20, 200, 100, (0.0, 2.0), (0.0, 4.0))
        panel.bar(0.0, 1.0, 3.0)
        element = parsed(panel.drawing).findall(f"{SVG}rect")[-1]
        assert [element.get(name) for name in ("x", "y", "width", "height")] == ["10.0", "45.0", "99.0", "75.0"]

    def test_numbers_of_the_horizontal_axis_can_be_left_out(self) -> None:
        panel = unit_panel()
        panel.frame("The title", "across", "up", numbers_across=False)
        assert "2" not in [text.text for text in parsed(panel.drawing).iter(f"{SVG}text")]
        assert not [line for line in parsed(panel.drawing).iter(f"{SVG}line") if line.get("x1") == line.get("x2")]


def test_a_file_of_its_own_follows_the_system_and_loads_nothing() -> None:
    text = Drawing(10, 10, "a").render()
    assert "prefers-color-scheme:dark" in text
    assert not [word for word in ("<script", "href", "url(", "@import") if word in text]
