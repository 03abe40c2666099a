"""One table in four forms."""

from __future__ import annotations

import csv as csv_format
import io
import re

import pytest

from recolorist.errors import OptionError
from recolorist_lab.report.table import GAP, Code, Column, Digits, Number, Strong, Table, label
from recolorist_lab.report.writers import FORMS, csv, html, latex, markdown, write

TABLE = Table(
    [label("method"), label("note"), Column("ArtFID", better="lower", digits=Digits(1))],
    [
        [(Strong("Colorist"),), ("5 % & ", Code("rgb"), "_x"), Number(30.6, 0.1)],
        ["AdaIN", "a < b", Number(97.9)],
        ["a|b", "", GAP],
    ],
)


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "| method | note | ArtFID ↓ |",
        "|:---|:---|---:|",
        "| **Colorist** | 5 % & `rgb`_x | 30.6 ± 0.1 |",
        "| AdaIN | a < b | 97.9 |",
        "| a/b |  | — |",
    ]


def test_csv_has_the_bare_cells() -> None:
    rows = list(csv_format.reader(io.StringIO(csv(TABLE))))
    assert rows[:3] == [["method", "note", "ArtFID ↓"], ["Colorist", "5 % & rgb_x", "30.6 ± 0.1"], ["AdaIN", "a < b", "97.9"]]


def test_latex_escapes_what_latex_would_take_for_its_own() -> None:
    text = latex(TABLE)
    assert r"\begin{tabular}{llr}" in text
    assert r"\textbf{Colorist} & 5 \% \& \texttt{rgb}\_x & 30.6 $\pm$ 0.1 \\" in text
    assert r"ArtFID $\downarrow$ \\" in text
    bare = re.sub(r"\\.", "", text)
    assert not set("%#&_") & set(bare.replace(" & ", ""))


def test_html_is_escaped_and_marks_columns_of_words() -> None:
    text = html(TABLE)
    assert '<th scope="row"><strong>Colorist</strong></th>' in text
    assert '<td class="words">a &lt; b</td>' in text
    assert "<td>97.9</td>" in text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_asked_for(form: str) -> None:
    assert "Colorist" in write(TABLE, form)


def test_another_form_is_refused() -> None:
    with pytest.raises(OptionError, match="accepted are"):
        write(TABLE, ".docx")
