"""Write a table as Markdown, LaTeX, CSV or HTML. Only this module knows how these formats mark words."""

from __future__ import annotations

import csv as csv_format
import io
import re
from collections.abc import Callable
from html import escape
from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.report.table import Cell, Code, Column, Strong, Table, text_of

__all__ = ["FORMS", "csv", "html", "latex", "markdown", "write"]

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


def write(table: Table, form: str) -> str:
    """Return the table as the text of a file with this suffix, with its title and note.

    Args:
        table: The table.
        form: A key of ``FORMS``.

    Returns:
        The text of the file.

    Raises:
        OptionError: If there is no such form.
    """
    if form == ".md":
        parts = (f"**{table.title}**\n" if table.title else "", markdown(table), f"{table.note}\n" if table.note else "")
        return "\n".join(part for part in parts if part)
    if form == ".tex":
        return _floating(table) if table.title or table.note else latex(table)
    if form == ".csv":
        return csv(table)
    if form == ".html":
        note = f'<p class="muted small">{escape(table.note)}</p>\n' if table.note else ""
        return html(table).replace("<table>\n", f"<table>\n<caption>{escape(table.title)}</caption>\n", 1) + note
    raise OptionError(f"{form!r} is not a format of tables; accepted are {', '.join(FORMS)}")


def markdown(table: Table) -> str:
    """Write a table as Markdown. A vertical bar in a head or cell becomes a slash.

    Args:
        table: The table.

    Returns:
        The lines, with a line break at the end.

    Example:
        >>> from recolorist_lab.report.table import Digits, Number, label
        >>> columns = (label("space"), Column("SSIM", better="higher", digits=Digits(2)))
        >>> print(markdown(Table(columns, [("rgb", Number(0.84))])), end="")
        | space | SSIM ↑ |
        |:---|---:|
        | rgb | 0.84 |
    """
    rule = "|".join(":---" if column.words else "---:" for column in table.columns)
    rows = [[_format(cell, column, _MARKDOWN) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    head = map(_escape_markdown, table.head)
    lines = [f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def csv(table: Table) -> str:
    """Write a table as comma-separated values as printed; a last column repeats the note on every line.

    Args:
        table: The table.

    Returns:
        The text.
    """
    text = io.StringIO()
    writer = csv_format.writer(text, lineterminator="\n")
    more = [table.note] if table.note else []
    writer.writerow([*table.head, *(["basis"] if more else [])])
    writer.writerows([*row, *more] for row in table.texts())
    return text.getvalue()


def latex(table: Table) -> str:
    r"""Write a table as a ``tabular`` for the package booktabs.

    Args:
        table: The table.

    Returns:
        The lines, with a line break at the end.

    Example:
        >>> from recolorist_lab.report.table import Number, label
        >>> columns = (label("method"), Column("SSIM", better="higher"))
        >>> print(latex(Table(columns, [((Strong("ours"),), Number(84, unit="%"))])), end="")
        \begin{tabular}{lr}
        \toprule
        method & SSIM $\uparrow$ \\
        \midrule
        \textbf{ours} & 84 \% \\
        \bottomrule
        \end{tabular}
    """
    rows = [[_format(cell, column, _LATEX_MARKS) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
    lines = [" & ".join(row) + r" \\" for row in ([_escape_latex(name) for name in table.head], *rows)]
    form = "".join("l" if column.words else "r" for column in table.columns)
    start = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*start, *lines[1:], r"\bottomrule", r"\end{tabular}", ""])


def html(table: Table) -> str:
    """Write an HTML table without a style of its own.

    Args:
        table: The table.

    Returns:
        The text.
    """
    classes = [' class="words"' if column.words else "" for column in table.columns]
    head = "".join(f'<th scope="col"{mark}>{escape(name)}</th>' for mark, name in zip(classes, table.head, strict=True))
    body = []
    for row in table.rows:
        first, *cells_after = (_format(cell, column, _HTML) for cell, column in zip(row, table.columns, strict=True))
        cells = "".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(classes[1:], cells_after, strict=True))
        body.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>\n"


def _floating(table: Table) -> str:
    """Write a table with a caption; the tabular is scaled down where a page is too narrow for it."""
    caption = " ".join(_escape_latex(words.rstrip(".") + ".") for words in (table.title, table.note) if words)
    slug = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")[:40].rstrip("-")
    start = [r"% needs the packages booktabs and graphicx", r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"]
    narrow = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    return "\n".join([*start, rf"\label{{tab:{slug}}}", narrow, f"{latex(table)}}}", r"\end{table}", ""])


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _escape_markdown(text: str) -> str:
    return text.replace("|", "/")


#: How a format escapes text, and what it puts around strong words and code.
_Marks = tuple[Callable[[str], str], tuple[str, str], tuple[str, str]]
_MARKDOWN: Final[_Marks] = (_escape_markdown, ("**", "**"), ("`", "`"))
_LATEX_MARKS: Final[_Marks] = (_escape_latex, (r"\textbf{", "}"), (r"\texttt{", "}"))
_HTML: Final[_Marks] = (escape, ("<strong>", "</strong>"), ("<code>", "</code>"))


def _format(cell: Cell, column: Column, marks: _Marks) -> str:
    """Return a cell in a format, with its emphasis."""
    escaped, strong, code = marks
    if not isinstance(cell, tuple):
        return escaped(text_of(cell, column))
    parts = []
    for part in cell:
        before, after = strong if isinstance(part, Strong) else code if isinstance(part, Code) else ("", "")
        parts.append(f"{before}{escaped(part if isinstance(part, str) else part.text)}{after}")
    return "".join(parts)
