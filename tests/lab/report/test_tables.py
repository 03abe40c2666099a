"""One table in four forms."""

from __future__ import annotations

import csv
import io
import re

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.pages import markdown
from recolorist_lab.report.tables import FORMS, Table

SOURCE = markdown(
    ["method", "note", "ArtFID ↓"], [["**Colorist**", "5 % & `rgb`_x", "30.6 ± 0.1"], ["AdaIN", "a < b", "97.9"]], left=2
)
TABLE = Table.parsed(SOURCE)


def test_markdown_comes_back_as_it_was() -> None:
    assert TABLE.markdown() == SOURCE
    assert TABLE.left == 2


def test_csv_has_the_bare_cells() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [["method", "note", "ArtFID ↓"], ["Colorist", "5 % & rgb_x", "30.6 ± 0.1"], ["AdaIN", "a < b", "97.9"]]


def test_latex_escapes_what_latex_would_take_for_its_own() -> None:
    text = TABLE.latex()
    assert r"\begin{tabular}{llr}" in text
    assert r"\textbf{Colorist} & 5 \% \& \texttt{rgb}\_x & 30.6 $\pm$ 0.1 \\" in text
    assert r"ArtFID $\downarrow$ \\" in text
    bare = re.sub(r"\\.", "", text)
    assert not set("%#&_") & set(bare.replace(" & ", ""))


def test_html_is_escaped_and_marks_columns_of_words() -> None:
    text = TABLE.html()
    assert '<th scope="row"><strong>Colorist</strong></th>' in text
    assert '<td class="words">a &lt; b</td>' in text
    assert "<td>97.9</td>" in text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_asked_for(form: str) -> None:
    assert "Colorist" in TABLE.rendered(form)


def test_what_is_no_table_is_refused() -> None:
    for text in ("", "words", "| a |\n", "| a | b |\n|:---|---:|\n| x |\n"):
        with pytest.raises(OptionError):
            Table.parsed(text)
    with pytest.raises(OptionError, match="accepted are"):
        TABLE.rendered(".docx")
