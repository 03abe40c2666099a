"""One table in four forms. The studies write Markdown, which people read as it is; the other forms are made from it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from html import escape
from typing import Final

from recolorist.errors import OptionError

__all__ = ["FORMS", "Table"]

#: Suffix of a file, and what it is.
FORMS: Final = {".md": "Markdown", ".tex": "LaTeX with booktabs", ".csv": "comma-separated values", ".html": "HTML"}

_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "λ": r"$\lambda$",
    "µ": r"$\mu$",
    "ρ": r"$\rho$",
    "χ": r"$\chi$",
    "σ": r"$\sigma$",
    "†": r"$\dagger$",
    "—": "---",
    "·": r"$\cdot$",
    "“": "``",
    "”": "''",
    "’": "'",
    "…": r"\ldots{}",
    "²": "$^2$",
    "³": "$^3$",
}
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")
_CODE: Final = re.compile(r"`(.+?)`")


@dataclass(frozen=True)
class Table:
    """Head and rows of text; the first ``left`` columns are flush left, the others right.

    ``title`` and ``note`` go into every file: what the table shows, and what its numbers rest on.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    title: str = ""
    note: str = ""

    @classmethod
    def parsed(cls, markdown: str) -> Table:
        r"""From what :func:`recolorist_lab.report.pages.markdown` writes.

        >>> Table.parsed("| a | b |\n|:---|---:|\n| x | 1 |\n").rows
        (('x', '1'),)
        """
        lines = [line for line in markdown.splitlines() if line.strip()]
        if len(lines) < 2 or not all(line.startswith("|") and line.endswith("|") for line in lines):
            raise OptionError(f"this is no table: {markdown[:60]!r}")
        head, rule, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
        if any(len(row) != len(head) for row in (rule, *rows)):
            raise OptionError(f"a row of this table does not have {len(head)} cells: {markdown[:60]!r}")
        return cls(tuple(head), tuple(tuple(row) for row in rows), sum(not cell.endswith(":") for cell in rule))

    def rendered(self, form: str) -> str:
        """The table as a file with this suffix, with its title and what it rests on."""
        if form == ".md":
            parts = (f"**{self.title}**\n" if self.title else "", self.markdown(), f"{self.note}\n" if self.note else "")
            return "\n".join(part for part in parts if part)
        if form == ".tex":
            return self._floating() if self.title or self.note else self.latex()
        if form == ".csv":
            return self.csv()
        if form == ".html":
            note = f'<p class="muted small">{escape(self.note)}</p>\n' if self.note else ""
            return self.html().replace("<table>\n", f"<table>\n<caption>{escape(self.title)}</caption>\n", 1) + note
        raise OptionError(f"{form!r} is no form of a table; accepted are {', '.join(FORMS)}")

    def markdown(self) -> str:
        """As it was."""
        rule = "|".join([*[":---"] * self.left, *["---:"] * (len(self.head) - self.left)])
        return "\n".join([_line(self.head), f"|{rule}|", *map(_line, self.rows)]) + "\n"

    def csv(self) -> str:
        """Cells as they are printed, without marks of emphasis; a last column says of every line what it rests on."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        lines = [[_plain(cell) for cell in row] for row in (self.head, *self.rows)]
        more = ["basis", *[self.note] * len(self.rows)] if self.note else []
        writer.writerows([*line, more[place]] if more else line for place, line in enumerate(lines))
        return text.getvalue()

    def latex(self) -> str:
        r"""A ``tabular`` for the package booktabs.

        >>> print(Table(("method", "SSIM ↑"), (("**ours**", "84 %"),)).latex(), end="")
        \begin{tabular}{lr}
        \toprule
        method & SSIM $\uparrow$ \\
        \midrule
        \textbf{ours} & 84 \% \\
        \bottomrule
        \end{tabular}
        """
        columns = "l" * self.left + "r" * (len(self.head) - self.left)
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.head, *self.rows)]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def _floating(self) -> str:
        """With a caption; the tabular is made narrower where a page is not wide enough for it."""
        caption = " ".join(_latex(words.rstrip(".") + ".") for words in (self.title, self.note) if words)
        parts = [
            "% needs the packages booktabs and graphicx",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{_slug(self.title)}}}",
        ]
        return "\n".join(
            [*parts, r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", f"{self.latex()}}}", r"\end{table}", ""]
        )

    def html(self) -> str:
        """A plain table; the house's style does the rest."""
        head = "".join(f'<th scope="col"{self._words(place)}>{_html(cell)}</th>' for place, cell in enumerate(self.head))
        body = []
        for row in self.rows:
            first, *others = (_html(cell) for cell in row)
            cells = "".join(f"<td{self._words(place)}>{cell}</td>" for place, cell in enumerate(others, 1))
            body.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>\n"

    def _words(self, place: int) -> str:
        return ' class="words"' if place < self.left else ""


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(cell: str) -> str:
    return _CODE.sub(r"\1", _BOLD.sub(r"\1", cell))


def _latex(cell: str) -> str:
    marked = _CODE.sub("\x02\\1\x03", _BOLD.sub("\x01\\1\x03", cell))
    text = "".join(_LATEX.get(letter, letter) for letter in marked)
    return text.replace("\x01", r"\textbf{").replace("\x02", r"\texttt{").replace("\x03", "}")


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40].rstrip("-")


def _html(cell: str) -> str:
    return _CODE.sub(r"<code>\1</code>", _BOLD.sub(r"<strong>\1</strong>", escape(cell)))
