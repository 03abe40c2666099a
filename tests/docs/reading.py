"""Reading the project's pages: which there are, their blocks of code, their command lines, their links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
SHELLS: Final = frozenset({"", "bash", "console", "sh"})
PROGRAMS: Final = ("recolorist", "recolorist-lab")

_FENCE: Final = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ENDS: Final = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<"})


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command line that a page shows: the program and its words; ``whole`` unless it stands in running text."""

    page: str
    program: str
    words: tuple[str, ...]
    whole: bool

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join([self.program, *self.words])}"


def pages() -> list[Path]:
    """Every page that people read, but for those that Sphinx makes itself."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md")]
    return [*top, *sorted(DOCS.glob("*.md")), *sorted((DOCS / "results").glob("*.md"))]


def name_of(page: Path) -> str:
    """Its path from the top of the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, without the indentation of a list they may stand in."""
    found = []
    for match in _FENCE.finditer(page.read_text("utf-8")):
        lines = (line.removeprefix(match["indent"]) for line in match["text"].splitlines())
        found.append(Block(name_of(page), match["language"], "\n".join(lines) + "\n"))
    return found


def prose(page: Path) -> str:
    """The page without its blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def commands(page: Path) -> Iterator[Command]:
    """Every line of ours in blocks and in running text."""
    for block in blocks(page):
        if block.language in SHELLS:
            yield from commands_in(block.page, block.text, whole=True)
    for span in _SPAN.findall(prose(page)):
        yield from commands_in(name_of(page), " ".join(span.split()), whole=False)


def script_commands(script: Path) -> Iterator[Command]:
    """The lines of ours in a shell script, and those that a Python script names in its comments."""
    text = script.read_text("utf-8")
    if script.suffix == ".py":
        for span in re.findall(r"``([^`]+)``", text):
            yield from commands_in(name_of(script), span, whole=False)
        return
    yield from commands_in(name_of(script), text, whole=True)


def commands_in(page: str, text: str, *, whole: bool) -> Iterator[Command]:
    """Every line of a text that begins with one of our programs."""
    for line in text.replace("\\\n", " ").splitlines():
        words = _words(line.strip().removeprefix("$ "))
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):  # a variable for this command alone
            words = words[1:]
        if words and words[0] in PROGRAMS:
            yield Command(page, words[0], tuple(words[1:]), whole)


def _words(line: str) -> list[str]:
    """Words as a shell sees them, up to what ends a command; an ellipsis stands for any number of them."""
    try:
        words = shlex.split(re.sub(r"\$\{?\w+\}?", "1", line), comments=True)  # a variable may be a number or a path
    except ValueError:  # an apostrophe in prose: no command line
        return []
    ends = [place for place, word in enumerate(words) if word in _ENDS]
    return [word for word in words[: ends[0] if ends else None] if word not in {"…", "..."}]


def links(page: Path) -> list[str]:
    """Targets of links and pictures in Markdown, pages named by ``{doc}``, and what figures and includes name."""
    text = page.read_text("utf-8")
    without = re.sub(r"`[^`\n]*`", "", prose(page))
    plain = re.findall(r"\]\(([^)\s]+)\)", without)
    named = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text)
    drawn = re.findall(r"^```\{(?:figure|include|image)\} (\S+)$", text, re.MULTILINE)
    return [*plain, *(f"doc:{name}" for name in named), *drawn]
